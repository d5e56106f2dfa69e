import { signal } from '@preact/signals';
import { type Conversation, newId } from './conversation.js';
import {
  beginChat,
  changeConversation,
  dropChat,
  keepNow,
  mergeStored,
  onKept,
  openChat,
} from './current.js';
import type { ChatRecord } from './database.js';
import { listChats, markDeleted, readChat } from './store.js';
import { onTabNews, tellTabs } from './tabs.js';

/** The stored conversations, the last changed first. */
export const library = signal<readonly ChatRecord[]>([]);

/** The title that the list shows. */
export function listTitle({ title, firstWords }: ChatRecord): string {
  return title || firstWords || 'Untitled';
}

/** Reads the list, and follows the changes of all tabs. */
export async function openLibrary(): Promise<void> {
  onKept((id) => void refreshEntry(id));
  onTabNews((news) => {
    if (news.type !== 'changed') return;
    void mergeStored(news.id);
    void refreshEntry(news.id);
  });
  // Without storage, the list stays empty, and storing a conversation says why.
  library.value = await listChats().catch(() => []);
}

/** Gives a conversation another title; empty = the one made from its first question. */
export async function renameChat(id: string, title: string): Promise<void> {
  if (!(await openChat(id))) return;
  changeConversation((chat) => ({ ...chat, title: title.trim() === '' ? null : title.trim() }), id);
  await keepNow(id);
}

/** Deletes a conversation; `restoreChat` brings it back. */
export async function deleteChat(id: string): Promise<void> {
  tellTabs({ type: 'stop', id });
  await keepNow(id);
  await markDeleted(id, Date.now());
  dropChat(id);
  await refreshEntry(id);
  tellTabs({ type: 'changed', id });
}

/** Restores a conversation that was deleted a short time ago. */
export async function restoreChat(id: string): Promise<void> {
  await markDeleted(id, null);
  await refreshEntry(id);
  tellTabs({ type: 'changed', id });
}

/** Adds conversations of a file. @returns the id of the first */
export async function addChats(conversations: readonly Conversation[]): Promise<string | null> {
  const ids = conversations.map((conversation) => {
    const id = beginChat('', newId());
    changeConversation(() => conversation, id);
    return id;
  });
  for (const id of ids) await keepNow(id);
  return ids[0] ?? null;
}

/** All conversations with their messages. */
export async function wholeLibrary(): Promise<Conversation[]> {
  const found = await Promise.all(library.value.map(({ id }) => readChat(id)));
  return found.flatMap((chat) => (chat ? [chat.conversation] : []));
}

async function refreshEntry(id: string): Promise<void> {
  const found = await readChat(id);
  const others = library.value.filter((entry) => entry.id !== id);
  const entries = found && found.record.deletedAt === null ? [...others, found.record] : others;
  library.value = entries.sort((a, b) => b.changedAt - a.changedAt);
}
