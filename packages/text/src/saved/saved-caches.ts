import { InvalidArgumentError } from '@markbase/core';
import { BLOCK_TOKENS } from '@markbase/metal-runtime';
import type { ChatMessage } from '../chat/index.js';
import type { BlockStore } from '../engine/block-store.js';
import type { PrefixNode } from '../engine/prefix-tree.js';
import type { PromptRows } from '../engine/prompt.js';
import { BlockFileReader, BlockFileWriter } from './block-file.js';
import { BlockNames } from './block-names.js';
import type { BlockTransfer, NamedNode } from './block-transfer.js';
import type { CacheIdentity } from './cache-identity.js';
import { messagesFromJson, messagesToJson } from './message-json.js';

/** What `Session.save` has written. */
export interface SavedConversation {
  /** Positions whose keys and values are in the file. */
  readonly tokens: number;
  /** Size of the file. */
  readonly bytes: number;
}

/** What `TextModel.restore` has read. */
export interface RestoredConversation {
  /** The conversation, for `new Session(model, { messages })`. */
  readonly messages: ChatMessage[];
  /** Positions whose keys and values the caches hold now. */
  readonly tokens: number;
}

/** What saving needs of a model. */
export interface SavedCachesParts {
  readonly store: BlockStore;
  readonly transfer: BlockTransfer;
  /** See `DecoderConfig.windowTokens`. */
  readonly windowTokens: number;
  /** Hashes of the adapters in the order of their numbers. */
  readonly adapters: readonly string[];
  /** Called once, on first use. */
  readonly identity: () => Promise<CacheIdentity>;
}

/** Saves conversations to files, and brings them back into the caches of a model. */
export class SavedCaches {
  readonly #parts: SavedCachesParts;
  #names: Promise<{ identity: CacheIdentity; names: BlockNames }> | null = null;

  constructor(parts: SavedCachesParts) {
    this.#parts = parts;
  }

  /** The identity of the model, and the names of its blocks. */
  names(): Promise<{ identity: CacheIdentity; names: BlockNames }> {
    const { identity, adapters } = this.#parts;
    this.#names ??= identity().then((own) => ({ identity: own, names: new BlockNames(own, adapters) }));
    return this.#names;
  }

  /** Writes what the caches hold of a conversation. @param rows the conversation; null if it has no messages */
  async save(
    file: string,
    messages: readonly ChatMessage[],
    rows: PromptRows | null,
  ): Promise<SavedConversation> {
    const { identity, names } = await this.names();
    const { store, transfer, windowTokens } = this.#parts;
    const { path, length } = rows ? store.known(rows, rows.end, false) : { path: [], length: 0 };
    const writer = await BlockFileWriter.create(file);
    try {
      const first = Math.floor(firstSeen(length, windowTokens) / BLOCK_TOKENS);
      const named = namedNodes(path, names, names.root(rows?.salt ?? ''));
      const blocks = await transfer.write(named, names, writer, first);
      const bytes = await writer.finish({ identity, blocks, conversation: messagesToJson(messages) });
      const tokens = blocks.reduce((sum, { keys }) => sum + keys.length, 0);
      return { tokens: Math.min(tokens, length), bytes };
    } catch (error) {
      await writer.abandon();
      throw error;
    }
  }

  /** See `TextModel.restore`. */
  async restore(file: string, signal?: AbortSignal): Promise<RestoredConversation> {
    const { identity, names } = await this.names();
    const reader = await BlockFileReader.open(file);
    try {
      const { index } = reader;
      checkIdentity(file, index.identity, identity);
      const isSameDevice = index.identity.device === identity.device;
      const wanted = index.blocks.map((block) => {
        const keys = names.keysOf(block.keys);
        if (!keys) throw wrongModel(file, 'the adapters that it was computed with', 'another one');
        const { visibleEnds, exactCount, full, sliding } = block;
        return {
          content: { keys, visibleEnds, exactCount: isSameDevice ? exactCount : 0 },
          needsSliding: sliding !== null,
          read: async () => ({
            full: await reader.read(full),
            sliding: sliding && (await reader.read(sliding)),
          }),
        };
      });
      const count = await this.#parts.transfer.restore('', wanted, signal);
      const tokens = wanted.slice(0, count).reduce((sum, { content }) => sum + content.keys.length, 0);
      return { messages: messagesFromJson(index.conversation ?? []), tokens };
    } finally {
      await reader.close();
    }
  }
}

/** First position that a sliding layer sees from position `length`. */
export function firstSeen(length: number, windowTokens: number): number {
  return Math.max(0, length - windowTokens + 1);
}

/** The names of a chain of blocks that begins after the one with the name `root`. */
export function namedNodes(path: readonly PrefixNode[], names: BlockNames, root: string): NamedNode[] {
  let parent = root;
  return path.map((node) => {
    const name = names.name(parent, node);
    const named = { node, name, parent };
    parent = name;
    return named;
  });
}

function checkIdentity(file: string, saved: CacheIdentity, own: CacheIdentity): void {
  if (saved.model !== own.model) throw wrongModel(file, 'this model', 'another model');
  if (saved.precision !== own.precision) {
    throw wrongModel(file, `precision ${own.precision}`, `precision ${saved.precision}`);
  }
  if (saved.blockTokens === own.blockTokens && String(saved.blockBytes) === String(own.blockBytes)) return;
  throw wrongModel(file, 'caches of the same form', 'caches of another form');
}

function wrongModel(file: string, expected: string, received: string): InvalidArgumentError {
  return new InvalidArgumentError({
    argument: 'file',
    expected: `${file} to be saved with ${expected}`,
    received,
    hint: 'Load the model with the checkpoint, adapters and precision that the conversation was saved with',
  });
}
