import type { Checkpoint } from '@markbase/loader';
import type { Device } from '@markbase/metal-runtime';
import type { ChatMessage } from '../chat/index.js';
import type { BlockStore } from '../engine/block-store.js';
import type { PromptRows } from '../engine/prompt.js';
import type { StepLock } from '../engine/step-lock.js';
import type { TextModelSettings } from '../engine/text-model-options.js';
import type { DecoderConfig } from '../model/config.js';
import type { Decoder } from '../model/layer.js';
import { BlockTransfer } from './block-transfer.js';
import { CacheBlocks } from './cache-blocks.js';
import { cacheIdentity } from './cache-identity.js';
import { type RestoredConversation, SavedCaches, type SavedConversation } from './saved-caches.js';
import { SavedPrefixes } from './saved-prefixes.js';

/** The parts of a model whose caches are saved. */
export interface ModelCachesParts {
  readonly checkpoint: Checkpoint;
  readonly device: Device;
  readonly config: DecoderConfig;
  readonly settings: TextModelSettings;
  readonly decoder: Decoder;
  readonly store: BlockStore;
  readonly lock: StepLock;
}

/** What a model writes of its caches to files, and reads again. */
export class ModelCaches {
  readonly #caches: SavedCaches;
  readonly #prefixes: SavedPrefixes | null;

  constructor({ checkpoint, device, config, settings, decoder, store, lock }: ModelCachesParts) {
    const blocks = new CacheBlocks(device, decoder);
    const parts = {
      store,
      transfer: new BlockTransfer(store, lock, blocks),
      windowTokens: config.windowTokens,
      adapters: decoder.adapters?.hashes ?? [],
      identity: () => cacheIdentity(checkpoint, device, settings, blocks),
    };
    this.#caches = new SavedCaches(parts);
    this.#prefixes = settings.savedPrefixes && new SavedPrefixes(parts, this.#caches, settings.savedPrefixes);
  }

  /** See `TextModel.save`. */
  save(file: string, messages: readonly ChatMessage[], rows: PromptRows | null): Promise<SavedConversation> {
    return this.#caches.save(file, messages, rows);
  }

  /** See `TextModel.restore`. */
  restore(file: string, signal?: AbortSignal): Promise<RestoredConversation> {
    return this.#caches.restore(file, signal);
  }

  /** Brings what the files of `savedPrefixes` hold of a prompt into the caches. */
  async load(prompt: PromptRows, reuse: 'any' | 'exact', signal?: AbortSignal): Promise<void> {
    await this.#prefixes?.load(prompt, reuse, signal);
  }

  /** See `TextModel.finishSaving`. */
  async finish(): Promise<void> {
    await this.#prefixes?.finish();
  }
}
