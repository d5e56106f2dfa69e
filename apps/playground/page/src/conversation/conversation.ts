import type { Attachment } from '../media/attachment.js';
import type { AnswerSettings } from '../settings/answer-settings.js';

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
  /** Time from the first thought to the first word after it; left out while the model thinks, and by older versions. */
  readonly reasoningMs?: number;
  readonly text: string;
  readonly toolUses: readonly ToolUse[];
}

/** Statistics of an answer. Times are the server's, from the arrival of the request. */
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
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** The model sees nothing before this message but the summary, if there is one. Left out = it sees everything. */
  readonly contextStart?: { readonly summary: string | null };
}

/** An answer of the model. */
export interface AssistantMessage {
  readonly role: 'assistant';
  readonly id: string;
  readonly parentId: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  readonly rounds: readonly Round[];
  readonly status: 'streaming' | 'done' | 'length' | 'stopped' | 'failed';
  /** What went wrong and what to do about it; null unless failed. */
  readonly error: string | null;
  /** True if it failed because the conversation does not fit the context of the model. */
  readonly isContextFull?: boolean;
  readonly statistics: AnswerStatistics | null;
}

/** A message of the user or the model. */
export type Message = UserMessage | AssistantMessage;

/**
 * A tree of messages. Editing a message or asking again adds a sibling, so that nothing is lost. For each parent,
 * `selected` holds the child that is shown.
 */
export interface Conversation {
  /** Given by the user; null = made from the first question. */
  readonly title: string | null;
  /** Settings with which it is answered; those left out are the browser's. */
  readonly settings: Partial<AnswerSettings>;
  readonly systemPrompt: string;
  /** By id, oldest first. */
  readonly messages: Readonly<Record<string, Message>>;
  readonly selected: Readonly<Record<string, string>>;
}

/** Parent of the first messages. */
export const ROOT = 'root';

/** A conversation without messages. */
export function emptyConversation(systemPrompt = ''): Conversation {
  return { title: null, settings: {}, systemPrompt, messages: {}, selected: {} };
}

/** A unique id of a message or a conversation. */
export function newId(): string {
  // `randomUUID` is missing on pages that another machine serves over plain HTTP.
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
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

/** The messages shown, from the first to the last. */
export function pathOf({ messages, selected }: Conversation): Message[] {
  const path: Message[] = [];
  let id = selected[ROOT];
  while (id !== undefined) {
    const message = messages[id];
    if (!message) break;
    path.push(message);
    id = selected[id];
  }
  return path;
}

/** The messages from the first to `id`, whether they are shown or not. */
export function pathTo({ messages }: Conversation, id: string): Message[] {
  const path: Message[] = [];
  for (let message = messages[id]; message; message = messages[message.parentId]) path.unshift(message);
  return path;
}

/** Changes the user's message `id`; a conversation without it is returned unchanged. */
export function updateQuestion(
  conversation: Conversation,
  id: string,
  fields: Partial<UserMessage>,
): Conversation {
  const message = conversation.messages[id];
  if (message?.role !== 'user') return conversation;
  return { ...conversation, messages: { ...conversation.messages, [id]: { ...message, ...fields } } };
}

/** All versions of a message, including itself, oldest first. */
export function siblingsOf({ messages }: Conversation, id: string): Message[] {
  const parentId = messages[id]?.parentId;
  return Object.values(messages).filter((message) => message.parentId === parentId);
}

/** A conversation without a message and everything that follows it; another version of the message is then shown. */
export function remove(conversation: Conversation, id: string): Conversation {
  const { parentId } = conversation.messages[id] ?? {};
  if (parentId === undefined) return conversation;
  const gone = new Set([id]);
  // Parents come before their children.
  for (const message of Object.values(conversation.messages)) {
    if (gone.has(message.parentId)) gone.add(message.id);
  }
  const isLeft = (one: string | undefined) => one !== undefined && !gone.has(one);
  const messages = Object.fromEntries(Object.entries(conversation.messages).filter(([one]) => isLeft(one)));
  const selected = Object.fromEntries(
    Object.entries(conversation.selected).filter(([parent, child]) => isLeft(parent) && isLeft(child)),
  );
  const next = Object.values(messages).findLast((message) => message.parentId === parentId);
  return { ...conversation, messages, selected: { ...selected, ...(next && { [parentId]: next.id }) } };
}

/** A conversation with the messages that it had before, shown as they were. */
export function restore(conversation: Conversation, before: Conversation): Conversation {
  const all = Object.values({ ...before.messages, ...conversation.messages });
  all.sort((a, b) => a.createdAt - b.createdAt);
  return {
    ...conversation,
    messages: Object.fromEntries(all.map((message) => [message.id, message])),
    selected: { ...conversation.selected, ...before.selected },
  };
}

const LONGEST_TITLE = 60;

/** The title of a conversation: the user's, or the beginning of the first question; empty without messages. */
export function titleOf({ title, messages }: Pick<Conversation, 'title' | 'messages'>): string {
  if (title !== null) return title;
  const first = Object.values(messages).find((message) => message.role === 'user');
  if (first?.role !== 'user') return '';
  const line = first.text.split('\n').find((text) => text.trim() !== '') ?? first.attachments[0]?.name ?? '';
  const words = line.replace(/^[#>*\-\s]+/, '').trim();
  if (words.length <= LONGEST_TITLE) return words || 'Untitled';
  const cut = words.slice(0, LONGEST_TITLE);
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), LONGEST_TITLE / 2)).trim()}…`;
}

/** The complete text of an answer, without reasoning and tools. */
export function answerText(message: AssistantMessage): string {
  return message.rounds
    .map(({ text }) => text)
    .filter((text) => text !== '')
    .join('\n\n');
}

/** Everything that was written in a conversation, in lower case. */
export function searchTextOf({ messages }: Conversation): string {
  const text = (message: Message) => (message.role === 'user' ? message.text : answerText(message));
  return Object.values(messages).map(text).join('\n').toLowerCase();
}
