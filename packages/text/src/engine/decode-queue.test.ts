import { describe, expect, it, vi } from 'vitest';
import { sequenceOf } from '../../test/engine-fixtures.js';
import { DecodeQueue, type DecodeRow } from './decode-queue.js';
import { StepLock } from './step-lock.js';

const row = (id: number): DecodeRow => ({ sequence: sequenceOf(id), token: id });

/** A queue with steps that only record which rows ran together, and answer with token + 100. */
function queueOf(maxRows: number, busy: number, fail?: Error, room = Number.POSITIVE_INFINITY) {
  const steps: number[][] = [];
  const lock = new StepLock();
  const queue = new DecodeQueue({
    lock,
    maxRows,
    busySequences: () => busy,
    hasRoomFor: (rows) => rows.length <= room,
    step: async (rows) => {
      steps.push(rows.map(({ token }) => token));
      if (fail) throw fail;
      return rows.map(({ token }) => ({
        choices: [{ token: token + 100, logprob: 0, topLogprobs: [] }] as const,
        draftedTokens: 0,
      }));
    },
  });
  return { queue, steps, lock };
}

describe('DecodeQueue', () => {
  it('combines the rows of callers that keep coming back into shared steps', async () => {
    const { queue, steps } = queueOf(8, 3);
    const caller = async (slot: number) => {
      for (let count = 0; count < 4; count++) {
        const [advance] = await queue.decode([row(slot)], {});
        expect(advance!.choices[0].token).toBe(slot + 100);
      }
    };
    await Promise.all([caller(0), caller(1), caller(2)]);
    expect(steps).toEqual(new Array(4).fill([0, 1, 2]));
  });

  it('lets the sequences taken first go first while the caches have no room for all', async () => {
    const { queue, steps } = queueOf(8, 6, undefined, 2);
    const answers = [3, 1, 2].map((id) => queue.decode([row(id)], {}));
    // Three rows of one caller run although they exceed the room.
    answers.push(queue.decode([row(4), row(5), row(6)], {}));
    await Promise.all(answers);
    expect(steps).toEqual([[1, 2], [3], [4, 5, 6]]);
  });

  it('fills steps in order and leaves the rest for the next', async () => {
    const { queue, steps } = queueOf(3, 6);
    const answers = await Promise.all([
      queue.decode([row(0), row(1)], {}),
      queue.decode([row(2), row(3)], {}),
      queue.decode([row(4)], {}),
    ]);
    expect(steps).toEqual([
      [0, 1],
      [2, 3, 4],
    ]);
    expect(answers.map((advances) => advances.map(({ choices }) => choices[0].token))).toEqual([
      [100, 101],
      [102, 103],
      [104],
    ]);
  });

  it('waits for one turn, regardless of how many rows are waiting', async () => {
    const { queue, steps, lock } = queueOf(2, 0);
    let open: () => void = () => {};
    const held = lock.run(() => new Promise<void>((resolve) => (open = resolve)));
    const run = vi.spyOn(lock, 'run');
    const answers = [0, 1, 2, 3, 4].map((slot) => queue.decode([row(slot)], {}));
    expect(run).toHaveBeenCalledTimes(1);
    open();
    await Promise.all([held, ...answers]);
    expect(steps).toEqual([[0, 1], [2, 3], [4]]);
    expect(run).toHaveBeenCalledTimes(3);
  });

  it('drops the rows of a caller that aborts while waiting', async () => {
    const { queue, steps, lock } = queueOf(8, 2);
    let open: () => void = () => {};
    const held = lock.run(() => new Promise<void>((resolve) => (open = resolve)));
    const controller = new AbortController();
    const aborted = queue.decode([row(0)], { signal: controller.signal });
    const other = queue.decode([row(1)], {});
    controller.abort('enough');
    await Promise.resolve();
    open();
    await held;
    await expect(aborted).rejects.toBe('enough');
    await other;
    expect(steps).toEqual([[1]]);
  });

  it('reports an error in a step to all of its callers, and continues', async () => {
    const error = new RangeError('broken');
    const { queue, steps } = queueOf(8, 2, error);
    const results = await Promise.allSettled([queue.decode([row(0)], {}), queue.decode([row(1)], {})]);
    expect(results.map((result) => result.status === 'rejected' && result.reason)).toEqual([error, error]);
    await expect(queue.decode([row(2)], {})).rejects.toBe(error);
    expect(steps).toEqual([[0, 1], [2]]);
  });
});
