import {
  type AssistantMessage,
  type Conversation,
  type Message,
  pathTo,
} from '../conversation/conversation.js';
import type { Attachment, TextAttachment } from '../media/attachment.js';
import { FRAME_BUDGET } from '../media/token-count.js';
import type { AnswerSettings } from '../settings/answer-settings.js';
import { toolDefinitions } from '../tools/demo-tools.js';

/** A message in the format of the API. */
export type ApiMessage = Readonly<Record<string, unknown>>;

/**
 * The request for the next answer in a conversation.
 *
 * @param lastId the last message that the model sees
 */
export function chatRequest(
  conversation: Conversation,
  lastId: string,
  model: string,
  settings: AnswerSettings,
): Record<string, unknown> {
  const schema = schemaOf(settings.schema);
  const stop = settings.stop.split('\n').filter((text) => text !== '');
  return {
    model,
    messages: apiMessages(conversation, lastId),
    ...given({
      temperature: settings.temperature,
      top_p: settings.topP,
      top_k: settings.topK,
      min_p: settings.minP,
      repetition_penalty: settings.repetitionPenalty,
      max_completion_tokens: settings.maxTokens,
      seed: settings.seed,
    }),
    ...(stop.length > 0 && { stop }),
    ...(settings.thinking && { chat_template_kwargs: { enable_thinking: true } }),
    ...(settings.tools && { tools: toolDefinitions() }),
    ...(schema && { response_format: { type: 'json_schema', json_schema: { name: 'answer', schema } } }),
  };
}

/** The schema that a text holds; null if it is empty or not a JSON object, which its field says. */
function schemaOf(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

/** The messages up to `lastId` that the model sees. */
export function seenPath(conversation: Conversation, lastId: string): Message[] {
  const path = pathTo(conversation, lastId);
  const start = path.findLastIndex((message) => message.role === 'user' && message.contextStart);
  return path.slice(Math.max(0, start));
}

/** What the model sees of a conversation up to `lastId`, in the format of the API. */
export function apiMessages(conversation: Conversation, lastId: string): ApiMessage[] {
  const path = seenPath(conversation, lastId);
  const summary = path[0]?.role === 'user' ? (path[0].contextStart?.summary ?? null) : null;
  const system = [
    conversation.systemPrompt.trim(),
    summary === null ? '' : `Summary of the conversation so far: ${summary}`,
  ].filter((text) => text !== '');
  return [
    ...(system.length === 0 ? [] : [{ role: 'system', content: system.join('\n\n') }]),
    ...path.flatMap((one) => messageParts(one, one.id === lastId)),
  ];
}

function messageParts(message: Message, isLast: boolean): ApiMessage[] {
  if (message.role === 'assistant') return answerMessages(message, isLast);
  const { text, attachments } = message;
  if (attachments.length === 0) return [{ role: 'user', content: text }];
  const textPart = text === '' ? [] : [{ type: 'text', text }];
  return [{ role: 'user', content: [...attachments.flatMap(attachmentParts), ...textPart] }];
}

/** Each round of an answer and each tool result is a separate message. */
function answerMessages({ rounds, status }: AssistantMessage, isLast: boolean): ApiMessage[] {
  return rounds.flatMap(({ reasoning, text, toolUses }, index): ApiMessage[] => {
    // An answer that is continued goes on after its thoughts, or inside them.
    const isContinued = isLast && status === 'streaming' && index === rounds.length - 1;
    if (isContinued && reasoning !== '' && toolUses.length === 0) {
      return [{ role: 'assistant', content: text, reasoning_content: reasoning }];
    }
    // A call without a result was stopped: the model must not see it.
    const finished = toolUses.filter(({ result }) => result !== null);
    if (finished.length === 0) return text === '' ? [] : [{ role: 'assistant', content: text }];
    const calls = finished.map(({ id, name, arguments: args }) => ({
      id,
      type: 'function',
      function: { name, arguments: args },
    }));
    return [
      { role: 'assistant', content: text === '' ? null : text, tool_calls: calls },
      ...finished.map(({ id, result }) => ({ role: 'tool', tool_call_id: id, content: result })),
    ];
  });
}

function attachmentParts(attachment: Attachment): unknown[] {
  switch (attachment.kind) {
    case 'text':
      return [{ type: 'text', text: quoted(attachment) }];
    case 'image':
      return [imagePart(attachment.url, attachment.budget)];
    case 'audio':
      return [{ type: 'input_audio', input_audio: { data: attachment.wav, format: 'wav' } }];
    case 'video':
      // The model sees a video as frames, each after its timestamp.
      return attachment.frames.flatMap(({ url, timestampSeconds }) => [
        { type: 'text', text: `${clock(timestampSeconds)} ` },
        imagePart(url, FRAME_BUDGET),
      ]);
  }
}

/** A file as text, in a fence that is longer than any inside it. */
function quoted({ name, text }: TextAttachment): string {
  const ticks = [...text.matchAll(/`{3,}/g)].reduce((most, [run]) => Math.max(most, run.length + 1), 3);
  const fence = '`'.repeat(ticks);
  return `${name}:\n${fence}\n${text.trimEnd()}\n${fence}\n\n`;
}

function imagePart(url: string, budget: number) {
  return { type: 'image_url', image_url: { url, max_soft_tokens: budget } };
}

/** MM:SS, rounded down. */
function clock(seconds: number): string {
  const digits = (value: number) => String(Math.floor(value)).padStart(2, '0');
  return `${digits(seconds / 60)}:${digits(seconds % 60)}`;
}

function given(fields: Readonly<Record<string, number | null>>): Record<string, number> {
  return Object.fromEntries(
    Object.entries(fields).filter((entry): entry is [string, number] => entry[1] !== null),
  );
}
