import { InvalidArgumentError } from '@markbase/core';
import type { ChatMessage, ContentPart, MediaKind, ToolCall } from './chat-message.js';
import { parseExactJson } from './exact-json.js';
import { ExactNumber } from './exact-number.js';

const ROLES = ['user', 'assistant', 'system', 'developer', 'tool'];
const MEDIA_KINDS = ['image', 'audio', 'video'];

/** A message as a template sees it, with the names that Hugging Face templates use. */
export interface TemplateMessage {
  readonly role: string;
  readonly content: string | readonly unknown[] | Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** Messages in the form that templates expect, and the kinds of media in them, in order. */
export interface NormalizedMessages {
  readonly messages: TemplateMessage[];
  readonly media: MediaKind[];
}

/**
 * Checks a conversation and converts it into the form that all revisions of the template accept: arguments are objects,
 * thoughts are not part of the content, and content is never null.
 *
 * Errors: InvalidArgumentError that names the message and the field.
 */
export function normalizeMessages(messages: readonly ChatMessage[]): NormalizedMessages {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw invalid('messages', 'a list with at least one message', messages);
  }
  const media: MediaKind[] = [];
  const openCalls = new OpenCalls();
  const normalized = messages.map((message: ChatMessage, index) => {
    const where = `messages[${index}]`;
    if (!ROLES.includes(message?.role)) throw invalid(`${where}.role`, ROLES.join(', '), message?.role);
    openCalls.check(message, where);
    return normalizeMessage(message, where, media);
  });
  return { messages: normalized, media };
}

function normalizeMessage(message: ChatMessage, where: string, media: MediaKind[]): TemplateMessage {
  const fields: Record<string, unknown> = {};
  if (message.role === 'assistant') {
    const reasoning = optionalString(message.reasoning, `${where}.reasoning`);
    if (reasoning) Object.assign(fields, { reasoning, reasoning_content: reasoning });
    const calls = message.toolCalls ?? [];
    if (!Array.isArray(calls)) throw invalid(`${where}.toolCalls`, 'a list', calls);
    if (calls.length > 0) {
      fields.tool_calls = calls.map((call, index) => normalizeCall(call, `${where}.toolCalls[${index}]`));
    }
  } else if (message.role === 'tool') {
    const id = optionalString(message.toolCallId, `${where}.toolCallId`);
    const name = optionalString(message.name, `${where}.name`);
    if (id !== null) fields.tool_call_id = id;
    if (name !== null) fields.name = name;
  }
  return { role: message.role, content: normalizeContent(message, where, media), ...fields };
}

function normalizeContent(
  message: ChatMessage,
  where: string,
  media: MediaKind[],
): TemplateMessage['content'] {
  const content = message.content ?? '';
  const clean = message.role === 'assistant' ? withoutThoughts : (text: string) => text;
  if (typeof content === 'string') return clean(content);
  if (!Array.isArray(content)) {
    if (message.role === 'tool' && typeof content === 'object') return { ...content };
    throw invalid(`${where}.content`, 'a string or a list of parts', content);
  }
  const parts = content.map((part: ContentPart, index) => {
    if (part?.type === 'text' && typeof part.text === 'string')
      return { type: 'text', text: clean(part.text) };
    if (!MEDIA_KINDS.includes(part?.type)) {
      throw invalid(`${where}.content[${index}]`, `a text part, or one of ${MEDIA_KINDS.join(', ')}`, part);
    }
    media.push(part.type as MediaKind);
    return { type: part.type };
  });
  // Older templates accept only a string here.
  if (message.role !== 'tool' || parts.some((part) => part.type !== 'text')) return parts;
  return parts.map((part) => part.text ?? '').join('');
}

function normalizeCall(call: ToolCall, where: string): Record<string, unknown> {
  const name = call?.name;
  if (typeof name !== 'string' || name === '') throw invalid(`${where}.name`, 'the name of a tool', name);
  const id = optionalString(call.id, `${where}.id`);
  const callArguments = parseArguments(call.arguments, `${where}.arguments`);
  return { ...(id === null ? {} : { id }), type: 'function', function: { name, arguments: callArguments } };
}

function parseArguments(value: unknown, where: string): Record<string, unknown> {
  let parsed: unknown = value ?? {};
  if (typeof parsed === 'string') {
    try {
      parsed = parsed.trim() === '' ? {} : parseExactJson(parsed);
    } catch (cause) {
      throw invalid(where, 'an object or the JSON text of one', value, cause);
    }
  }
  if (
    typeof parsed !== 'object' ||
    parsed === null ||
    Array.isArray(parsed) ||
    parsed instanceof ExactNumber
  ) {
    throw invalid(where, 'an object or the JSON text of one', value);
  }
  return parsed as Record<string, unknown>;
}

/** Removes each `<|channel>…<channel|>` from an answer, as the template does: old thoughts make models loop. */
export function withoutThoughts(text: string): string {
  return text
    .split('<channel|>')
    .map((piece) => piece.split('<|channel>', 1)[0])
    .join('');
}

/** Tracks the tool calls that may get a result: a result without a call would silently vanish from the prompt. */
class OpenCalls {
  #ids: ReadonlySet<string | undefined> | null = null;

  check(message: ChatMessage, where: string): void {
    if (message.role !== 'tool') {
      const calls = message.role === 'assistant' ? (message.toolCalls ?? []) : [];
      this.#ids = calls.length > 0 ? new Set(calls.map((call) => call?.id)) : null;
      return;
    }
    if (this.#ids === null) {
      throw invalid(where, 'an assistant message with toolCalls before a message of role tool', 'none');
    }
    const id = message.toolCallId ?? undefined;
    if (id !== undefined && !this.#ids.has(id)) {
      throw invalid(`${where}.toolCallId`, 'the id of a call in the preceding assistant message', id);
    }
  }
}

function optionalString(value: unknown, where: string): string | null {
  if (value === undefined || value === null) return null;
  if (typeof value !== 'string') throw invalid(where, 'a string', value);
  return value;
}

function invalid(argument: string, expected: string, received: unknown, cause?: unknown): Error {
  return new InvalidArgumentError({ argument, expected, received, cause });
}
