import { effect } from '@preact/signals';
import { lastSettings, settings } from '../settings/settings.js';
import { showNotice } from '../shell/notice.js';
import { titleOf } from './conversation.js';
import {
  beginChat,
  changeOften,
  closeChat,
  conversation,
  currentId,
  isBlank,
  keepAll,
  openChat,
} from './current.js';
import { deleteChat, openLibrary, restoreChat } from './library.js';
import { hold } from './tabs.js';

const HASH = '#chat=';

/** The conversation in which nothing has been said yet. */
let blankId = currentId.value;
let isShowing = false;

/** Address of a conversation on this page. */
export function addressOf(id: string): string {
  return HASH + id;
}

/**
 * Shows the conversation that the address names, and follows the address from now on.
 *
 * @param draftId conversation without messages that has a draft; null if there is none
 */
export async function startNavigation(draftId: string | null): Promise<void> {
  if (draftId === null) claim();
  else {
    blankId = beginChat('', draftId);
    claim();
    if (location.hash === '') show(blankId);
  }
  settings.subscribe((value) => {
    if (isShowing || isBlank(conversation.peek())) return;
    changeOften((chat) => ({ ...chat, settings: value }));
  });
  effect(() => {
    const title = titleOf(conversation.value);
    document.title = title === '' ? 'MarkBase playground' : `${title} – MarkBase`;
    // The address of a conversation is that of its page as soon as it has a message.
    if (!isBlank(conversation.value) && !location.hash.startsWith(HASH)) {
      history.replaceState(null, '', addressOf(currentId.value));
    }
  });
  addEventListener('popstate', () => void followAddress());
  // Closing the page before the pause is over must not lose anything.
  addEventListener('pagehide', keepAll);
  document.addEventListener('visibilitychange', keepAll);
  await openLibrary();
  await followAddress();
}

/** Shows a conversation. */
export function goTo(id: string): void {
  if (id === currentId.value) return;
  history.pushState(null, '', addressOf(id));
  void followAddress();
}

/** Shows an empty conversation; the others stay. */
export async function goToBlank(): Promise<void> {
  if (!isBlank(conversation.value)) history.pushState(null, '', location.pathname + location.search);
  await followAddress();
}

/** Deletes a conversation, shows an empty one if it was shown, and offers to undo that. */
export async function deleteWithUndo(id: string, title: string): Promise<void> {
  if (id === currentId.value) await goToBlank();
  await deleteChat(id);
  const act = async () => {
    await restoreChat(id);
    goTo(id);
  };
  showNotice({ text: `Deleted “${title}”.`, action: 'Undo', act: () => void act() });
}

async function followAddress(): Promise<void> {
  const id = location.hash.startsWith(HASH) ? location.hash.slice(HASH.length) : null;
  if (id === null) {
    const { systemPrompt } = conversation.value;
    const blank = await openChat(blankId);
    if (!blank || !isBlank(blank)) {
      blankId = beginChat(systemPrompt);
      claim();
    }
    show(blankId);
    return;
  }
  const found = await openChat(id).catch(() => null);
  if (found) show(id);
  else history.replaceState(null, '', location.pathname + location.search);
}

function show(id: string): void {
  const before = currentId.value;
  isShowing = true;
  currentId.value = id;
  settings.value = { ...lastSettings(), ...conversation.value.settings };
  isShowing = false;
  if (before !== id) void closeChat(before);
}

/** Keeps other tabs from taking over the draft of the empty conversation. */
function claim(): void {
  void hold(blankId, () => new Promise(() => {}));
}
