import { describe, expect, it } from 'vitest';
import { StepLock } from './step-lock.js';

describe('StepLock', () => {
  it('runs one task at a time, and alternates prompts and tokens', async () => {
    const lock = new StepLock();
    const order: string[] = [];
    let running = 0;
    const task = (name: string) => async () => {
      expect(++running).toBe(1);
      await Promise.resolve();
      running--;
      order.push(name);
    };
    await Promise.all([
      lock.run(task('p1'), 'prompt'),
      lock.run(task('p2'), 'prompt'),
      lock.run(task('p3'), 'prompt'),
      lock.run(task('d1'), 'decode'),
      lock.run(task('d2'), 'decode'),
    ]);
    expect(order).toEqual(['p1', 'd1', 'p2', 'd2', 'p3']);
  });

  it('continues after a task that fails, synchronously or later', async () => {
    const lock = new StepLock();
    const failed = lock.run(() => Promise.reject(new RangeError('no')));
    const next = lock.run(async () => 7);
    await expect(failed).rejects.toThrow('no');
    expect(await next).toBe(7);
    expect(await lock.run(async () => 8)).toBe(8);
  });
});
