import { computed, type Signal, signal } from '@preact/signals';
import { type Conversation, emptyConversation, newId } from './conversation.js';
import { readChat, writeChat } from './store.js';
import { heldIds, tellTabs } from './tabs.js';

/** A conversation in memory: shown, or being answered. */
interface OpenChat {
  readonly state: Signal<Conversation>;
  /** As it was last stored or read. */
  kept: Conversation;
  timer: ReturnType<typeof setTimeout> | undefined;
  /** The last write, after which the next may begin. */
  writing: Promise<void>;
}

const KEEP_AFTER_MS = 400;

const chats = new Map<string, OpenChat>();

/** Why the last change was not stored; null if it was. */
export const keepError = signal<string | null>(null);
/** Id of the conversation shown. */
export const currentId = signal(beginChat());
/** The conversation shown. */
export const conversation = computed(() => chats.get(currentId.value)!.state.value);

/** Begins an empty conversation; it is stored when it has content. @returns its id */
export function beginChat(systemPrompt = '', id = newId()): string {
  openWith(id, emptyConversation(systemPrompt));
  return id;
}

/** Changes a conversation, and stores it at once. */
export function changeConversation(
  change: (conversation: Conversation) => Conversation,
  id = currentId.value,
): void {
  changeOften(change, id);
  void keepNow(id);
}

/** Changes a conversation that changes many times a second, and stores it after a short pause. */
export function changeOften(
  change: (conversation: Conversation) => Conversation,
  id = currentId.value,
): void {
  const chat = chats.get(id);
  if (!chat) return;
  chat.state.value = change(chat.state.value);
  chat.timer ??= setTimeout(() => void keepNow(id), KEEP_AFTER_MS);
}

/** Stores a conversation that has changed. */
export async function keepNow(id: string): Promise<void> {
  const chat = chats.get(id);
  if (!chat?.timer) return;
  clearTimeout(chat.timer);
  chat.timer = undefined;
  const before = chat.kept;
  const after = chat.state.value;
  if (after === before || (isBlank(after) && isBlank(before))) return;
  chat.kept = after;
  chat.writing = chat.writing
    .then(() => writeChat(id, after, before))
    .then(
      () => {
        keepError.value = null;
        tellTabs({ type: 'changed', id });
        for (const listen of listeners) listen(id);
      },
      (error: unknown) => {
        chat.kept = before;
        const reason = error instanceof Error ? error.message : String(error);
        keepError.value = `The browser does not store this conversation: ${reason} Export it before you close the page.`;
      },
    );
  await chat.writing;
}

/** Stores everything that has changed: the page may be closed now. */
export function keepAll(): void {
  for (const id of chats.keys()) void keepNow(id);
}

const listeners = new Set<(id: string) => void>();

/** Listens to conversations of this tab being stored. */
export function onKept(listener: (id: string) => void): void {
  listeners.add(listener);
}

/** The conversation `id`, from memory or from the browser's storage; null if there is none. */
export async function openChat(id: string): Promise<Conversation | null> {
  const chat = chats.get(id);
  if (chat) return chat.state.value;
  const found = await readChat(id);
  if (!found) return null;
  const conversation = await withTrueStates(found.conversation);
  if (!chats.has(id)) openWith(id, conversation);
  return conversation;
}

/** Takes over what another tab stored: its messages and versions become branches of what this tab shows. */
export async function mergeStored(id: string): Promise<void> {
  const chat = chats.get(id);
  if (!chat) return;
  await chat.writing;
  const found = await readChat(id);
  if (!found) return;
  const stored = await withTrueStates(found.conversation);
  const { kept, state } = chat;
  const own = state.value;
  const isOwn = (message: string) => own.messages[message] !== kept.messages[message];
  const unsaved = Object.entries(own.messages).filter(([message]) => isOwn(message));
  const messages = { ...stored.messages, ...Object.fromEntries(unsaved) };
  for (const gone of Object.keys(kept.messages)) if (!own.messages[gone]) delete messages[gone];
  const selected = { ...stored.selected, ...own.selected };
  for (const [parent, child] of Object.entries(selected)) {
    const there = stored.selected[parent];
    if (messages[child]) continue;
    if (there && messages[there]) selected[parent] = there;
    else delete selected[parent];
  }
  const pick = <Name extends 'title' | 'systemPrompt' | 'settings'>(name: Name) =>
    own[name] === kept[name] ? stored[name] : own[name];
  const rest = { title: pick('title'), systemPrompt: pick('systemPrompt'), settings: pick('settings') };
  state.value = { ...rest, messages, selected };
  // What is stored now is the state to compare the next change with.
  chat.kept = {
    ...stored,
    messages: Object.fromEntries(
      Object.entries(stored.messages).map(([message, value]) => [
        message,
        isOwn(message) ? (kept.messages[message] ?? value) : value,
      ]),
    ),
    selected: { ...selected, ...kept.selected },
  };
}

/** Forgets a conversation that is neither shown nor answered nor empty; what changed is stored first. */
export async function closeChat(id: string): Promise<void> {
  await keepNow(id);
  const value = chats.get(id)?.state.value;
  if (!value || id === currentId.value || isBlank(value)) return;
  const isAnswered = Object.values(value.messages).some(
    (message) => message.role === 'assistant' && message.status === 'streaming',
  );
  if (!isAnswered) chats.delete(id);
}

/** Forgets a conversation without storing it. */
export function dropChat(id: string): void {
  clearTimeout(chats.get(id)?.timer);
  chats.delete(id);
}

/** True if a conversation has no messages: only then it is not listed. */
export function isBlank({ messages }: Conversation): boolean {
  return Object.keys(messages).length === 0;
}

function openWith(id: string, conversation: Conversation): void {
  chats.set(id, {
    state: signal(conversation),
    kept: conversation,
    timer: undefined,
    writing: Promise.resolve(),
  });
}

/** An answer that no tab receives any more was stopped when its tab was closed. */
async function withTrueStates(conversation: Conversation): Promise<Conversation> {
  const unfinished = Object.values(conversation.messages).filter(
    (message) => message.role === 'assistant' && message.status === 'streaming',
  );
  if (unfinished.length === 0) return conversation;
  const held = await heldIds();
  const stopped = unfinished
    .filter(({ id }) => !held.has(id))
    .map((message) => [message.id, { ...message, status: 'stopped' as const }] as const);
  return {
    ...conversation,
    messages: { ...conversation.messages, ...Object.fromEntries(stopped) } as Conversation['messages'],
  };
}
