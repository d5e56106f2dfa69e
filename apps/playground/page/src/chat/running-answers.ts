import { computed, signal } from '@preact/signals';
import { type AssistantMessage, pathOf } from '../conversation/conversation.js';
import { conversation, currentId } from '../conversation/current.js';
import { hold, onTabNews, tellTabs } from '../conversation/tabs.js';

/** An answer that arrives in this tab. */
export interface RunningAnswer {
  readonly chatId: string;
  readonly abort: AbortController;
  readonly startedAtMs: number;
  /** When the first piece arrived; null before. */
  firstAtMs: number | null;
  /** Pieces that have arrived, about one per token. */
  pieces: number;
}

/** The answers that arrive in this tab, by their ids. */
export const runningAnswers = signal<ReadonlyMap<string, RunningAnswer>>(new Map());

/** True while an answer to the conversation shown arrives, here or in another tab. */
export const isAnswering = computed(() => {
  const isStreaming = (message: unknown) => (message as AssistantMessage).status === 'streaming';
  if (pathOf(conversation.value).some(isStreaming)) return true;
  return [...runningAnswers.value.values()].some(({ chatId }) => chatId === currentId.value);
});

/** Conversations that are being answered in this tab. */
export const answeredChats = computed(
  () => new Set([...runningAnswers.value.values()].map(({ chatId }) => chatId)),
);

/** Stops the answers in the conversation shown; what has arrived stays. */
export function stopAnswer(): void {
  tellTabs({ type: 'stop', id: currentId.value });
}

/** Runs the work of an answer, which other tabs see, too. */
export async function runAnswer(
  id: string,
  chatId: string,
  work: (running: RunningAnswer) => Promise<void>,
): Promise<void> {
  const startedAtMs = performance.now();
  const running: RunningAnswer = {
    chatId,
    abort: new AbortController(),
    startedAtMs,
    firstAtMs: null,
    pieces: 0,
  };
  runningAnswers.value = new Map([...runningAnswers.value, [id, running]]);
  try {
    await hold(id, () => work(running));
  } finally {
    runningAnswers.value = new Map([...runningAnswers.value].filter(([one]) => one !== id));
  }
}

onTabNews((news) => {
  if (news.type !== 'stop') return;
  for (const { chatId, abort } of runningAnswers.value.values()) if (chatId === news.id) abort.abort();
});
