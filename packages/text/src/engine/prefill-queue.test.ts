import { describe, expect, it, vi } from 'vitest';
import { sequenceOf } from '../../test/engine-fixtures.js';
import { PrefillQueue } from './prefill-queue.js';
import type { PrefillJob } from './prefill-step.js';
import { StepLock } from './step-lock.js';

function jobOf(slot: number, count: number): PrefillJob {
  const tokens = new Int32Array(count).fill(slot);
  const rows = {
    begin: 0,
    end: count,
    tokens,
    layerTokens: tokens,
    visibleEnd: Int32Array.from(tokens, (_, index) => index),
    keys: Array.from(tokens),
    soft: new Array(count).fill(null),
  };
  return { sequence: sequenceOf(slot), rows };
}

/** A queue with steps of four rows that records how many rows each sequence had in them; it answers with the slot. */
function queueOf(fails: (step: number) => boolean = () => false, chunkTokens = () => 4) {
  const steps: [number, number][][] = [];
  const queue = new PrefillQueue({
    lock: new StepLock(),
    chunkTokens,
    select: (jobs) => jobs.filter(({ sequence, rows }) => sequence.length < rows.end),
    step: async (parts) => {
      steps.push(parts.map(({ job, begin, end }) => [job.sequence.id, end - begin]));
      await Promise.resolve();
      if (fails(steps.length)) throw new RangeError('broken');
      for (const { job, end } of parts) job.sequence.add(job.rows, end);
      const choices = parts
        .filter(({ job, end }) => end === job.rows.end)
        .map(({ job }) => ({ token: job.sequence.id, logprob: 0, topLogprobs: [] }));
      return { parts, choices };
    },
  });
  return { queue, steps };
}

describe('PrefillQueue', () => {
  it('combines short prompts of several callers into one step', async () => {
    const { queue, steps } = queueOf();
    const first = queue.prefill([jobOf(9, 1)], {});
    const answers = await Promise.all([
      first,
      queue.prefill([jobOf(1, 2)], {}),
      queue.prefill([jobOf(2, 2)], {}),
    ]);
    expect(answers.map(([choice]) => choice!.token)).toEqual([9, 1, 2]);
    expect(steps.length).toBeLessThanOrEqual(2);
  });

  it('computes as many rows as there is time for, for one caller after the other', async () => {
    const rows = [4, 2, 2, 1, 4];
    const { queue, steps } = queueOf(undefined, () => rows.shift() ?? 4);
    await Promise.all([queue.prefill([jobOf(0, 7)], {}), queue.prefill([jobOf(1, 6)], { chunkTokens: 3 })]);
    expect(steps.flat().map(([, count]) => count)).toEqual([4, 2, 2, 1, 3, 1]);
    expect(steps.flat().map(([slot]) => slot)).toEqual([0, 0, 1, 0, 1, 1]);
  });

  it('lets long prompts take turns, so that a short one does not have to wait for them', async () => {
    const { queue, steps } = queueOf();
    const ended: number[] = [];
    const ask = (slot: number, count: number) =>
      queue.prefill([jobOf(slot, count)], {}).then(([choice]) => ended.push(choice!.token));
    await Promise.all([ask(0, 20), ask(1, 20), ask(2, 3)]);
    expect(ended[0]).toBe(2);
    expect(steps.slice(2, 6).map(([first]) => first![0])).toEqual(expect.arrayContaining([0, 1]));
    expect(steps.flat().reduce((sum, [, rows]) => sum + rows, 0)).toBe(43);
  });

  it('returns the choices of a caller in its order, and reports progress', async () => {
    const { queue } = queueOf();
    const onProgress = vi.fn();
    const choices = await queue.prefill([jobOf(3, 6), jobOf(4, 1)], { onProgress, chunkTokens: 3 });
    expect(choices.map(({ token }) => token)).toEqual([3, 4]);
    expect(onProgress.mock.calls.map(([progress]) => progress.doneTokens)).toEqual([3, 6, 7]);
  });

  it('ends the prompts of a failing step, and continues with the others', async () => {
    const { queue } = queueOf((step) => step === 1);
    const results = await Promise.allSettled([
      queue.prefill([jobOf(0, 9)], {}),
      queue.prefill([jobOf(1, 2)], {}),
    ]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
  });

  it('drops only the prompts of a caller that aborts', async () => {
    const { queue } = queueOf();
    const controller = new AbortController();
    const aborted = queue.prefill([jobOf(0, 40)], {
      signal: controller.signal,
      onProgress: () => controller.abort(new Error('enough')),
    });
    const other = queue.prefill([jobOf(1, 9)], {});
    await expect(aborted).rejects.toThrow('enough');
    expect((await other)[0]!.token).toBe(1);
  });
});
