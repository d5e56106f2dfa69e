import { signal } from '@preact/signals';
import { type ChatEvent, chatStream } from '../api/chat-stream.js';
import { describeError } from '../api/describe-error.js';
import {
  type AnswerStatistics,
  type AssistantMessage,
  append,
  newMessageId,
  type Round,
  updateAnswer,
} from '../conversation/conversation.js';
import { conversation } from '../conversation/current.js';
import { loadedModel } from '../model/model-state.js';
import { recordAnswer } from '../performance/answers.js';
import { settings } from '../settings/settings.js';
import { runTool } from '../tools/demo-tools.js';
import { chatRequest } from './chat-request.js';
import { EMPTY_ROUND, grownRound } from './round.js';

/** Stops a model that keeps calling tools. */
const MOST_ROUNDS = 6;

/** True while an answer arrives. */
export const isAnswering = signal(false);
/** Announcement for screen readers about the answer. */
export const announcement = signal('');

let current: AbortController | null = null;

/** Stops the current answer; what has arrived stays. */
export function stopAnswer(): void {
  current?.abort();
}

/** Lets the model answer the message `parentId`, adding another version of its answer. */
export async function answer(parentId: string): Promise<void> {
  if (current) return;
  const controller = new AbortController();
  current = controller;
  isAnswering.value = true;
  announcement.value = 'The model is answering.';
  const id = newMessageId();
  conversation.value = append(conversation.value, {
    role: 'assistant',
    id,
    parentId,
    rounds: [EMPTY_ROUND],
    status: 'streaming',
    error: null,
    statistics: null,
  });
  try {
    const reason = await runRounds(id, controller.signal);
    change(id, { status: reason === 'length' ? 'length' : 'done' });
    announcement.value = 'The answer is complete.';
  } catch (error) {
    const isStopped = controller.signal.aborted;
    change(id, isStopped ? { status: 'stopped' } : { status: 'failed', error: describeError(error) });
    announcement.value = isStopped ? 'The answer was stopped.' : 'The answer failed.';
  } finally {
    current = null;
    isAnswering.value = false;
  }
}

/** Asks the model, runs the tools that it calls, and asks again until it answers with text. */
async function runRounds(id: string, abort: AbortSignal): Promise<string> {
  const rounds: Round[] = [];
  for (;;) {
    const { round, reason } = await runRound(id, rounds, abort);
    if (reason !== 'tool_calls') return reason;
    const toolUses = round.toolUses.map((use) => ({ ...use, result: runTool(use.name, use.arguments) }));
    rounds.push({ ...round, toolUses });
    if (rounds.length >= MOST_ROUNDS) return reason;
    change(id, { rounds: [...rounds, EMPTY_ROUND] });
  }
}

async function runRound(id: string, earlier: readonly Round[], abort: AbortSignal) {
  const startedAt = performance.now();
  const body = chatRequest(conversation.value, id, loadedModel.value?.id ?? '', settings.value);
  let round = EMPTY_ROUND;
  let reason = 'stop';
  let firstTokenMs: number | null = null;
  let usage: Extract<ChatEvent, { type: 'usage' }> | null = null;
  let frame: number | null = null;
  const draw = () => {
    frame = null;
    change(id, { rounds: [...earlier, round] });
  };
  try {
    for await (const event of chatStream(body, abort)) {
      if (event.type === 'usage') usage = event;
      else if (event.type === 'finish') reason = event.reason;
      else {
        firstTokenMs ??= performance.now() - startedAt;
        round = grownRound(round, event);
        // Draw at most once per frame, however fast tokens arrive.
        frame ??= requestAnimationFrame(draw);
      }
    }
  } finally {
    // A pending frame would overwrite the results of tools.
    if (frame !== null) cancelAnimationFrame(frame);
    draw();
  }
  if (usage) {
    const totalMs = performance.now() - startedAt;
    const statistics = { ...usage, firstTokenMs: firstTokenMs ?? totalMs, totalMs };
    change(id, { statistics: statisticsOf(statistics) });
    recordAnswer(statisticsOf(statistics));
  }
  return { round, reason };
}

function statisticsOf(values: AnswerStatistics): AnswerStatistics {
  const { promptTokens, cachedTokens, completionTokens, firstTokenMs, totalMs } = values;
  return { promptTokens, cachedTokens, completionTokens, firstTokenMs, totalMs };
}

function change(id: string, fields: Partial<AssistantMessage>): void {
  conversation.value = updateAnswer(conversation.value, id, (message) => ({ ...message, ...fields }));
}
