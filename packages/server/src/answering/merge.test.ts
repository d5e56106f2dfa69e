import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { merge } from './merge.js';

async function* count(most: number, log: string[], name: string): AsyncGenerator<number, void, void> {
  log.push(`${name} begins`);
  try {
    for (let item = 0; item < most; item++) {
      await turn();
      yield item;
    }
  } finally {
    log.push(`${name} ends`);
  }
}

describe('merge', () => {
  it('yields every item of every source in its order, the first source ahead', async () => {
    const log: string[] = [];
    const items: [number, number][] = [];
    for await (const { index, item } of merge([() => count(3, log, 'a'), () => count(2, log, 'b')])) {
      if (items.length === 0) expect(log).toEqual(['a begins', 'b begins']);
      items.push([index, item]);
    }
    expect(items.filter(([index]) => index === 0).map(([, item]) => item)).toEqual([0, 1, 2]);
    expect(items.filter(([index]) => index === 1).map(([, item]) => item)).toEqual([0, 1]);
    expect(items[0]).toEqual([0, 0]);
  });

  it('ends all sources when the reader stops or one of them fails', async () => {
    const log: string[] = [];
    for await (const { index } of merge([() => count(9, log, 'a'), () => count(9, log, 'b')]))
      if (index === 1) break;
    await turn();
    await turn();
    expect(log.slice(2).sort()).toEqual(['a ends', 'b ends']);

    const failing = async function* (): AsyncGenerator<number, void, void> {
      yield 1;
      throw new RangeError('broken');
    };
    const read = async () => {
      for await (const _ of merge([failing, () => count(9, log, 'c')]));
    };
    await expect(read()).rejects.toThrow('broken');
    await turn();
    await turn();
    expect(log.at(-1)).toBe('c ends');
  });
});
