import { describe, expect, it } from 'vitest';
import type { PromptRows } from './prompt.js';
import type { Sequence } from './sequence.js';
import { SequencePool } from './sequence-pool.js';

const LIMITS = { contextTokens: 100, smallestCapacityTokens: 100, windowTokens: 8 };

function rowsOf(keys: number[]): PromptRows {
  const tokens = Int32Array.from(keys);
  const visibleEnd = Int32Array.from(keys, (_, index) => index);
  return {
    begin: 0,
    end: keys.length,
    tokens,
    layerTokens: tokens,
    visibleEnd,
    keys,
    soft: keys.map(() => null),
  };
}

function fill(sequence: Sequence, keys: number[]): void {
  sequence.markWritten(keys.length);
  for (const [index, key] of keys.entries()) sequence.push(key, index);
}

describe('SequencePool', () => {
  it('serves waiting callers in the order in which they came', async () => {
    const pool = new SequencePool(2, LIMITS);
    const [a, b] = await pool.acquire([null, null]);
    const order: string[] = [];
    const both = pool.acquire([null, null]).then((sequences) => {
      order.push('both');
      pool.release(sequences);
    });
    const single = pool.acquire([null]).then(() => order.push('single'));
    pool.release([a!]);
    expect(pool.idleCount).toBe(0);
    pool.release([b!]);
    await Promise.all([both, single]);
    expect(order).toEqual(['both', 'single']);
  });

  it('drops an aborted caller, and serves the next', async () => {
    const pool = new SequencePool(1, LIMITS);
    const held = await pool.acquire([null]);
    const controller = new AbortController();
    const aborted = pool.acquire([null], controller.signal);
    const next = pool.acquire([null]);
    controller.abort(new DOMException('enough', 'AbortError'));
    await expect(aborted).rejects.toThrow('enough');
    pool.release(held);
    expect(await next).toHaveLength(1);
  });

  it('refuses more sequences than it has, and signals that are already aborted', async () => {
    const pool = new SequencePool(1, LIMITS);
    await expect(pool.acquire([null, null])).rejects.toThrow(/at most 1/);
    await expect(pool.acquire([null], AbortSignal.abort('gone'))).rejects.toBe('gone');
  });

  it('hands out the sequence that holds most of a prompt, truncated', async () => {
    const pool = new SequencePool(3, LIMITS);
    const [a, b, c] = await pool.acquire([null, null, null]);
    fill(a!, [1, 2, 3, 4]);
    fill(b!, [1, 2, 9, 9]);
    pool.release([a!, b!, c!]);
    const [found] = await pool.acquire([rowsOf([1, 2, 9, 9, 5])]);
    expect(found).toBe(b);
    expect(found!.length).toBe(4);
    const [partly] = await pool.acquire([rowsOf([1, 2, 3, 7])]);
    expect(partly).toBe(a);
    expect(partly!.length).toBe(3);
  });

  it('does not sacrifice a conversation for a short prefix while another sequence is empty', async () => {
    const pool = new SequencePool(2, LIMITS);
    const [a, b] = await pool.acquire([null, null]);
    fill(a!, [1, 2, 3, 4, 5, 6]);
    pool.release([a!, b!]);
    const [fresh] = await pool.acquire([rowsOf([1, 2, 8, 8])]);
    expect(fresh).toBe(b);
    expect(fresh!.length).toBe(0);
    const [last] = await pool.acquire([rowsOf([1, 2, 8, 8])]);
    expect(last).toBe(a);
    expect(last!.length).toBe(2);
  });

  it('empties a sequence that is requested without a prompt', async () => {
    const pool = new SequencePool(1, LIMITS);
    const [a] = await pool.acquire([null]);
    fill(a!, [1, 2]);
    pool.release([a!]);
    const [again] = await pool.acquire([null]);
    expect(again!.length).toBe(0);
  });
});
