import type { Attachment } from '../media/attachment.js';

/** A call of a tool, and what came of it. */
export interface ToolUse {
  readonly id: string;
  readonly name: string;
  /** JSON text, as the model wrote it. */
  readonly arguments: string;
  /** JSON text; null while the tool runs. */
  readonly result: string | null;
}

/** What the model said up to the end of its answer, or up to the result of a tool. */
export interface Round {
  readonly reasoning: string;
  readonly text: string;
  readonly toolUses: readonly ToolUse[];
}

/** What an answer cost. Times are measured in the page, from sending the request. */
export interface AnswerStatistics {
  readonly promptTokens: number;
  readonly cachedTokens: number;
  readonly completionTokens: number;
  readonly firstTokenMs: number;
  readonly totalMs: number;
}

/** What a person said. */
export interface UserMessage {
  readonly role: 'user';
  readonly id: string;
  /** The message that this one follows; ROOT = none. */
  readonly parentId: string;
  readonly text: string;
  readonly attachments: readonly Attachment[];
}

/** What the model answered. */
export interface AssistantMessage {
  readonly role: 'assistant';
  readonly id: string;
  readonly parentId: string;
  readonly rounds: readonly Round[];
  readonly status: 'streaming' | 'done' | 'length' | 'stopped' | 'failed';
  /** What went wrong and what to do; null unless failed. */
  readonly error: string | null;
  readonly statistics: AnswerStatistics | null;
}

/** A message of either side. */
export type Message = UserMessage | AssistantMessage;

/**
 * A tree of messages. Editing a message or asking again adds a sibling, so nothing is ever lost; `selected` says, for
 * each parent, which of its children the person is looking at.
 */
export interface Conversation {
  readonly systemPrompt: string;
  /** By id, the oldest first. */
  readonly messages: Readonly<Record<string, Message>>;
  readonly selected: Readonly<Record<string, string>>;
}

/** Parent of first messages. */
export const ROOT = 'root';

/** A conversation in which nobody has said anything. */
export function emptyConversation(systemPrompt = ''): Conversation {
  return { systemPrompt, messages: {}, selected: {} };
}

/** An id that no other message has. */
export function newMessageId(): string {
  return `m-${crypto.randomUUID()}`;
}

/** Adds a message and looks at it. */
export function append(conversation: Conversation, message: Message): Conversation {
  return {
    ...conversation,
    messages: { ...conversation.messages, [message.id]: message },
    selected: { ...conversation.selected, [message.parentId]: message.id },
  };
}

/** Changes the answer `id`; a conversation without it stays as it is. */
export function updateAnswer(
  conversation: Conversation,
  id: string,
  change: (message: AssistantMessage) => AssistantMessage,
): Conversation {
  const message = conversation.messages[id];
  if (message?.role !== 'assistant') return conversation;
  return { ...conversation, messages: { ...conversation.messages, [id]: change(message) } };
}

/** Looks at another branch: the one that `id` begins. */
export function select(conversation: Conversation, id: string): Conversation {
  const message = conversation.messages[id];
  if (!message) return conversation;
  return { ...conversation, selected: { ...conversation.selected, [message.parentId]: id } };
}

/** The messages that the person is looking at, from the first to the last, or to `lastId`. */
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

/** The versions of a message, itself among them, the oldest first. */
export function siblingsOf({ messages }: Conversation, id: string): Message[] {
  const parentId = messages[id]?.parentId;
  return Object.values(messages).filter((message) => message.parentId === parentId);
}

/** All text of an answer, without reasoning and tools. */
export function answerText(message: AssistantMessage): string {
  return message.rounds
    .map(({ text }) => text)
    .filter((text) => text !== '')
    .join('\n\n');
}
