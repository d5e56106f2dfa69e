import { signal } from '@preact/signals';
import { currentId } from '../conversation/current.js';
import { type Draft, database } from '../conversation/database.js';
import { heldIds } from '../conversation/tabs.js';
import { attachmentError, attachments } from '../media/attachments.js';
import { readSession, storeSession } from '../settings/storage.js';

/** Text that has been written but not sent. */
export const draft = signal('');

const KEEP_AFTER_MS = 300;
const KEY = 'markbase.draft';

let shownId = currentId.value;
let timer: ReturnType<typeof setTimeout> | undefined;

/** Restores the draft of every conversation that is shown, and stores what is written. */
export function followDrafts(): void {
  void restore(currentId.value);
  currentId.subscribe((id) => {
    if (id === shownId) return;
    keepDraft();
    shownId = id;
    draft.value = '';
    attachments.value = [];
    attachmentError.value = null;
    void restore(id);
  });
  const keepSoon = () => {
    timer ??= setTimeout(keepDraft, KEEP_AFTER_MS);
  };
  draft.subscribe(keepSoon);
  attachments.subscribe(keepSoon);
  addEventListener('pagehide', () => {
    // The database may not get the time to write.
    storeSession(KEY, { id: shownId, text: draft.value });
    keepDraft();
  });
}

/** Id of the conversation without messages that has the newest draft; null if there is none. */
export async function newestDraft(): Promise<string | null> {
  const left = readSession<{ id: string; text: string }>(KEY);
  try {
    const base = await database();
    const [ids, drafts, chats, held] = await Promise.all([
      base.getAllKeys('drafts'),
      base.getAll('drafts'),
      base.getAllKeys('chats'),
      heldIds(),
    ]);
    const known = new Set(chats);
    // After a reload, the tab continues with its own draft.
    if (left && !known.has(left.id)) return left.id;
    const blank = ids
      .map((id, index) => ({ id, ...drafts[index]! }))
      .filter(({ id }) => !known.has(id) && !held.has(id));
    return blank.sort((a, b) => b.changedAt - a.changedAt)[0]?.id ?? null;
  } catch {
    return left?.id ?? null;
  }
}

function keepDraft(): void {
  clearTimeout(timer);
  timer = undefined;
  const id = shownId;
  const value: Draft = { text: draft.value, attachments: attachments.value, changedAt: Date.now() };
  const isEmpty = value.text === '' && value.attachments.length === 0;
  // Without storage, a draft lasts as long as the page.
  database()
    .then(async (base) => {
      if (isEmpty) await base.delete('drafts', id);
      else await base.put('drafts', value, id);
    })
    .catch(() => {});
}

async function restore(id: string): Promise<void> {
  const found = await database()
    .then((base) => base.get('drafts', id))
    .catch(() => undefined);
  const left = readSession<{ id: string; text: string }>(KEY);
  if (currentId.value !== id || draft.value !== '' || attachments.value.length > 0) return;
  if (left?.id === id) draft.value = left.text;
  else if (found) draft.value = found.text;
  if (found) attachments.value = found.attachments;
  storeSession(KEY, null);
}
