import { signal } from '@preact/signals';
import { type Conversation, emptyConversation, pathOf } from './conversation.js';
import { keepConversation, keptConversation } from './keep.js';

/** The conversation on the screen. */
export const conversation = signal<Conversation>(emptyConversation());

let isKept = false;
let timer: ReturnType<typeof setTimeout> | undefined;
const KEEP_AFTER_MS = 400;

/** Brings back what this browser kept, and keeps every change from now on. */
export async function restoreConversation(): Promise<void> {
  const kept = await keptConversation();
  if (kept && pathOf(conversation.value).length === 0) conversation.value = kept;
  if (isKept) return;
  isKept = true;
  const keepNow = () => {
    clearTimeout(timer);
    if (timer !== undefined) void keepConversation(conversation.value);
    timer = undefined;
  };
  conversation.subscribe(() => {
    clearTimeout(timer);
    timer = setTimeout(keepNow, KEEP_AFTER_MS);
  });
  // Whoever closes the page in the middle of a pause loses nothing either.
  addEventListener('pagehide', keepNow);
}
