import { expect, it } from 'vitest';
import { ThreadLine } from './run-beside.js';

/** A line whose first job runs until `end` is called. */
function busyLine() {
  const line = new ThreadLine('none.js', 16);
  const order: string[] = [];
  let end = () => {};
  const first = line.inTurn(
    undefined,
    () =>
      new Promise<void>((resolve) => {
        end = resolve;
      }),
  );
  const add = (name: string, weight: number, signal?: AbortSignal) =>
    line.inTurn(signal, async () => void order.push(name), weight);
  return { line, order, add, first, end: () => end() };
}

it('runs lighter jobs first, and equal ones in the order of their arrival', async () => {
  const { order, add, first, end } = busyLine();
  const jobs = [add('e', 9), add('a', 1), add('c', 3), add('b', 1), add('d', 3)];
  end();
  await Promise.all([first, ...jobs]);
  expect(order).toEqual(['a', 'b', 'c', 'd', 'e']);
  await add('f', 0);
  expect(order.at(-1)).toBe('f');
});

it('forgets a waiting job at once when its signal is aborted, and runs those after it', async () => {
  const { order, add, first, end } = busyLine();
  const controller = new AbortController();
  const left = add('left', 1, controller.signal);
  const next = add('next', 2);
  controller.abort(new RangeError('left'));
  await expect(left).rejects.toThrow('left');
  end();
  await Promise.all([first, next]);
  expect(order).toEqual(['next']);
});

it('goes on after a job that fails', async () => {
  const line = new ThreadLine('none.js', 16);
  await expect(line.inTurn(undefined, () => Promise.reject(new RangeError('no')))).rejects.toThrow('no');
  expect(await line.inTurn(undefined, async () => 1)).toBe(1);
});
