import { SoftTokenCache } from '@markbase/metal-runtime';
import { describe, expect, it } from 'vitest';
import { EncodeQueue } from './encode-queue.js';
import type { Picture } from './picture.js';

function picture(patchCount: number): Picture {
  return {
    patchCount,
    softTokens: 1,
    positions: new Int32Array(2 * patchCount),
    pixels: new Float32Array(0),
  };
}

/** A queue whose steps are recorded; each returns a picture's number of patches. */
function queueOf(options: { maxPatches?: number; cacheBytes?: number; onStep?: () => Promise<void> } = {}) {
  const steps: number[][] = [];
  const signals: AbortSignal[] = [];
  const cache = new SoftTokenCache(options.cacheBytes ?? 1000);
  const queue = new EncodeQueue({
    maxPatches: options.maxPatches ?? 10,
    cache,
    async run(pictures, signal) {
      steps.push(pictures.map(({ patchCount }) => patchCount));
      signals.push(signal);
      await options.onStep?.();
      signal.throwIfAborted();
      return pictures.map(({ patchCount }) => Float32Array.of(patchCount));
    },
  });
  return { queue, steps, signals, cache };
}

describe('EncodeQueue', () => {
  it('combines waiting pictures in one step, as many as fit, in order', async () => {
    const { queue, steps } = queueOf();
    const counts = [4, 5, 3, 1];
    const values = await Promise.all(counts.map((count, i) => queue.encode(`k${i}`, picture(count))));
    expect(values.map((value) => value[0])).toEqual(counts);
    expect(steps).toEqual([
      [4, 5],
      [3, 1],
    ]);
  });

  it('runs a picture that is larger than a normal step alone', async () => {
    const { queue, steps } = queueOf();
    await Promise.all([queue.encode('a', picture(25)), queue.encode('b', picture(2))]);
    expect(steps).toEqual([[25], [2]]);
  });

  it('computes equal pictures once, even across steps', async () => {
    const { queue, steps } = queueOf();
    const [one, other] = await Promise.all([queue.encode('a', picture(3)), queue.encode('a', picture(3))]);
    expect(one).toBe(other);
    expect(await queue.encode('a', picture(3))).toBe(one);
    expect(steps).toEqual([[3]]);
  });

  it('lets a caller leave while the others stay', async () => {
    const controller = new AbortController();
    const onStep = async () => controller.abort(new Error('left'));
    const { queue, signals } = queueOf({ onStep });
    const leaving = queue.encode('a', picture(1), controller.signal);
    const staying = queue.encode('b', picture(2));
    await expect(leaving).rejects.toThrow('left');
    expect((await staying)[0]).toBe(2);
    expect(signals[0]!.aborted).toBe(false);
  });

  it('stops a step that no caller waits for any more', async () => {
    const controller = new AbortController();
    const onStep = async () => controller.abort(new Error('left'));
    const { queue, signals } = queueOf({ onStep });
    await expect(queue.encode('a', picture(1), controller.signal)).rejects.toThrow('left');
    expect(signals[0]!.aborted).toBe(true);
    expect((await queue.encode('b', picture(2)))[0]).toBe(2);
  });

  it('does not start for an already aborted signal', async () => {
    const { queue, steps } = queueOf();
    await expect(queue.encode('a', picture(1), AbortSignal.abort(new Error('before')))).rejects.toThrow(
      'before',
    );
    expect(steps).toEqual([]);
  });

  it('continues after a failed step', async () => {
    let isBroken = true;
    const onStep = async () => {
      if (isBroken) throw new RangeError('broken');
    };
    const { queue } = queueOf({ onStep });
    await expect(queue.encode('a', picture(1))).rejects.toThrow('broken');
    isBroken = false;
    expect((await queue.encode('a', picture(1)))[0]).toBe(1);
  });
});
