import { BLOCK_TOKENS } from '@markbase/metal-runtime';
import { adaptedKey } from './adapter-rows.js';
import type { PrefixNode } from './prefix-tree.js';
import type { PositionKey, PromptRows } from './prompt.js';

/** The number in each pair of a table that names a block of full layers. */
export const FULL = 0;
/** The number in each pair of a table that names a block of sliding layers. */
export const SLIDING = 1;
const KINDS = 2;

/** Content of positions, and how it can be computed again. */
type RowsOf = Pick<PromptRows, 'keys' | 'visibleEnd' | 'begin' | 'tokens' | 'layerTokens' | 'soft'>;

/** A sequence: its positions, their tokens and media, and the blocks of the caches that hold them. */
export class Sequence {
  /** Sequences are numbered in the order in which they were taken. */
  readonly id: number;
  /** Number of the adapter that computes the next token; see `PromptRows.adapter`. */
  adapter: number | undefined;
  /** What may be taken over from known prefixes while a prompt is computed; null: nothing. */
  readonly reuse: 'any' | 'exact' | null;
  /** What the contents depend on, apart from tokens and media. */
  readonly salt: string;
  /** Number of positions that were taken over from known prefixes. */
  reusedTokens = 0;
  /** The known prefix that consists of the whole blocks. */
  node: PrefixNode;
  /** Blocks after `node` are not known to others. */
  isAlone = false;
  /** Number of blocks that the table names. */
  blockCount = 0;
  /** Sliding layers no longer hold blocks before this one. */
  firstSliding = 0;
  #table = new Int32Array(2 * KINDS);
  #exactEnd = 0;
  readonly #keys: PositionKey[] = [];
  readonly #visibleEnds: number[] = [];
  readonly #tokens: number[] = [];
  readonly #layerTokens: number[] = [];
  readonly #soft: (Float32Array | null)[] = [];
  /** Positions that were given up for other sequences and are to be computed again. */
  #lost: PromptRows | null = null;

  constructor(options: { id: number; root: PrefixNode; reuse?: 'any' | 'exact' | null; salt?: string }) {
    const { id, root, reuse = null, salt = '' } = options;
    this.id = id;
    this.node = root;
    this.reuse = reuse;
    this.salt = salt;
  }

  /** Number of positions of the sequence; the next token goes to this position. */
  get length(): number {
    return this.#lost?.end ?? this.#keys.length;
  }

  /** Number of positions whose keys and values are in the caches. */
  get heldTokens(): number {
    return this.#keys.length;
  }

  /** The rows to compute again before the sequence can go on; null if the caches hold all of it. */
  get lost(): PromptRows | null {
    return this.#lost;
  }

  /** For positions 0 to 31 and so on, a block of full layers and one of sliding layers; see `StepInput.tables`. */
  get table(): Int32Array {
    return this.#table.subarray(0, this.blockCount * KINDS);
  }

  /** The block of a kind that holds positions from `index` · 32 on. */
  block(kind: number, index: number): number {
    return this.#table[index * KINDS + kind]!;
  }

  /** Names the next block of each kind. */
  pushBlocks(full: number, sliding: number): void {
    if (this.#table.length < (this.blockCount + 1) * KINDS) {
      const larger = new Int32Array(this.#table.length * 2);
      larger.set(this.#table);
      this.#table = larger;
    }
    this.#table[this.blockCount * KINDS + FULL] = full;
    this.#table[this.blockCount * KINDS + SLIDING] = sliding;
    this.blockCount++;
  }

  /** Names another block for positions from `index` · 32 on. */
  setBlock(kind: number, index: number, block: number): void {
    this.#table[index * KINDS + kind] = block;
  }

  /**
   * Adds positions [begin, end) of `rows`, which are in the caches now.
   *
   * @param isExact they hold the same bits as a prompt with these tokens would compute
   */
  add(rows: RowsOf, end: number, isExact = true): void {
    if (isExact && this.#exactEnd === this.#keys.length) this.#exactEnd = end;
    const { keys, visibleEnd, tokens, layerTokens, soft, begin } = rows;
    const first = this.#keys.length - begin;
    append(this.#keys, keys, first, end - begin);
    append(this.#visibleEnds, visibleEnd, first, end - begin);
    append(this.#tokens, tokens, first, end - begin);
    append(this.#layerTokens, layerTokens, first, end - begin);
    append(this.#soft, soft, first, end - begin);
    if (this.#lost && this.#keys.length >= this.#lost.end) this.#lost = null;
  }

  /**
   * Adds a token, whose keys and values are in the caches now.
   *
   * @param isExact they hold the same bits as a prompt would compute
   */
  addToken(token: number, isExact: boolean): void {
    const position = this.#keys.length;
    if (isExact && this.#exactEnd === position) this.#exactEnd = position + 1;
    this.#keys.push(adaptedKey(token, this.adapter));
    this.#visibleEnds.push(position);
    this.#tokens.push(token);
    this.#layerTokens.push(token);
    this.#soft.push(null);
  }

  /** What the positions of block `index` hold. */
  content(index: number): { keys: PositionKey[]; visibleEnds: number[]; exactCount: number } {
    const begin = index * BLOCK_TOKENS;
    const keys = this.#keys.slice(begin, begin + BLOCK_TOKENS);
    const exactCount = Math.min(Math.max(this.#exactEnd - begin, 0), keys.length);
    return { keys, visibleEnds: this.#visibleEnds.slice(begin, begin + BLOCK_TOKENS), exactCount };
  }

  /**
   * Drops all positions after their blocks were returned.
   *
   * @param isLost they are to be computed again; the length stays
   */
  reset(root: PrefixNode, isLost: boolean): void {
    if (!isLost) {
      this.#lost = null;
      this.reusedTokens = 0;
    } else if (this.#keys.length > 0) {
      this.#lost ??= this.#rows();
    }
    for (const list of [this.#keys, this.#visibleEnds, this.#tokens, this.#layerTokens, this.#soft])
      list.length = 0;
    this.node = root;
    this.isAlone = false;
    this.blockCount = 0;
    this.firstSliding = 0;
    this.#exactEnd = 0;
  }

  #rows(): PromptRows {
    return {
      begin: 0,
      end: this.#keys.length,
      tokens: Int32Array.from(this.#tokens),
      layerTokens: Int32Array.from(this.#layerTokens),
      visibleEnd: Int32Array.from(this.#visibleEnds),
      keys: [...this.#keys],
      soft: [...this.#soft],
      ...(this.adapter !== undefined && { adapter: this.adapter }),
    };
  }
}

/** Appends elements [first, end) of an array. */
function append<Element>(to: Element[], from: ArrayLike<Element>, first: number, end: number): void {
  for (let index = first; index < end; index++) to.push(from[index]!);
}
