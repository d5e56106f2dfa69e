import { BLOCK_TOKENS } from '@markbase/metal-runtime';
import { BlockPool } from './block-pool.js';
import { type BlockContent, contentOf, type PrefixNode, PrefixTree } from './prefix-tree.js';
import { endOfImages, type PromptRows } from './prompt.js';
import { FULL, Sequence, SLIDING } from './sequence.js';

/** Sizes of the caches. */
export interface StoreSizes {
  /** Number of blocks of full layers. */
  readonly fullBlocks: number;
  /** Number of blocks of sliding layers. */
  readonly slidingBlocks: number;
  /** Number of keys that a query of a sliding layer sees, including its own. */
  readonly windowTokens: number;
}

/** The first `count` positions of a block, to be copied into a block of the sequence. */
export interface BlockCopy {
  readonly node: PrefixNode;
  readonly rows: PromptRows;
  readonly begin: number;
  readonly end: number;
}

/** A prompt that is being computed into a sequence. */
interface PrefillContent {
  readonly sequence: Sequence;
  readonly rows: PromptRows;
}

/** Computing a shorter piece is as fast as copying it. */
const SMALLEST_COPY_TOKENS = 6;

/** Gives the blocks of the caches to sequences, and shares those of known prefixes. */
export class BlockStore {
  readonly pools: readonly [BlockPool, BlockPool];
  /** Called with the longest known prefix of what a released sequence held. */
  onGive: ((node: PrefixNode) => void) | null = null;
  readonly #tree: PrefixTree;
  readonly #windowTokens: number;

  constructor({ fullBlocks, slidingBlocks, windowTokens }: StoreSizes) {
    this.pools = [new BlockPool(fullBlocks), new BlockPool(slidingBlocks)];
    this.#tree = new PrefixTree(this.pools);
    this.#windowTokens = windowTokens;
  }

  /** The prefix without positions. */
  root(salt: string): PrefixNode {
    return this.#tree.root(salt);
  }

  /** The salt of a prefix without positions. */
  saltOf(root: PrefixNode): string {
    return this.#tree.saltOf(root);
  }

  /** Number of blocks that a sequence takes when it grows to `end` positions. */
  missingBlocks(sequence: Sequence, end: number): number {
    return Math.max(0, Math.ceil(end / BLOCK_TOKENS) - sequence.blockCount);
  }

  /**
   * True if the blocks that several sequences take are free, or only belong to known prefixes. A sequence holds those of
   * its window in sliding layers.
   */
  hasRoom(counts: readonly number[]): boolean {
    const window = Math.ceil(this.#windowTokens / BLOCK_TOKENS) + 1;
    return this.pools.every((pool, kind) => {
      const taken = counts.map((count) => (kind === SLIDING ? Math.min(count, window) : count));
      return pool.freeCount + pool.idleCount >= taken.reduce((sum, count) => sum + count, 0);
    });
  }

  /** Gives up known prefixes until `count` blocks of each kind are free, as far as possible: once for all sequences of a step. */
  prepare(count: number): void {
    if (this.pools.some(({ freeCount }) => freeCount < count)) this.#tree.evict(count);
  }

  /** Takes the blocks for the positions of a sequence up to `end`; false, and nothing is taken, if there are too few. */
  reserve(sequence: Sequence, end: number): boolean {
    const count = this.missingBlocks(sequence, end);
    if (count === 0) return true;
    const [full, sliding] = this.pools;
    this.prepare(count);
    if (full.freeCount < count || sliding.freeCount < count) return false;
    for (let index = 0; index < count; index++) sequence.pushBlocks(full.take()!, sliding.take()!);
    return true;
  }

  /** Makes whole blocks known as prefixes, and drops sliding blocks before the window of the next position. */
  settle(sequence: Sequence): void {
    const length = sequence.heldTokens;
    for (
      let index = wholeBlocks(sequence.node);
      !sequence.isAlone && (index + 1) * BLOCK_TOKENS <= length;
      index++
    ) {
      this.#learn(sequence, index);
    }
    const firstSeen = Math.max(0, length - this.#windowTokens + 1);
    for (let index = sequence.firstSliding; (index + 1) * BLOCK_TOKENS <= firstSeen; index++) {
      this.#dropSliding(sequence, index);
      sequence.firstSliding = index + 1;
    }
  }

  /**
   * Takes over blocks of known prefixes for a prompt, as far as they follow what the sequence holds. At least the last
   * row remains to be computed, and an image whose rows see each other is never split.
   *
   * @param limit end of the positions that may be taken over
   * @param isExact only positions that hold the bits that a prompt would compute
   * @param canCopy a piece of a block may be copied, which takes a step
   * @returns a piece of a block to be copied; null if there is none
   */
  extend(
    sequence: Sequence,
    rows: PromptRows,
    limit: number,
    isExact: boolean,
    canCopy = true,
  ): BlockCopy | null {
    const held = sequence.heldTokens;
    if (rows.begin > 0 || !isAtPrefix(sequence)) return null;
    const { path, length } = this.#find(sequence, rows, limit, isExact, canCopy);
    // Positions from `length` on see the window before it, which is not there if less than `path` is taken over.
    const whole = Math.floor(length / BLOCK_TOKENS) - held / BLOCK_TOKENS;
    const part = path[whole];
    for (const node of path.slice(0, whole)) this.#join(sequence, node);
    countReused(sequence, whole * BLOCK_TOKENS);
    if (whole > 0) sequence.add(rows, held + whole * BLOCK_TOKENS, path.slice(0, whole).every(isWhollyExact));
    this.settle(sequence);
    const count = length % BLOCK_TOKENS;
    if (!part || count === 0) return null;
    this.#tree.use(part);
    const takeOver = (): null => {
      this.#takeOver(sequence, part);
      countReused(sequence, count);
      sequence.add(rows, length, part.exactCount >= count);
      return null;
    };
    if (this.#isFree(part) && count === part.keys.length) return takeOver();
    const copy = { node: part, rows, begin: length - count, end: length };
    this.pools[FULL].hold(part.full);
    this.pools[SLIDING].hold(part.sliding!);
    if (this.reserve(sequence, length)) return copy;
    this.endCopy(sequence, copy, false);
    // Without room for a copy, the rest of the block is given up.
    if (this.#isFree(part)) return takeOver();
    this.give(sequence, sequence.lost !== null);
    return null;
  }

  /** Takes over whole blocks that other sequences have computed since. */
  extendWhole(sequence: Sequence, rows: PromptRows): void {
    const { reuse } = sequence;
    if (reuse === null || sequence.lost) return;
    const limit = Math.floor((rows.end - 1) / BLOCK_TOKENS) * BLOCK_TOKENS;
    this.extend(sequence, rows, limit, reuse === 'exact', false);
  }

  /** True if a step that continues `other` computes the block that `job` needs next, too. */
  computesNext(other: PrefillContent, job: PrefillContent): boolean {
    const { sequence, rows } = job;
    const begin = sequence.heldTokens;
    const end = begin + BLOCK_TOKENS;
    if (sequence.reuse === null || sequence.lost || rows.begin > 0 || other.rows.begin > 0) return false;
    if (other.sequence.node !== sequence.node || other.sequence.heldTokens !== begin || !isAtPrefix(sequence))
      return false;
    if (end >= rows.end || end > other.rows.end) return false;
    for (let at = begin; at < end; at++) {
      if (rows.keys[at] !== other.rows.keys[at] || rows.visibleEnd[at] !== other.rows.visibleEnd[at])
        return false;
    }
    return true;
  }

  /** Ends a copy; `isDone`: the sequence now holds its positions. */
  endCopy(sequence: Sequence, { node, rows, begin, end }: BlockCopy, isDone: boolean): void {
    this.pools[FULL].drop(node.full);
    this.pools[SLIDING].drop(node.sliding!);
    if (!isDone) return;
    countReused(sequence, end - begin);
    sequence.add(rows, end, node.exactCount >= end - begin);
  }

  /** Returns the blocks of a sequence; what they hold stays known until the blocks are needed. */
  give(sequence: Sequence, isLost = false): void {
    const { heldTokens } = sequence;
    const last = Math.floor(heldTokens / BLOCK_TOKENS);
    this.settle(sequence);
    const hasTail = heldTokens % BLOCK_TOKENS > 0 && !sequence.isAlone;
    const node = hasTail ? this.#learn(sequence, last) : sequence.node;
    for (let index = 0; index < sequence.blockCount; index++) {
      this.pools[FULL].drop(sequence.block(FULL, index));
      if (index >= sequence.firstSliding) this.#dropSliding(sequence, index);
    }
    sequence.reset(this.root(sequence.salt), isLost);
    if (!isLost) this.onGive?.(node);
  }

  /** The known block after a prefix; see `PrefixTree.child`. */
  child(node: PrefixNode, content: BlockContent, isExact: boolean): PrefixNode | undefined {
    return this.#tree.child(node, content, isExact);
  }

  /** The known blocks that a new sequence would take over for a prompt, and the positions of it; see `extend`. */
  known(rows: PromptRows, limit: number, isExact: boolean): { path: readonly PrefixNode[]; length: number } {
    const sequence = new Sequence({ id: -1, root: this.root(rows.salt ?? '') });
    const { path, length } = this.#find(sequence, rows, limit, isExact, true);
    return { path: path.slice(0, Math.ceil(length / BLOCK_TOKENS)), length };
  }

  /**
   * Takes blocks for `count` known prefixes that are about to be written, of sliding layers for the last `windowCount`
   * of them; null if sequences hold too many.
   */
  takeSaved(count: number, windowCount: number): { full: number[]; sliding: number[] } | null {
    const [full, sliding] = this.pools;
    if (full.freeCount < count || sliding.freeCount < windowCount) this.#tree.evict(count);
    if (full.freeCount < count || sliding.freeCount < windowCount) return null;
    return {
      full: Array.from({ length: count }, () => full.take()!),
      sliding: Array.from({ length: windowCount }, () => sliding.take()!),
    };
  }

  /** Makes a block known after it was written. The caller holds it, or the one that was known before. */
  learnSaved(parent: PrefixNode, content: BlockContent, full: number, sliding: number | null): PrefixNode {
    const node = this.#tree.add(parent, content, full, sliding);
    this.#holdKnown(node, full, sliding);
    return node;
  }

  /**
   * Makes block `index` known. If its content is known already, the sequence goes on with the known blocks, which hold
   * the same bits; bits that only a token's step computes may differ, so that such a sequence stays by itself.
   */
  #learn(sequence: Sequence, index: number): PrefixNode {
    const full = sequence.block(FULL, index);
    const sliding = index >= sequence.firstSliding ? sequence.block(SLIDING, index) : null;
    const content = sequence.content(index);
    const isExact = content.exactCount === content.keys.length;
    const node = this.#tree.add(sequence.node, content, full, sliding);
    if (content.keys.length < BLOCK_TOKENS) return node;
    if (node.full !== full && !isExact) {
      sequence.isAlone = true;
      return node;
    }
    sequence.node = node;
    this.#holdKnown(node, full, sliding);
    sequence.setBlock(FULL, index, node.full);
    if (sliding !== null) sequence.setBlock(SLIDING, index, node.sliding!);
    return node;
  }

  /** A holder of blocks with the content of a known prefix holds the known ones from now on. */
  #holdKnown(node: PrefixNode, full: number, sliding: number | null): void {
    if (node.full !== full) {
      this.pools[FULL].hold(node.full);
      this.pools[FULL].drop(full);
    }
    if (sliding === null || node.sliding === sliding) return;
    if (node.sliding === null) {
      node.sliding = sliding;
      this.pools[SLIDING].keep(sliding);
      return;
    }
    this.pools[SLIDING].hold(node.sliding);
    this.pools[SLIDING].drop(sliding);
  }

  #dropSliding(sequence: Sequence, index: number): void {
    this.pools[SLIDING].drop(sequence.block(SLIDING, index));
    sequence.setBlock(SLIDING, index, 0);
  }

  /** Shares the whole block of a prefix. A sliding block that was given up is before the window. */
  #join(sequence: Sequence, node: PrefixNode): void {
    this.pools[FULL].hold(node.full);
    if (node.sliding !== null) {
      this.pools[SLIDING].hold(node.sliding);
    } else {
      for (let index = sequence.firstSliding; index < sequence.blockCount; index++)
        this.#dropSliding(sequence, index);
      sequence.firstSliding = sequence.blockCount + 1;
    }
    sequence.pushBlocks(node.full, node.sliding ?? 0);
    sequence.node = node;
    this.#tree.use(node);
  }

  /** True if no other prefix begins with this one, and no sequence holds its last block. */
  #isFree({ full, sliding, children }: PrefixNode): boolean {
    if (children.size > 0 || sliding === null) return false;
    return this.pools[FULL].isIdle(full) && this.pools[SLIDING].isIdle(sliding);
  }

  /** True if `count` positions of the last block of a prefix can be taken over, or are to be copied. */
  #isUsable(node: PrefixNode, count: number, canCopy: boolean): boolean {
    if (this.#isFree(node) && count === node.keys.length) return true;
    return canCopy && count >= SMALLEST_COPY_TOKENS && node.sliding !== null;
  }

  /** Takes the last block of a prefix, which is no longer known then. */
  #takeOver(sequence: Sequence, node: PrefixNode): void {
    this.pools[FULL].hold(node.full);
    this.pools[SLIDING].hold(node.sliding!);
    this.#tree.remove(node);
    sequence.pushBlocks(node.full, node.sliding!);
  }

  /** The longest known continuation of a sequence, and the length that it reaches. */
  #find(sequence: Sequence, rows: PromptRows, limit: number, isExact: boolean, canCopy: boolean) {
    const path: PrefixNode[] = [];
    const held = sequence.heldTokens;
    let node = sequence.node;
    let length = held;
    while (length < limit) {
      const content = contentOf(rows, length, Math.min(limit, length + BLOCK_TOKENS));
      const isWhole = content.keys.length === BLOCK_TOKENS;
      const whole = isWhole ? this.#tree.child(node, content, isExact) : undefined;
      const closest = whole ? null : this.#tree.closest(node, content, isExact);
      node = whole ?? closest?.child ?? node;
      if (whole || closest) path.push(node);
      length += whole ? BLOCK_TOKENS : (closest?.count ?? 0);
      if (!whole) break;
    }
    for (;;) {
      length = Math.max(held, endOfImages(rows, length));
      const gap = this.#lastGap(sequence, path, length);
      const count = length % BLOCK_TOKENS;
      const part = path[Math.floor((length - held) / BLOCK_TOKENS)];
      if (gap !== null) length = Math.max(held, gap * BLOCK_TOKENS);
      else if (count > 0 && !this.#isUsable(part!, count, canCopy)) length -= count;
      else return { path, length };
    }
  }

  /** The last block that a position at `length` sees in sliding layers and that was given up; null if there is none. */
  #lastGap(sequence: Sequence, path: readonly PrefixNode[], length: number): number | null {
    const held = sequence.heldTokens / BLOCK_TOKENS;
    const first = Math.floor(Math.max(0, length - this.#windowTokens + 1) / BLOCK_TOKENS);
    for (let index = Math.ceil(length / BLOCK_TOKENS) - 1; index >= Math.max(first, held); index--) {
      if (path[index - held]!.sliding === null) return index;
    }
    return null;
  }
}

/** Number of blocks of a prefix whose blocks are all whole. */
function wholeBlocks({ depth }: PrefixNode): number {
  return depth + 1;
}

/** True if all positions that a sequence holds are a known prefix. */
function isAtPrefix({ node, heldTokens, isAlone }: Sequence): boolean {
  return !isAlone && wholeBlocks(node) * BLOCK_TOKENS === heldTokens;
}

function isWhollyExact({ exactCount, keys }: PrefixNode): boolean {
  return exactCount === keys.length;
}

/** A sequence that was set aside only gets back what it held. */
function countReused(sequence: Sequence, tokens: number): void {
  if (sequence.lost === null) sequence.reusedTokens += tokens;
}
