import type { Attachment } from '../media/attachment.js';
import { knownSettings } from '../settings/answer-settings.js';
import type { AnswerStatistics, Conversation, Message, Round, ToolUse } from './conversation.js';

const FORMAT = 'markbase-conversation';
const VERSION = 2;

/** Conversations as the text of a file. */
export function serializeConversations(conversations: readonly Conversation[]): string {
  return JSON.stringify({ format: FORMAT, version: VERSION, conversations }, null, 1);
}

/**
 * Reads what `serializeConversations` wrote, or a file of version 1, which holds one conversation. An unfinished answer
 * counts as stopped.
 *
 * @throws TypeError that says what is wrong with the file
 */
export function parseConversations(text: string): Conversation[] {
  let file: unknown;
  try {
    file = JSON.parse(text);
  } catch {
    throw new TypeError('it is not JSON');
  }
  const { format, version, conversations } = record(file, 'the file');
  if (format !== FORMAT) throw new TypeError('it is not a conversation exported by this page');
  if (version === 1) return [conversation(file)];
  if (version !== VERSION) throw new TypeError(`its version is ${version}, expected 1 or ${VERSION}`);
  return list(conversations, 'conversations').map(conversation);
}

function conversation(value: unknown): Conversation {
  const { title, settings, systemPrompt, messages, selected } = record(value, 'a conversation');
  const entries = Object.entries(record(messages, 'messages'));
  // Version 1 has no times; the order of messages is that of the file.
  const begin = Date.now() - entries.length;
  const known = Object.fromEntries(entries.map(([id, one], index) => [id, message(id, one, begin + index)]));
  const chosen = Object.entries(record(selected, 'selected'));
  return {
    title: typeof title === 'string' ? title : null,
    settings: settings === undefined ? {} : knownSettings(record(settings, 'settings')),
    systemPrompt: string(systemPrompt, 'systemPrompt'),
    messages: known,
    selected: Object.fromEntries(
      chosen.filter((entry): entry is [string, string] => known[String(entry[1])]?.parentId === entry[0]),
    ),
  };
}

function message(id: string, value: unknown, order: number): Message {
  const { role, parentId, createdAt, ...rest } = record(value, `message ${id}`);
  const base = {
    id,
    parentId: string(parentId, 'parentId'),
    createdAt: createdAt === undefined ? order : number(createdAt, 'createdAt'),
  };
  if (role === 'user') {
    const attachments = list(rest.attachments, 'attachments').map(attachment);
    const start = rest.contextStart === undefined ? null : record(rest.contextStart, 'contextStart');
    const contextStart = start && {
      summary: start.summary === null ? null : string(start.summary, 'summary'),
    };
    return {
      ...base,
      role,
      text: string(rest.text, 'text'),
      attachments,
      ...(contextStart && { contextStart }),
    };
  }
  if (role !== 'assistant') throw new TypeError(`message ${id} has the unknown role ${String(role)}`);
  const statuses = ['done', 'length', 'stopped', 'failed'] as const;
  return {
    ...base,
    role,
    rounds: list(rest.rounds, 'rounds').map(round),
    status: statuses.find((status) => status === rest.status) ?? 'stopped',
    error: typeof rest.error === 'string' ? rest.error : null,
    ...(rest.isContextFull === true && { isContextFull: true }),
    statistics: statistics(rest.statistics),
  };
}

function round(value: unknown): Round {
  const { reasoning, reasoningMs, text, toolUses } = record(value, 'a round');
  return {
    reasoning: string(reasoning, 'reasoning'),
    ...(typeof reasoningMs === 'number' && { reasoningMs }),
    text: string(text, 'text'),
    toolUses: list(toolUses, 'toolUses').map(toolUse),
  };
}

function toolUse(value: unknown): ToolUse {
  const { id, name, arguments: args, result } = record(value, 'a call');
  return {
    id: string(id, 'id'),
    name: string(name, 'name'),
    arguments: string(args, 'arguments'),
    result: result === null ? null : string(result, 'result'),
  };
}

function statistics(value: unknown): AnswerStatistics | null {
  if (value === null || value === undefined) return null;
  const fields = record(value, 'statistics');
  const read = (name: keyof AnswerStatistics) => number(fields[name], name);
  return {
    promptTokens: read('promptTokens'),
    cachedTokens: read('cachedTokens'),
    completionTokens: read('completionTokens'),
    firstTokenMs: read('firstTokenMs'),
    totalMs: read('totalMs'),
  };
}

function attachment(value: unknown): Attachment {
  const fields = record(value, 'an attachment');
  const base = { id: string(fields.id, 'id'), name: string(fields.name, 'name') };
  const size = () => ({ width: number(fields.width, 'width'), height: number(fields.height, 'height') });
  if (fields.kind === 'image') {
    const budget = number(fields.budget, 'budget');
    return { ...base, ...size(), kind: 'image', url: dataUrl(fields.url), budget };
  }
  if (fields.kind === 'audio') {
    const peaks = list(fields.peaks, 'peaks').map((peak) => number(peak, 'peak'));
    const sampleCount = number(fields.sampleCount, 'sampleCount');
    return { ...base, kind: 'audio', wav: string(fields.wav, 'wav'), sampleCount, peaks };
  }
  if (fields.kind === 'text') {
    const pageCount = fields.pageCount === null ? null : number(fields.pageCount, 'pageCount');
    return { ...base, kind: 'text', text: string(fields.text, 'text'), pageCount };
  }
  if (fields.kind !== 'video')
    throw new TypeError(`an attachment has the unknown kind ${String(fields.kind)}`);
  const frames = list(fields.frames, 'frames').map((frame) => {
    const { url, timestampSeconds } = record(frame, 'a frame');
    return { url: dataUrl(url), timestampSeconds: number(timestampSeconds, 'timestampSeconds') };
  });
  return { ...base, ...size(), kind: 'video', seconds: number(fields.seconds, 'seconds'), frames };
}

/** An imported file must not make the page request pictures from elsewhere. */
function dataUrl(value: unknown): string {
  const url = string(value, 'url');
  if (!url.startsWith('data:image/')) throw new TypeError('a picture is not part of the file');
  return url;
}

function record(value: unknown, what: string): Record<string, unknown> {
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return value as Record<string, unknown>;
  throw new TypeError(`${what} should be an object`);
}

function list(value: unknown, what: string): unknown[] {
  if (Array.isArray(value)) return value;
  throw new TypeError(`${what} should be a list`);
}

function string(value: unknown, what: string): string {
  if (typeof value === 'string') return value;
  throw new TypeError(`${what} should be a string`);
}

function number(value: unknown, what: string): number {
  if (typeof value === 'number') return value;
  throw new TypeError(`${what} should be a number`);
}
