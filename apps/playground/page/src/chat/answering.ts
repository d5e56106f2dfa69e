import { signal } from '@preact/signals';
import { type ChatEvent, chatStream } from '../api/chat-stream.js';
import { describeError } from '../api/describe-error.js';
import {
  type AnswerStatistics,
  type AssistantMessage,
  append,
  newId,
  type Round,
  updateAnswer,
} from '../conversation/conversation.js';
import {
  changeConversation,
  changeOften,
  conversation,
  currentId,
  openChat,
} from '../conversation/current.js';
import { loadedModel } from '../model/model-state.js';
import { checkServer } from '../model/server-watch.js';
import { recordAnswer } from '../performance/answers.js';
import type { AnswerSettings } from '../settings/answer-settings.js';
import { settings } from '../settings/settings.js';
import { runTool } from '../tools/demo-tools.js';
import { chatRequest } from './chat-request.js';
import { isContextFull, makeRoom } from './context.js';
import { EMPTY_ROUND, grownRound } from './round.js';
import { type RunningAnswer, runAnswer } from './running-answers.js';

export { isAnswering, stopAnswer } from './running-answers.js';

/** Stops a model that keeps calling tools. */
const MOST_ROUNDS = 6;

/** Announcement for screen readers about the answer. */
export const announcement = signal('');

/** What an answer needs while it arrives. */
interface Work {
  readonly id: string;
  readonly running: RunningAnswer;
  readonly settings: AnswerSettings;
}

/** Lets the model answer the message `parentId`, adding another version of its answer. */
export async function answer(parentId: string): Promise<void> {
  const id = newId();
  changeConversation((chat) =>
    append(chat, {
      role: 'assistant',
      id,
      parentId,
      createdAt: Date.now(),
      rounds: [EMPTY_ROUND],
      status: 'streaming',
      error: null,
      statistics: null,
    }),
  );
  await run(id, [], EMPTY_ROUND);
}

/** Lets the model continue an answer that was stopped or cut. */
export async function continueAnswer({ id, rounds }: AssistantMessage): Promise<void> {
  const last = rounds.at(-1) ?? EMPTY_ROUND;
  // A call without a result was stopped while the model wrote it.
  const toolUses = last.toolUses.filter(({ result }) => result !== null);
  const kept = { ...last, toolUses };
  change(currentId.value, id, { status: 'streaming', error: null, isContextFull: false });
  if (toolUses.length > 0) await run(id, [...rounds.slice(0, -1), kept], EMPTY_ROUND);
  else await run(id, rounds.slice(0, -1), kept);
}

/** Adds a version of an answer that the user wrote. */
export function saveAnswer(message: AssistantMessage, text: string): void {
  const rounds = [{ ...EMPTY_ROUND, text }];
  const fields = {
    id: newId(),
    createdAt: Date.now(),
    rounds,
    status: 'done',
    error: null,
    statistics: null,
  } as const;
  changeConversation((chat) => append(chat, { ...message, ...fields }));
}

async function run(id: string, earlier: readonly Round[], first: Round): Promise<void> {
  const chatId = currentId.value;
  const asked = settings.value;
  announcement.value = 'The model is answering.';
  await runAnswer(id, chatId, async (running) => {
    const work = { id, running, settings: asked };
    try {
      const reason = await runWithRoom(work, earlier, first);
      change(chatId, id, { status: reason === 'length' ? 'length' : 'done' });
      announcement.value = 'The answer is complete.';
    } catch (error) {
      const isStopped = running.abort.signal.aborted;
      const failure = { error: describeError(error), isContextFull: isContextFull(error) };
      change(chatId, id, isStopped ? { status: 'stopped' } : { status: 'failed', ...failure });
      announcement.value = isStopped ? 'The answer was stopped.' : 'The answer failed.';
      if (!isStopped) void checkServer();
    }
  });
}

/** Makes room in the context as often as that helps, if the settings say so. */
async function runWithRoom(work: Work, earlier: readonly Round[], first: Round): Promise<string> {
  const { id, running, settings: asked } = work;
  for (;;) {
    try {
      return await runRounds(work, earlier, first);
    } catch (error) {
      if (!isContextFull(error) || asked.whenFull === 'stop') throw error;
      if (!(await makeRoom(running.chatId, id, asked, running.abort.signal))) throw error;
    }
  }
}

/** Asks the model, runs the tools that it calls, and asks again until it answers with text. */
async function runRounds(work: Work, earlier: readonly Round[], first: Round): Promise<string> {
  const rounds = [...earlier];
  let next = first;
  change(work.running.chatId, work.id, { rounds: [...rounds, next] });
  for (;;) {
    const { round, reason } = await runRound(work, rounds, next);
    if (reason !== 'tool_calls') return reason;
    const toolUses = round.toolUses.map((use) => ({ ...use, result: runTool(use.name, use.arguments) }));
    rounds.push({ ...round, toolUses });
    if (rounds.length >= MOST_ROUNDS) return reason;
    next = EMPTY_ROUND;
    change(work.running.chatId, work.id, { rounds: [...rounds, next] });
  }
}

async function runRound(work: Work, earlier: readonly Round[], first: Round) {
  const { id, running } = work;
  const startedAt = performance.now();
  const chat = (await openChat(running.chatId)) ?? conversation.value;
  const body = chatRequest(chat, id, loadedModel.value?.id ?? '', work.settings);
  let round = first;
  let reason = 'stop';
  let thoughtAt: number | null = null;
  let firstTokenMs: number | null = null;
  let usage: Extract<ChatEvent, { type: 'usage' }> | null = null;
  let frame: number | null = null;
  const draw = () => {
    frame = null;
    change(running.chatId, id, { rounds: [...earlier, round] });
  };
  try {
    for await (const event of chatStream(body, running.abort.signal)) {
      if (event.type === 'usage') usage = event;
      else if (event.type === 'finish') reason = event.reason;
      else {
        const now = performance.now();
        firstTokenMs ??= now - startedAt;
        running.firstAtMs ??= now;
        running.pieces += 1;
        if (event.type === 'reasoning') thoughtAt ??= now - (round.reasoningMs ?? 0);
        else if (thoughtAt !== null) {
          round = { ...round, reasoningMs: now - thoughtAt };
          thoughtAt = null;
        }
        round = grownRound(round, event);
        // Draw at most once per frame, however fast tokens arrive. Hidden tabs have no frames.
        if (document.hidden) draw();
        else frame ??= requestAnimationFrame(draw);
      }
    }
  } finally {
    // A pending frame would overwrite the results of tools.
    if (frame !== null) cancelAnimationFrame(frame);
    draw();
  }
  if (usage) {
    const totalMs = performance.now() - startedAt;
    const times = usage.timings ?? { firstTokenMs: firstTokenMs ?? totalMs, totalMs };
    const { promptTokens, cachedTokens, completionTokens } = usage;
    const statistics: AnswerStatistics = { promptTokens, cachedTokens, completionTokens, ...times };
    change(running.chatId, id, { statistics });
    recordAnswer(statistics);
  }
  return { round, reason };
}

function change(chatId: string, id: string, fields: Partial<AssistantMessage>): void {
  changeOften((chat) => updateAnswer(chat, id, (message) => ({ ...message, ...fields })), chatId);
}
