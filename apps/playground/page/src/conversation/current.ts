import { signal } from '@preact/signals';
import { type Conversation, emptyConversation, pathOf } from './conversation.js';
import { keepConversation, keptConversation } from './keep.js';

/** The conversation shown. */
export const conversation = signal<Conversation>(emptyConversation());

let isKept = false;
let timer: ReturnType<typeof setTimeout> | undefined;
const KEEP_AFTER_MS = 400;

/** Restores the conversation stored in this browser, and stores every change from now on. */
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
  // Closing the page before the timer fires must not lose anything either.
  addEventListener('pagehide', keepNow);
}
