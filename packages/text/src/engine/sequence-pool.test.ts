import { describe, expect, it } from 'vitest';
import { grow, range, rowsOf, storeOf } from '../../test/engine-fixtures.js';
import { SequencePool } from './sequence-pool.js';

describe('SequencePool', () => {
  it('serves waiting callers in the order in which they came', async () => {
    const pool = new SequencePool(2, storeOf());
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
    const pool = new SequencePool(1, storeOf());
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
    const pool = new SequencePool(1, storeOf());
    await expect(pool.acquire([null, null])).rejects.toThrow(/at most 1/);
    await expect(pool.acquire([null], AbortSignal.abort('gone'))).rejects.toBe('gone');
  });

  it('admits a prompt when its blocks are free or only known', async () => {
    const store = storeOf({ fullBlocks: 4 });
    const pool = new SequencePool(3, store);
    const [first] = await pool.acquire([rowsOf(range(0, 70))]);
    grow(store, first!, rowsOf(range(0, 70)));
    let isAdmitted = false;
    const second = pool.acquire([rowsOf(range(500, 40))]).then(() => {
      isAdmitted = true;
    });
    await Promise.resolve();
    expect([isAdmitted, pool.idleCount]).toEqual([false, 0]);
    pool.release([first!]);
    await second;
    // One that alone exceeds what is free is admitted when nothing else runs.
    expect(pool.busyCount).toBe(1);
  });

  it('returns the blocks of a sequence once', async () => {
    const store = storeOf();
    const pool = new SequencePool(1, store);
    const [sequence] = await pool.acquire([null]);
    grow(store, sequence!, rowsOf(range(0, 40)));
    pool.release([sequence!]);
    pool.release([sequence!]);
    expect(store.pools.map(({ heldCount }) => heldCount)).toEqual([0, 0]);
    expect(pool.idleCount).toBe(1);
  });
});
