import type { Attachment } from '../media/attachment.js';

/** A tool call and its result. */
export interface ToolUse {
  readonly id: string;
  readonly name: string;
  /** JSON text, as the model wrote it. */
  readonly arguments: string;
  /** JSON text; null while the tool runs. */
  readonly result: string | null;
}

/** The model's output up to the end of its answer or up to a tool result. */
export interface Round {
  readonly reasoning: string;
  readonly text: string;
  readonly toolUses: readonly ToolUse[];
}

/** Statistics of an answer. Times are measured in the page, from sending the request. */
export interface AnswerStatistics {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  readonly firstTokenMs: number;
  readonly totalMs: number;
}

/** A message of the user. */
export interface UserMessage {
  readonly role: 'user';
  readonly id: string;
  /** The message that this one follows; ROOT if none. */
  readonly parentId: string;
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

/** An answer of the model. */
export interface AssistantMessage {
  readonly role: 'assistant';
  readonly id: string;
  readonly parentId: string;
  readonly rounds: readonly Round[];
  readonly status: 'streaming' | 'done' | 'length' | 'stopped' | 'failed';
  /** What went wrong and what to do about it; null unless failed. */
  readonly error: string | null;
  readonly statistics: AnswerStatistics | null;
}

/** A message of the user or the model. */
export type Message = UserMessage | AssistantMessage;

/**
 * A tree of messages. Editing a message or asking again adds a sibling, so that nothing is lost. For each parent,
 * `selected` holds the child that is shown.
 */
export interface Conversation {
  readonly systemPrompt: string;
  /** By id, oldest first. */
  readonly messages: Readonly<Record<string, Message>>;
  readonly selected: Readonly<Record<string, string>>;
}

/** Parent of the first messages. */
export const ROOT = 'root';

/** A conversation without messages. */
export function emptyConversation(systemPrompt = ''): Conversation {
  return { systemPrompt, messages: {}, selected: {} };
}

/** A unique message id. */
export function newMessageId(): string {
  return `m-${crypto.randomUUID()}`;
}

/** Adds a message and selects it. */
export function append(conversation: Conversation, message: Message): Conversation {
  return {
    ...conversation,
    messages: { ...conversation.messages, [message.id]: message },
    selected: { ...conversation.selected, [message.parentId]: message.id },
  };
}

/** Changes the answer `id`; a conversation without it is returned unchanged. */
export function updateAnswer(
  conversation: Conversation,
  id: string,
  change: (message: AssistantMessage) => AssistantMessage,
): Conversation {
  const message = conversation.messages[id];
  if (message?.role !== 'assistant') return conversation;
  return { ...conversation, messages: { ...conversation.messages, [id]: change(message) } };
}

/** Switches to the branch that starts with `id`. */
export function select(conversation: Conversation, id: string): Conversation {
  const message = conversation.messages[id];
  if (!message) return conversation;
  return { ...conversation, selected: { ...conversation.selected, [message.parentId]: id } };
}

/** The messages shown, from the first to the last or to `lastId`. */
export function pathOf({ messages, selected }: Conversation, lastId?: string): Message[] {
  const path: Message[] = [];
  let id = selected[ROOT];
  while (id !== undefined) {
    const message = messages[id];
    if (!message) break;
    path.push(message);
    if (id === lastId) break;
    id = selected[id];
  }
  return path;
}

/** All versions of a message, including itself, oldest first. */
export function siblingsOf({ messages }: Conversation, id: string): Message[] {
  const parentId = messages[id]?.parentId;
  return Object.values(messages).filter((message) => message.parentId === parentId);
}

/** The complete text of an answer, without reasoning and tools. */
export function answerText(message: AssistantMessage): string {
  return message.rounds
    .map(({ text }) => text)
    .filter((text) => text !== '')
    .join('\n\n');
}
