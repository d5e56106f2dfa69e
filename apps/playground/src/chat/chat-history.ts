import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { stateFolder } from '../state-folder.js';

/** Messages that are remembered. */
const MOST_MESSAGES = 1000;
/** The file is shortened once it has this many. */
const LONGEST_FILE = 2 * MOST_MESSAGES;
/** A message may contain secrets: only its author reads it. */
const PRIVATE = { mode: 0o600 };

/** Messages of earlier chats, one JSON string a line. A file that cannot be read or written is no reason to stop a chat. */
export class ChatHistory {
  readonly #path = join(stateFolder(), 'chat-history.jsonl');

  /** Earlier messages, newest first. */
  async read(): Promise<string[]> {
    const text = await readFile(this.#path, 'utf8').catch(() => '');
    const messages = text.split('\n').flatMap(messageOf);
    const kept = messages.slice(-MOST_MESSAGES);
    if (messages.length > LONGEST_FILE) await writeFile(this.#path, linesOf(kept), PRIVATE).catch(() => {});
    return kept.reverse();
  }

  /** Remembers a message. */
  async add(message: string): Promise<void> {
    try {
      await mkdir(dirname(this.#path), { recursive: true });
      await appendFile(this.#path, linesOf([message]), PRIVATE);
    } catch {
      // The chat goes on without it.
    }
  }
}

function linesOf(messages: readonly string[]): string {
  return messages.map((message) => `${JSON.stringify(message)}\n`).join('');
}

function messageOf(line: string): string[] {
  try {
    const message: unknown = JSON.parse(line);
    return typeof message === 'string' ? [message] : [];
  } catch {
    return [];
  }
}
