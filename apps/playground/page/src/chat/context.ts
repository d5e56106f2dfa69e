import { chatStream } from '../api/chat-stream.js';
import { RequestError } from '../api/request-error.js';
import { answerText, type Conversation, type Message, updateQuestion } from '../conversation/conversation.js';
import { changeConversation, openChat } from '../conversation/current.js';
import type { Attachment } from '../media/attachment.js';
import { tokenCount } from '../media/token-count.js';
import { loadedModel } from '../model/model-state.js';
import type { AnswerSettings } from '../settings/answer-settings.js';
import { apiMessages, chatRequest, seenPath } from './chat-request.js';

/** A rough mean over languages. */
const CHARACTERS_PER_TOKEN = 3.5;
/** Delimiters of a message. */
const MESSAGE_TOKENS = 5;
/** Share of the context that is left full when room is made. */
const KEPT_SHARE = 0.5;
const SUMMARY_TOKENS = 256;
const SUMMARY_REQUEST =
  'Summarise our conversation so far in a few sentences, with all facts, names and decisions that matter later.';

/** True if a request failed because it does not fit the context. */
export function isContextFull(error: unknown): boolean {
  return error instanceof RequestError && error.code === 'context_length_exceeded';
}

/**
 * Tokens of a conversation up to `lastId`: those that the server counted with the last answer, and an estimate of what
 * came later.
 */
export function usedTokens(conversation: Conversation, lastId: string | null): number {
  const path = lastId === null ? [] : seenPath(conversation, lastId);
  const isCounted = (message: Message) => message.role === 'assistant' && message.statistics !== null;
  const last = path.findLastIndex(isCounted);
  const start = path[0]?.role === 'user' && path[0].contextStart ? 0 : -1;
  const counted = path[last];
  // What was counted before turns were left out is no longer true.
  const isValid = counted?.role === 'assistant' && last > start;
  const known = isValid
    ? counted.statistics!.promptTokens + counted.statistics!.completionTokens
    : textTokens(conversation.systemPrompt);
  return path.slice(isValid ? last + 1 : 0).reduce((sum, message) => sum + messageTokens(message), known);
}

/** Estimated tokens of a message that has not been sent. */
export function draftTokens(text: string, attachments: readonly Attachment[]): number {
  return (text === '' ? 0 : textTokens(text)) + attachmentTokens(attachments);
}

/**
 * Leaves out the oldest turns before an answer, or replaces them by a summary.
 *
 * @param id the answer that does not fit
 * @returns false if nothing can be left out
 */
export async function makeRoom(
  chatId: string,
  id: string,
  settings: AnswerSettings,
  abort: AbortSignal,
): Promise<boolean> {
  const chat = await openChat(chatId);
  if (!chat) return false;
  const path = seenPath(chat, id);
  const limit = KEPT_SHARE * (loadedModel.value?.contextTokens ?? 0);
  let room = limit;
  let begin = path.length;
  while (begin > 0 && room - messageTokens(path[begin - 1]!) >= 0) room -= messageTokens(path[--begin]!);
  const lastQuestion = path.findLastIndex(({ role }) => role === 'user');
  const start = path.findIndex(({ role }, index) => role === 'user' && index >= Math.max(1, begin));
  const first = path[start < 0 ? lastQuestion : start];
  if (!first || first === path[0]) return false;
  const earlier = path[0]?.role === 'user' ? (path[0].contextStart?.summary ?? null) : null;
  const summary =
    settings.whenFull === 'summarise' ? await summaryOf(chat, first.parentId, settings, abort) : earlier;
  changeConversation((now) => updateQuestion(now, first.id, { contextStart: { summary } }), chatId);
  return true;
}

/** Lets the model see everything before a message again. */
export function withoutStart(conversation: Conversation, id: string): Conversation {
  const message = conversation.messages[id];
  if (message?.role !== 'user') return conversation;
  const { contextStart: _, ...rest } = message;
  return { ...conversation, messages: { ...conversation.messages, [id]: rest } };
}

async function summaryOf(
  chat: Conversation,
  lastId: string,
  settings: AnswerSettings,
  abort: AbortSignal,
): Promise<string> {
  const asked = { ...settings, thinking: false, tools: false, schema: '', maxTokens: SUMMARY_TOKENS };
  const body = chatRequest(chat, lastId, loadedModel.value?.id ?? '', asked);
  const messages = [...apiMessages(chat, lastId), { role: 'user', content: SUMMARY_REQUEST }];
  let text = '';
  for await (const event of chatStream({ ...body, messages }, abort)) {
    if (event.type === 'text') text += event.text;
  }
  return text.trim();
}

function messageTokens(message: Message): number {
  if (message.role === 'user') return draftTokens(message.text, message.attachments) + MESSAGE_TOKENS;
  const calls = message.rounds.flatMap(({ toolUses }) =>
    toolUses.map(({ arguments: args, result }) => args + (result ?? '')),
  );
  return textTokens(answerText(message) + calls.join('')) + MESSAGE_TOKENS;
}

function textTokens(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}

function attachmentTokens(attachments: readonly Attachment[]): number {
  const media = loadedModel.value?.media;
  if (!media) return 0;
  return attachments.reduce((sum, attachment) => sum + (tokenCount(attachment, media) ?? 0), 0);
}
