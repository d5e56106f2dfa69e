import { describe, expect, it } from 'vitest';
import { grow, range, rowsOf, sequenceOf, storeOf } from '../../test/engine-fixtures.js';
import type { BlockStore } from './block-store.js';
import type { PromptRows } from './prompt.js';
import type { Sequence } from './sequence.js';

/** Blocks of full and sliding layers that sequences hold. */
const held = ({ pools }: BlockStore) => pools.map((pool) => pool.heldCount);
const idle = ({ pools }: BlockStore) => pools.map((pool) => pool.idleCount);

/** A sequence that has computed a prompt and was released. */
function remember(store: BlockStore, rows: PromptRows, isExact = true): void {
  const sequence = sequenceOf(0, store);
  grow(store, sequence, rows, rows.end, isExact);
  store.give(sequence);
}

/** What a new sequence takes over of a prompt: whole blocks and tails at once, and a piece to be copied. */
function attach(
  store: BlockStore,
  rows: PromptRows,
  isExact = false,
): { sequence: Sequence; copied: number } {
  const sequence = sequenceOf(1, store);
  const copy = store.extend(sequence, rows, rows.end - 1, isExact);
  if (copy) store.endCopy(sequence, copy, true);
  return { sequence, copied: copy ? copy.end - copy.begin : 0 };
}

describe('BlockStore', () => {
  it('takes blocks when tokens come, and drops sliding ones before the window', () => {
    const store = storeOf({ windowTokens: 40 });
    const sequence = sequenceOf(0, store);
    const rows = rowsOf(range(0, 200));
    grow(store, sequence, rows, 32);
    expect(held(store)).toEqual([1, 1]);
    grow(store, sequence, rows, 33);
    expect(held(store)).toEqual([2, 2]);
    // The position at 200 sees positions from 161 on: block 5 and the one after it.
    grow(store, sequence, rows);
    expect(held(store)).toEqual([7, 2]);
    expect(idle(store)).toEqual([0, 5]);
    expect(sequence.table).toHaveLength(14);
    store.give(sequence);
    expect(held(store)).toEqual([0, 0]);
    expect(idle(store)).toEqual([7, 7]);
  });

  it('shares whole blocks of a known prefix, whatever sequence computed it', () => {
    const store = storeOf();
    const running = sequenceOf(0, store);
    grow(store, running, rowsOf(range(0, 70)));
    const { sequence, copied } = attach(store, rowsOf([...range(0, 64), 9, 9]));
    expect([sequence.length, sequence.reusedTokens, copied]).toEqual([64, 64, 0]);
    expect(sequence.block(0, 1)).toBe(running.block(0, 1));
    expect(held(store)[0]).toBe(3);
  });

  it('takes over the last block of a released sequence without a copy', () => {
    const store = storeOf();
    remember(store, rowsOf(range(0, 40)));
    const { sequence, copied } = attach(store, rowsOf(range(0, 50)));
    expect([sequence.length, copied]).toEqual([40, 0]);
    expect(idle(store)).toEqual([0, 0]);
  });

  it('copies the common part of a block that goes on differently', () => {
    const store = storeOf();
    remember(store, rowsOf(range(0, 64)));
    const { sequence, copied } = attach(store, rowsOf([...range(0, 50), 99, 99]));
    expect([sequence.length, copied]).toEqual([50, 18]);
    expect(sequence.block(0, 1)).not.toBe(1);
    // Both branches are known afterwards.
    grow(store, sequence, rowsOf([...range(0, 50), 99, 99]));
    store.give(sequence);
    expect(attach(store, rowsOf(range(0, 64))).sequence.length).toBe(63);
    expect(attach(store, rowsOf([...range(0, 50), 99, 99, 1])).sequence.length).toBe(52);
  });

  it('cuts off a block in place if there is no room for a copy', () => {
    const store = storeOf({ fullBlocks: 1, slidingBlocks: 1 });
    remember(store, rowsOf(range(0, 20)));
    const { sequence, copied } = attach(store, rowsOf([...range(0, 12), 99]));
    expect([sequence.length, copied]).toEqual([12, 0]);
    expect(held(store)).toEqual([1, 1]);
    store.give(sequence);
    expect(attach(store, rowsOf(range(0, 20))).sequence.length).toBe(12);
  });

  it('leaves at least one row to compute, and copies nothing short', () => {
    const store = storeOf();
    remember(store, rowsOf(range(0, 32)));
    expect(attach(store, rowsOf(range(0, 32))).sequence.length).toBe(31);
    expect(attach(store, rowsOf([...range(0, 5), 99])).sequence.length).toBe(0);
    expect(attach(store, rowsOf([99, ...range(1, 31)])).sequence.length).toBe(0);
  });

  it('distinguishes media with the same placeholders, and other roots', () => {
    const store = storeOf();
    const prompt = (image: string) =>
      rowsOf([...range(0, 10), ...range(0, 40).map((row) => `image:${image}:${row}`)]);
    remember(store, prompt('a'));
    expect(attach(store, prompt('b')).sequence.length).toBe(10);
    expect(attach(store, prompt('a')).sequence.length).toBe(49);
    const other = sequenceOf(2, store);
    other.reset(store.root('adapter'), false);
    expect(store.extend(other, prompt('a'), 49, false)).toBeNull();
    expect(other.length).toBe(0);
  });

  it('never ends a prefix inside an image whose rows see each other', () => {
    const store = storeOf();
    const ends = [...range(0, 20), ...Array.from({ length: 20 }, () => 39), ...range(40, 5)];
    remember(store, rowsOf(range(0, 45), ends));
    // Position 35 differs: the image from 20 to 39 is computed again as a whole.
    const keys = range(0, 45).map((key) => (key === 35 ? 99 : key));
    expect(attach(store, rowsOf(keys, ends)).sequence.length).toBe(20);
    expect(attach(store, rowsOf([...range(0, 42), 99], ends.slice(0, 43))).sequence.length).toBe(42);
  });

  it('only takes over the bits of a prompt if it must', () => {
    const store = storeOf();
    const sequence = sequenceOf(0, store);
    const rows = rowsOf(range(0, 80));
    grow(store, sequence, rows, 50);
    grow(store, sequence, rows, 80, false);
    store.give(sequence);
    const next = rowsOf(range(0, 90));
    expect(attach(store, next, true).sequence.length).toBe(50);
    expect(attach(store, next).sequence.length).toBe(80);
    // Computed again as a prompt, the same tokens are known with both kinds of bits.
    remember(store, rows);
    expect(attach(store, next, true).sequence.length).toBe(80);
  });

  it('starts further back when sliding layers gave up the window before the prefix', () => {
    // Sliding blocks for one sequence of five blocks, of which the window needs two.
    const store = storeOf({ slidingBlocks: 5, windowTokens: 40 });
    remember(store, rowsOf(range(0, 160)));
    const other = sequenceOf(1, store);
    grow(store, other, rowsOf(range(1000, 70)), 64);
    expect(idle(store)[0]).toBe(5);
    expect(idle(store)[1]).toBeLessThan(5);
    store.give(other);
    const { sequence } = attach(store, rowsOf(range(0, 200)));
    expect(sequence.length % 32).toBe(0);
    const blocks = Array.from({ length: sequence.blockCount }, (_, index) => index >= sequence.firstSliding);
    const firstSeen = Math.max(0, sequence.length - 39);
    for (const [index, isHeld] of blocks.entries())
      if ((index + 1) * 32 > firstSeen) expect(isHeld).toBe(true);
  });

  it('gives up the least recently used prefixes, their ends first', () => {
    const store = storeOf({ fullBlocks: 6, slidingBlocks: 6 });
    remember(store, rowsOf(range(0, 96)));
    remember(store, rowsOf(range(1000, 64)));
    store.give(attach(store, rowsOf(range(0, 90))).sequence);
    // One block is free; the prefix from 1000 on was used before the other.
    const sequence = sequenceOf(2, store);
    expect(store.reserve(sequence, 96)).toBe(true);
    expect(attach(store, rowsOf(range(1000, 64))).sequence.length).toBe(0);
    expect(attach(store, rowsOf(range(0, 90))).sequence.length).toBeGreaterThanOrEqual(64);
  });

  it('takes nothing if it cannot take everything, and never what a sequence holds', () => {
    const store = storeOf({ fullBlocks: 3, slidingBlocks: 3 });
    const first = sequenceOf(0, store);
    grow(store, first, rowsOf(range(0, 40)));
    const second = sequenceOf(1, store);
    expect(store.reserve(second, 40)).toBe(false);
    expect(second.blockCount).toBe(0);
    expect(store.reserve(second, 32)).toBe(true);
    expect(store.hasRoom([1])).toBe(false);
  });

  it('keeps what a sequence that was set aside is to compute again', () => {
    const store = storeOf();
    const sequence = sequenceOf(0, store);
    grow(store, sequence, rowsOf(range(0, 50)));
    store.give(sequence, true);
    expect([sequence.length, sequence.heldTokens]).toEqual([50, 0]);
    expect([...sequence.lost!.tokens]).toEqual(range(0, 50));
    expect(held(store)).toEqual([0, 0]);
    // Its blocks are still there: it takes all of them back.
    expect(store.extend(sequence, sequence.lost!, 50, false)).toBeNull();
    expect(sequence.lost).toBeNull();
    expect([sequence.length, sequence.reusedTokens]).toEqual([50, 0]);
  });

  it('computes a prompt of several sequences once', () => {
    const store = storeOf();
    const rows = rowsOf(range(0, 70));
    const [a, b] = [sequenceOf(0, store), sequenceOf(1, store)];
    expect(store.computesNext({ sequence: a, rows }, { sequence: b, rows })).toBe(true);
    const other = rowsOf([...range(0, 20), ...range(500, 50)]);
    expect(store.computesNext({ sequence: a, rows: other }, { sequence: b, rows })).toBe(false);
    grow(store, a, rows, 64);
    store.extendWhole(b, rows);
    expect(b.length).toBe(64);
    // The rest is shorter than a block: each computes its own.
    expect(store.computesNext({ sequence: a, rows }, { sequence: b, rows })).toBe(false);
    const own = sequenceOf(2, store, null);
    store.extendWhole(own, rows);
    expect(own.length).toBe(0);
    expect(store.computesNext({ sequence: a, rows }, { sequence: own, rows })).toBe(false);
  });

  it('makes room for all sequences of a step at once', () => {
    const store = storeOf({ fullBlocks: 6, slidingBlocks: 6 });
    const known = sequenceOf(0, store);
    grow(store, known, rowsOf(range(0, 160)));
    store.give(known);
    store.prepare(4);
    expect(store.pools.map(({ freeCount }) => freeCount)).toEqual([5, 5]);
    store.prepare(5);
    expect(store.pools.map(({ freeCount }) => freeCount)).toEqual([5, 5]);
    store.prepare(100);
    expect(store.pools.map(({ freeCount }) => freeCount)).toEqual([6, 6]);
  });

  it('knows a token that a step added like one of a prompt', () => {
    const store = storeOf();
    const [a, b] = [sequenceOf(0, store), sequenceOf(1, store)];
    grow(store, a, rowsOf(range(0, 63)));
    store.reserve(a, 64);
    a.addToken(63, true);
    store.settle(a);
    expect(store.extend(b, rowsOf(range(0, 70)), 69, true)).toBeNull();
    expect(b.length).toBe(64);
  });
});
