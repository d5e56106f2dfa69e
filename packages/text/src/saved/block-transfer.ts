import type { BlockStore } from '../engine/block-store.js';
import type { BlockContent, PrefixNode } from '../engine/prefix-tree.js';
import { FULL, SLIDING } from '../engine/sequence.js';
import type { StepLock } from '../engine/step-lock.js';
import type { BlockFileWriter, SavedBlock } from './block-file.js';
import type { BlockNames } from './block-names.js';
import type { CacheBlocks } from './cache-blocks.js';

/** A block that is to be brought into the caches. */
export interface WantedBlock {
  readonly content: BlockContent;
  /** Whether later positions see its sliding layers. */
  readonly needsSliding: boolean;
  /** Reads its bytes; null if there is no file of it, because the caches hold it. */
  readonly read: (() => Promise<BlockBytes>) | null;
}

/** The bytes of a block. */
export interface BlockBytes {
  readonly full: Uint8Array;
  /** Null if later positions do not see it. */
  readonly sliding: Uint8Array | null;
}

/** Bytes that are copied while no step runs: about a millisecond. */
const PIECE_BYTES = 4 * 2 ** 20;

/** Copies known prefixes between the caches and files, piece by piece, so that steps wait for no more than one piece. */
export class BlockTransfer {
  readonly #store: BlockStore;
  readonly #lock: StepLock;
  readonly #blocks: CacheBlocks;

  constructor(store: BlockStore, lock: StepLock, blocks: CacheBlocks) {
    this.#store = store;
    this.#lock = lock;
    this.#blocks = blocks;
  }

  /** Bytes of some known blocks in a file. */
  bytesOf(nodes: readonly PrefixNode[]): number {
    const [full, sliding] = this.#blocks.blockBytes;
    return nodes.reduce((sum, node) => sum + full + (node.sliding === null ? 0 : sliding), 0);
  }

  /**
   * Writes adjacent blocks of a prefix, up to the first one that was given up meanwhile.
   *
   * @param named the blocks, each with its name and that of the one before
   * @param firstSliding index in `named` of the first block whose sliding layers are written
   */
  async write(
    named: readonly NamedNode[],
    names: BlockNames,
    writer: BlockFileWriter,
    firstSliding = 0,
  ): Promise<SavedBlock[]> {
    const saved: SavedBlock[] = [];
    const count = this.#pieceBlocks();
    for (let first = 0; first === saved.length && first < named.length; first += count) {
      const piece = named.slice(first, first + count);
      const { full, sliding } = await this.#lock.run(async () => this.#read(piece, firstSliding - first));
      for (const [index, bytes] of full.entries()) {
        const { node, name, parent } = piece[index]!;
        const slidingBytes = sliding.get(index);
        saved.push({
          name,
          parent,
          keys: names.savedKeys(node.keys),
          visibleEnds: node.visibleEnds,
          exactCount: node.exactCount,
          full: await writer.append(bytes),
          sliding: slidingBytes ? await writer.append(slidingBytes) : null,
        });
      }
    }
    return saved;
  }

  /**
   * Brings adjacent blocks into the caches, the first of them after the empty prefix, until sequences hold too much.
   *
   * @returns the number of blocks that the caches hold now
   * @throws the errors of `WantedBlock.read`, after those before it were brought in
   */
  async restore(salt: string, wanted: readonly WantedBlock[], signal?: AbortSignal): Promise<number> {
    const held: (() => void)[] = [];
    const hold = (kind: 0 | 1, block: number) => held.push(() => this.#store.pools[kind].drop(block));
    let node = this.#store.root(salt);
    let done = 0;
    try {
      while (done < wanted.length) {
        signal?.throwIfAborted();
        const next = this.#known(node, wanted[done]!);
        if (next) {
          this.#store.pools[FULL].hold(next.full);
          hold(FULL, next.full);
          if (next.sliding !== null) {
            this.#store.pools[SLIDING].hold(next.sliding);
            hold(SLIDING, next.sliding);
          }
          node = next;
          done++;
          continue;
        }
        const end = wanted.findIndex(({ read }, index) => index >= done && read === null);
        const piece = wanted.slice(done, Math.min(done + this.#pieceBlocks(), end < 0 ? wanted.length : end));
        if (piece.length === 0) return done;
        const bytes = await Promise.all(piece.map(({ read }) => read!()));
        const last = await this.#lock.run(async () => this.#bring(node, piece, bytes, hold));
        if (!last) return done;
        node = last;
        done += piece.length;
      }
      return done;
    } finally {
      for (const drop of held) drop();
    }
  }

  #pieceBlocks(): number {
    const [full, sliding] = this.#blocks.blockBytes;
    return Math.max(1, Math.floor(PIECE_BYTES / (full + sliding)));
  }

  /** The bytes of blocks up to the first one that was given up; those of sliding layers by index. */
  #read(
    piece: readonly NamedNode[],
    firstSliding: number,
  ): { full: Uint8Array[]; sliding: Map<number, Uint8Array> } {
    const end = piece.findIndex(({ node }) => !node.isKnown);
    const nodes = piece.slice(0, end < 0 ? piece.length : end).map(({ node }) => node);
    const full = this.#blocks.read(
      FULL,
      nodes.map((node) => node.full),
    );
    const indices = [...nodes.keys()].filter(
      (index) => index >= firstSliding && nodes[index]!.sliding !== null,
    );
    const sliding = this.#blocks.read(
      SLIDING,
      indices.map((index) => nodes[index]!.sliding!),
    );
    return { full, sliding: new Map(indices.map((index, order) => [index, sliding[order]!])) };
  }

  #known(node: PrefixNode, { content, needsSliding }: WantedBlock): PrefixNode | null {
    const isExact = content.exactCount === content.keys.length;
    const known = this.#store.child(node, content, isExact);
    return known && !(needsSliding && known.sliding === null) ? known : null;
  }

  /** Returns the last of the blocks, which are known then; null if there is no room for them. */
  #bring(
    parent: PrefixNode,
    piece: readonly WantedBlock[],
    bytes: readonly BlockBytes[],
    hold: (kind: 0 | 1, block: number) => void,
  ): PrefixNode | null {
    const slidings = bytes.flatMap(({ sliding }) => (sliding ? [sliding] : []));
    const taken = this.#store.takeSaved(piece.length, slidings.length);
    if (!taken) return null;
    const { full, sliding } = taken;
    try {
      this.#blocks.write(
        FULL,
        full,
        bytes.map((block) => block.full),
      );
      this.#blocks.write(SLIDING, sliding, slidings);
    } catch (error) {
      for (const block of full) this.#store.pools[FULL].drop(block);
      for (const block of sliding) this.#store.pools[SLIDING].drop(block);
      throw error;
    }
    let node = parent;
    let nextSliding = 0;
    for (const [index, { content }] of piece.entries()) {
      const own = bytes[index]!.sliding ? sliding[nextSliding++]! : null;
      node = this.#store.learnSaved(node, content, full[index]!, own);
      hold(FULL, node.full);
      if (own !== null) hold(SLIDING, node.sliding!);
    }
    return node;
  }
}

/** A known block with its name and that of the one before it. */
export interface NamedNode {
  readonly node: PrefixNode;
  readonly name: string;
  readonly parent: string;
}
