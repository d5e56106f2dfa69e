import { check } from './check.js';

/** Positions of a block of a cache; MARKBASE_BLOCK_TOKENS of kernels/cache_block.h. */
export const BLOCK_TOKENS = 32;

/** Numbers in a table per block of positions: for the caches of full layers and of sliding layers. */
const KINDS = 2;

/** What a step must know of the caches of one kind of layer. */
export interface CacheLimits {
  readonly blockCount: number;
  /** Maximum number of positions of a sequence without a table; later ones overwrite earlier ones. */
  readonly capacityTokens: number;
  /** Null = full attention. */
  readonly windowTokens: number | null;
}

/** First and last position that a step adds to a sequence. */
export interface Span {
  first: number;
  last: number;
}

/** The tables of a step's sequences, in the form that kernels take. */
export interface EncodedTables {
  /** [T] index in `tables` at which the table of the row's sequence begins. */
  readonly slots: Int32Array;
  readonly tables: Int32Array;
}

/** Number of blocks that hold `tokens` positions. */
export function blocksOf(tokens: number): number {
  return Math.ceil(tokens / BLOCK_TOKENS);
}

/**
 * Joins the tables of all sequences of a step.
 *
 * @param spans the positions that the step adds, by slot
 * @param given tables by slot; default: slot s has the s-th share of each cache
 * @throws InvalidArgumentError for a table that is too short or names blocks that do not exist
 */
export function encodeTables(
  slots: Int32Array,
  spans: ReadonlyMap<number, Span>,
  caches: readonly (CacheLimits | null)[],
  given: readonly Int32Array[] | undefined,
): EncodedTables {
  if (caches.every((cache) => cache === null)) return { slots, tables: new Int32Array(0) };
  let length = 0;
  for (const { last } of spans.values()) length += blocksOf(last + 1) * KINDS;
  const tables = new Int32Array(length);
  const limits = caches.map((cache) => cache?.blockCount);
  const begins = new Map<number, number>();
  let begin = 0;
  for (const [slot, { last }] of spans) {
    const end = begin + blocksOf(last + 1) * KINDS;
    if (given) copyTable(tables, begin, end, given[slot]!, slot, limits);
    else shareTable(tables.subarray(begin, end), slot, caches);
    begins.set(slot, begin);
    begin = end;
  }
  const places = new Int32Array(slots.length);
  for (let row = 0; row < slots.length; row++) {
    // Most rows have the same slot as the row before.
    const isSame = row > 0 && slots[row] === slots[row - 1];
    places[row] = isSame ? places[row - 1]! : begins.get(slots[row]!)!;
  }
  return { slots: places, tables };
}

/** Copies the table of a sequence to [begin, end). `limits`: numbers of blocks; absent: any block will do. */
function copyTable(
  to: Int32Array,
  begin: number,
  end: number,
  table: Int32Array,
  slot: number,
  limits: readonly (number | undefined)[],
): void {
  for (let index = 0; index < end - begin; index++) {
    const block = table[index];
    const limit = limits[index % KINDS];
    if (block === undefined) {
      check(false, `tables[${slot}]`, `at least ${end - begin} numbers`, index);
    } else if (limit !== undefined && (block < 0 || block >= limit)) {
      check(false, `tables[${slot}]`, `blocks below ${limit}`, block);
    }
    to[begin + index] = block;
  }
}

function shareTable(part: Int32Array, slot: number, caches: readonly (CacheLimits | null)[]): void {
  for (const [kind, cache] of caches.entries()) {
    const share = cache ? blocksOf(cache.capacityTokens) : 1;
    const first = slot * share;
    for (let block = 0; block * KINDS < part.length; block++) {
      part[block * KINDS + kind] = cache ? first + (block % share) : 0;
    }
  }
}
