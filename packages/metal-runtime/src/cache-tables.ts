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
  const lengths = [...spans.values()].map(({ last }) => blocksOf(last + 1) * KINDS);
  const tables = new Int32Array(lengths.reduce((sum, length) => sum + length, 0));
  const begins = new Map<number, number>();
  let begin = 0;
  for (const [index, slot] of [...spans.keys()].entries()) {
    const part = tables.subarray(begin, begin + lengths[index]!);
    if (given) copyTable(part, given[slot], slot, caches);
    else shareTable(part, slot, caches);
    begins.set(slot, begin);
    begin += part.length;
  }
  return { slots: slots.map((slot) => begins.get(slot)!), tables };
}

function copyTable(
  part: Int32Array,
  table: Int32Array | undefined,
  slot: number,
  caches: readonly (CacheLimits | null)[],
): void {
  const name = `tables[${slot}]`;
  check(
    table !== undefined && table.length >= part.length,
    name,
    `at least ${part.length} numbers`,
    table?.length,
  );
  part.set(table.subarray(0, part.length));
  for (let index = 0; index < part.length; index++) {
    const limit = caches[index % KINDS]?.blockCount;
    const block = part[index]!;
    if (limit === undefined || (block >= 0 && block < limit)) continue;
    check(false, name, `blocks below ${limit}`, block);
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
