import { signal } from '@preact/signals';
import {
  append,
  newId,
  pathOf,
  ROOT,
  remove,
  restore,
  type UserMessage,
} from '../conversation/conversation.js';
import { changeConversation, conversation, currentId } from '../conversation/current.js';
import { goToBlank } from '../conversation/navigation.js';
import type { Attachment } from '../media/attachment.js';
import { attachmentError, attachments, readingCount } from '../media/attachments.js';
import { finishRecording } from '../media/recorder.js';
import { loadedModel } from '../model/model-state.js';
import { checkServer, isConnected } from '../model/server-watch.js';
import { settings } from '../settings/settings.js';
import { showNotice } from '../shell/notice.js';
import { answer, isAnswering } from './answering.js';
import { draft } from './drafts.js';

export { draft } from './drafts.js';

/** The message being edited; null if none. */
export const editedId = signal<string | null>(null);
/** Messages whose answers are shown side by side. */
export const comparedIds = signal<ReadonlySet<string>>(new Set());
/** Counts the messages sent; the transcript then shows the end. */
export const sentCount = signal(0);

/** Sends the draft with its attachments; a recording ends and goes with it. */
export function send(): void {
  void sendNow();
}

async function sendNow(): Promise<void> {
  if (isAnswering.value) return;
  await finishRecording();
  if (!isConnected.value) await checkServer();
  const text = draft.value.trim();
  const isEmpty = text === '' && attachments.value.length === 0;
  const isReady = loadedModel.value && isConnected.value && readingCount.value === 0;
  if (isEmpty || isAnswering.value || !isReady) return;
  const parentId = pathOf(conversation.value).at(-1)?.id ?? ROOT;
  const message = { id: newId(), parentId, createdAt: Date.now(), text, attachments: attachments.value };
  say({ role: 'user', ...message });
  draft.value = '';
  attachments.value = [];
  attachmentError.value = null;
}

/** Replaces a message; the old one stays as another branch. */
export function saveEdit(message: UserMessage, text: string, attached: readonly Attachment[]): void {
  editedId.value = null;
  if (isAnswering.value || (text.trim() === '' && attached.length === 0)) return;
  say({ ...message, id: newId(), createdAt: Date.now(), text: text.trim(), attachments: attached });
}

/** Edits the user's last message. */
export function editLast(): void {
  if (isAnswering.value) return;
  editedId.value = pathOf(conversation.value).findLast(({ role }) => role === 'user')?.id ?? null;
}

/** Lets the model answer a message again; the old answer stays as another branch. */
export function regenerate(parentId: string): void {
  void answer(parentId);
}

/** Shows all answers to a message side by side, with another one if there is only one, or only the chosen one. */
export function toggleComparison(parentId: string): void {
  const others = [...comparedIds.value].filter((id) => id !== parentId);
  const isShown = others.length < comparedIds.value.size;
  comparedIds.value = new Set(isShown ? others : [...others, parentId]);
  const versions = Object.values(conversation.value.messages).filter((one) => one.parentId === parentId);
  if (!isShown && versions.length === 1) void answer(parentId);
}

/** Deletes a message with everything after it; the notice brings it back. */
export function deleteMessage(id: string): void {
  if (isAnswering.value) return;
  const before = conversation.value;
  const chatId = currentId.value;
  changeConversation((chat) => remove(chat, id));
  showNotice({
    text: 'Deleted the message and what follows it.',
    action: 'Undo',
    act: () => changeConversation((chat) => restore(chat, before), chatId),
  });
}

/** Shows an empty conversation; the others stay in the list. */
export function newChat(): void {
  void goToBlank();
  editedId.value = null;
  attachmentError.value = null;
  document.getElementById('draft')?.focus();
}

function say(message: UserMessage): void {
  changeConversation((chat) => ({ ...append(chat, message), settings: settings.value }));
  sentCount.value += 1;
  void answer(message.id);
}
