import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { serveDemo } from './serve-demo.js';

const demo = serveDemo({}, { maxSequences: 8, contextTokens: 256 });

/** Heap size in bytes after a full garbage collection. */
async function heapBytes(): Promise<number> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  for (let round = 0; round < 2; round++) {
    collect();
    await new Promise((resolve) => {
      setTimeout(resolve, 50);
    });
  }
  return process.memoryUsage().heapUsed;
}

async function ask(name: string, leaves: boolean): Promise<void> {
  const controller = new AbortController();
  const body = {
    model: 'demo',
    stream: true,
    max_tokens: 2,
    messages: [{ role: 'user', content: `${name} ${'word '.repeat(30)}` }],
  };
  try {
    const response = await fetch(`${demo.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      signal: controller.signal,
    });
    if (leaves) controller.abort();
    await response.text();
  } catch (error) {
    if (!leaves) throw error;
  }
}

it('keeps nothing of a finished request', async () => {
  const rounds = async (count: number) => {
    for (let round = 0; round < count; round++) {
      await Promise.all(Array.from({ length: 8 }, (_, index) => ask(`${round}.${index}`, index === 0)));
    }
  };
  await rounds(20);
  const perRequest: number[] = [];
  for (let part = 0; part < 3; part++) {
    const before = await heapBytes();
    await rounds(12);
    perRequest.push(((await heapBytes()) - before) / (12 * 8));
  }
  // A leaked listener alone would keep a prompt of some 10 kB per request; code that the engine compiles counts once.
  expect(Math.min(...perRequest)).toBeLessThan(5000);
});
