import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { TaskLimit } from './task-limit.js';

it('runs no more tasks at a time than allowed, in order, whether they succeed or not', async () => {
  const limit = new TaskLimit(2);
  const started: number[] = [];
  let running = 0;
  let most = 0;
  const task = (index: number) =>
    limit.run(async () => {
      started.push(index);
      most = Math.max(most, ++running);
      await setImmediate();
      running--;
      if (index === 1) throw new RangeError('one fails');
      return index;
    });
  const results = await Promise.allSettled([0, 1, 2, 3, 4].map(task));
  expect(started).toEqual([0, 1, 2, 3, 4]);
  expect(most).toBe(2);
  expect(results.map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
    'fulfilled',
  ]);
});
