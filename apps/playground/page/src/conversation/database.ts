import { type DBSchema, type IDBPDatabase, openDB } from 'idb';
import type { Attachment } from '../media/attachment.js';
import type { AnswerSettings } from '../settings/answer-settings.js';
import { type Message, newId, searchTextOf, titleOf } from './conversation.js';
import { parseConversations } from './exchange.js';

/** What the list shows of a conversation, and everything of it but its messages. */
export interface ChatRecord {
  readonly id: string;
  /** Given by the user; null = `firstWords`. */
  readonly title: string | null;
  /** Title made from the first question. */
  readonly firstWords: string;
  readonly systemPrompt: string;
  readonly settings: Partial<AnswerSettings>;
  readonly selected: Readonly<Record<string, string>>;
  /** Milliseconds since 1970. */
  readonly changedAt: number;
  /** Milliseconds since 1970; null unless deleted. It is kept for a while, so that deletion can be undone. */
  readonly deletedAt: number | null;
}

/** A message that has been written but not sent. */
export interface Draft {
  readonly text: string;
  readonly attachments: readonly Attachment[];
  /** Milliseconds since 1970. */
  readonly changedAt: number;
}

interface Schema extends DBSchema {
  chats: { key: string; value: ChatRecord };
  /** By conversation and message. Two tabs that write different messages do not disturb each other. */
  messages: { key: [string, string]; value: Message };
  /** Lower-case text of each conversation, for the search. */
  texts: { key: string; value: string };
  drafts: { key: string; value: Draft };
}

const NAME = 'markbase';
const VERSION = 2;
/** Version 1 held one conversation, as the text of a file, under one key. */
const OLD_STORE = 'conversations';
const OLD_KEY = 'current';

let opened: Promise<IDBPDatabase<Schema>> | null = null;

/**
 * The database of this browser. What version 1 held is taken over.
 *
 * @throws the browser's error, if it does not store anything
 */
export function database(): Promise<IDBPDatabase<Schema>> {
  opened ??= open().catch((error: unknown) => {
    opened = null;
    throw error;
  });
  return opened;
}

async function open(): Promise<IDBPDatabase<Schema>> {
  const found = await openDB<Schema>(NAME, VERSION, {
    async upgrade(base, _from, _to, transaction) {
      for (const name of ['chats', 'messages', 'texts', 'drafts'] as const) base.createObjectStore(name);
      const old = base as unknown as IDBPDatabase;
      if (!old.objectStoreNames.contains(OLD_STORE)) return;
      const text: unknown = await transaction.objectStore(OLD_STORE as 'chats').get(OLD_KEY);
      const [conversation] = typeof text === 'string' ? parsed(text) : [];
      // What cannot be read stays where it is.
      if (text !== undefined && !conversation) return;
      if (conversation && Object.keys(conversation.messages).length > 0) {
        const id = newId();
        const { messages, ...rest } = conversation;
        await transaction
          .objectStore('chats')
          .put(
            { ...rest, id, firstWords: titleOf(conversation), changedAt: Date.now(), deletedAt: null },
            id,
          );
        await transaction.objectStore('texts').put(searchTextOf(conversation), id);
        for (const message of Object.values(messages)) {
          await transaction.objectStore('messages').put(message, [id, message.id]);
        }
      }
      old.deleteObjectStore(OLD_STORE);
    },
    // Another tab with a newer page waits for this one.
    blocking: () => forget(),
    terminated: () => forget(),
  });
  return found;
}

function forget(): void {
  void opened?.then((base) => base.close());
  opened = null;
}

function parsed(text: string) {
  try {
    return parseConversations(text);
  } catch {
    return [];
  }
}
