import type { Conversation } from './conversation.js';
import { parseConversation, serializeConversation } from './exchange.js';

const DATABASE = 'markbase';
const STORE = 'conversations';
const KEY = 'current';

/** Stores the conversation, pictures included, in this browser, if it allows that. */
export async function keepConversation(conversation: Conversation): Promise<void> {
  await transaction('readwrite', (store) => store.put(serializeConversation(conversation), KEY)).catch(
    () => {},
  );
}

/** The stored conversation; null if there is none or it cannot be read. */
export async function keptConversation(): Promise<Conversation | null> {
  try {
    const text = await transaction<unknown>('readonly', (store) => store.get(KEY));
    return typeof text === 'string' ? parseConversation(text) : null;
  } catch {
    return null;
  }
}

async function transaction<Value>(
  mode: IDBTransactionMode,
  work: (store: IDBObjectStore) => IDBRequest<Value>,
): Promise<Value> {
  const opening = indexedDB.open(DATABASE, 1);
  opening.onupgradeneeded = () => opening.result.createObjectStore(STORE);
  const database = await settled(opening);
  try {
    return await settled(work(database.transaction(STORE, mode).objectStore(STORE)));
  } finally {
    database.close();
  }
}

function settled<Value>(request: IDBRequest<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
