import { type Conversation, searchTextOf, titleOf } from './conversation.js';
import { type ChatRecord, database } from './database.js';

/** Deleted conversations can be restored for this long. */
const RESTORABLE_MS = 60 * 60 * 1000;

/** All conversations that are not deleted, the last changed first. Those deleted long ago are removed. */
export async function listChats(): Promise<ChatRecord[]> {
  const records = await (await database()).getAll('chats');
  const isOld = ({ deletedAt }: ChatRecord) => deletedAt !== null && Date.now() - deletedAt > RESTORABLE_MS;
  for (const { id } of records.filter(isOld)) await purge(id);
  return records.filter(({ deletedAt }) => deletedAt === null).sort((a, b) => b.changedAt - a.changedAt);
}

/** A stored conversation; null if there is none. */
export async function readChat(
  id: string,
): Promise<{ readonly record: ChatRecord; readonly conversation: Conversation } | null> {
  const transaction = (await database()).transaction(['chats', 'messages']);
  const [record, list] = await Promise.all([
    transaction.objectStore('chats').get(id),
    transaction.objectStore('messages').getAll(messagesOf(id)),
  ]);
  if (!record) return null;
  const { title, systemPrompt, settings, selected } = record;
  list.sort((a, b) => a.createdAt - b.createdAt);
  const messages = Object.fromEntries(list.map((message) => [message.id, message]));
  return { record, conversation: { title, systemPrompt, settings, messages, selected } };
}

/**
 * Stores what changed between two states of a conversation; what other tabs stored stays.
 *
 * @param before as it was last stored or read
 */
export async function writeChat(id: string, after: Conversation, before: Conversation): Promise<void> {
  const transaction = (await database()).transaction(['chats', 'messages', 'texts'], 'readwrite');
  const chats = transaction.objectStore('chats');
  const messages = transaction.objectStore('messages');
  const stored = await chats.get(id);
  const changed = <Name extends 'title' | 'systemPrompt' | 'settings'>(name: Name) =>
    after[name] !== before[name] || !stored ? after[name] : (stored[name] as Conversation[Name]);
  const writes: Promise<unknown>[] = [];
  for (const message of Object.values(after.messages)) {
    if (before.messages[message.id] !== message) writes.push(messages.put(message, [id, message.id]));
  }
  for (const gone of Object.keys(before.messages)) {
    if (!after.messages[gone]) writes.push(messages.delete([id, gone]));
  }
  const chosen = Object.entries(after.selected).filter(
    ([parent, child]) => before.selected[parent] !== child,
  );
  const record: ChatRecord = {
    id,
    title: changed('title'),
    firstWords: titleOf({ ...after, title: null }),
    systemPrompt: changed('systemPrompt'),
    settings: changed('settings'),
    selected: { ...stored?.selected, ...Object.fromEntries(chosen) },
    changedAt: writes.length > 0 || !stored ? Date.now() : stored.changedAt,
    deletedAt: null,
  };
  writes.push(chats.put(record, id), transaction.objectStore('texts').put(searchTextOf(after), id));
  await Promise.all([...writes, transaction.done]);
}

/** Marks a conversation as deleted, or restores it. */
export async function markDeleted(id: string, deletedAt: number | null): Promise<void> {
  const store = (await database()).transaction('chats', 'readwrite').store;
  const record = await store.get(id);
  if (record) await store.put({ ...record, deletedAt }, id);
}

/** Ids of the conversations whose messages contain a text, in any case. */
export async function findChats(text: string): Promise<ReadonlySet<string>> {
  const base = await database();
  const wanted = text.toLowerCase();
  const [keys, texts] = await Promise.all([base.getAllKeys('texts'), base.getAll('texts')]);
  return new Set(keys.filter((_, index) => texts[index]!.includes(wanted)));
}

async function purge(id: string): Promise<void> {
  const transaction = (await database()).transaction(['chats', 'messages', 'texts', 'drafts'], 'readwrite');
  await Promise.all([
    transaction.objectStore('chats').delete(id),
    transaction.objectStore('messages').delete(messagesOf(id)),
    transaction.objectStore('texts').delete(id),
    transaction.objectStore('drafts').delete(id),
    transaction.done,
  ]);
}

function messagesOf(id: string): IDBKeyRange {
  // Lists sort after strings.
  return IDBKeyRange.bound([id], [id, []]);
}
