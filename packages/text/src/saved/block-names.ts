import { createHash } from 'node:crypto';
import { type BlockContent, nameOf } from '../engine/prefix-tree.js';
import type { PositionKey } from '../engine/prompt.js';
import type { CacheIdentity } from './cache-identity.js';

const ADAPTED = /^adapter (\w+):/;

/**
 * Names of blocks in files: hashes of the model, and of everything up to the end of the block. Adapters are named by their
 * content, because their numbers depend on how a model was loaded.
 */
export class BlockNames {
  readonly #identity: string;
  readonly #adapters: readonly string[];

  /** @param adapters hashes of the adapters in the order of their numbers */
  constructor(identity: CacheIdentity, adapters: readonly string[]) {
    this.#identity = JSON.stringify(identity);
    this.#adapters = adapters;
  }

  /** Name of the empty prefix. */
  root(salt: string): string {
    return hashed(this.#identity, salt);
  }

  /** Name of a block after another. */
  name(parent: string, content: BlockContent): string {
    return hashed(parent, nameOf({ ...content, keys: this.savedKeys(content.keys) }));
  }

  /** Keys in the form of files. */
  savedKeys(keys: readonly PositionKey[]): PositionKey[] {
    return keys.map((key) => {
      if (typeof key === 'number') return key;
      return key.replace(ADAPTED, (_, number: string) => `adapter ${this.#adapters[Number(number) - 1]}:`);
    });
  }

  /** Keys of a file; null if they belong to an adapter that the model does not have. */
  keysOf(saved: readonly PositionKey[]): PositionKey[] | null {
    const keys: PositionKey[] = [];
    for (const key of saved) {
      const [prefix, hash] = (typeof key === 'string' && ADAPTED.exec(key)) || [null, null];
      const number = hash === null ? 0 : this.#adapters.indexOf(hash!) + 1;
      if (prefix !== null && number === 0) return null;
      keys.push(prefix === null ? key : `adapter ${number}:${String(key).slice(prefix.length)}`);
    }
    return keys;
  }
}

function hashed(...parts: readonly string[]): string {
  return createHash('sha256').update(parts.join('\n')).digest('hex').slice(0, 32);
}
