import { signal } from '@preact/signals';
import {
  append,
  emptyConversation,
  newMessageId,
  pathOf,
  ROOT,
  type UserMessage,
} from '../conversation/conversation.js';
import { conversation } from '../conversation/current.js';
import { attachments, readingCount } from '../media/attachments.js';
import { loadedModel } from '../model/model-state.js';
import { answer, isAnswering, stopAnswer } from './answering.js';

/** Text that has been written but not sent. */
export const draft = signal('');
/** The message being edited; null if none. */
export const editedId = signal<string | null>(null);

/** Sends the draft with its attachments. */
export function send(): void {
  const text = draft.value.trim();
  const isEmpty = text === '' && attachments.value.length === 0;
  if (isEmpty || isAnswering.value || readingCount.value > 0 || !loadedModel.value) return;
  const parentId = pathOf(conversation.value).at(-1)?.id ?? ROOT;
  say({ role: 'user', id: newMessageId(), parentId, text, attachments: attachments.value });
  draft.value = '';
  attachments.value = [];
}

/** Replaces a message; the old one stays as another branch. */
export function saveEdit(message: UserMessage, text: string): void {
  editedId.value = null;
  if (isAnswering.value || (text.trim() === '' && message.attachments.length === 0)) return;
  say({ ...message, id: newMessageId(), text: text.trim() });
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

/** Starts an empty conversation. */
export function newChat(): void {
  stopAnswer();
  conversation.value = emptyConversation(conversation.value.systemPrompt);
  editedId.value = null;
  document.getElementById('draft')?.focus();
}

function say(message: UserMessage): void {
  conversation.value = append(conversation.value, message);
  void answer(message.id);
}
