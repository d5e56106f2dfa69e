import type { GenerateEvent, OpenAnswer } from '@markbase/text';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { createServer } from '../src/index.js';
import { serveDemo } from './serve-demo.js';

const demo = serveDemo();

let fail: () => void;
let failing: Promise<void>;
beforeEach(() => {
  // The HTTP adapter prints the error of a body that breaks off.
  vi.spyOn(console, 'error').mockImplementation(() => {});
  failing = new Promise((resolve) => {
    fail = resolve;
  });
});

/** An answer that begins and then fails when the test says so. */
const answer: OpenAnswer = {
  promptTokens: 1,
  async *events(): AsyncGenerator<GenerateEvent, void, void> {
    yield { type: 'text', text: 'Hel' };
    await failing;
    throw new TypeError('a secret of the device');
  },
};

/** Sends a request; `onChunk` sees what arrives. Resolves with the status, the text, and whether the connection broke. */
async function ask(fields: object, onChunk: (text: string) => void) {
  const server = createServer({
    model: { id: 'demo', model: demo.model },
    openAnswers: async () => [answer],
    limits: { keepAliveMs: 5 },
  });
  const url = await server.listen({ port: 0 });
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo', messages: [{ role: 'user', content: 'Hi' }], ...fields }),
  });
  let text = '';
  let isBroken = false;
  try {
    for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      onChunk(text);
    }
  } catch {
    isBroken = true;
  }
  await server.close();
  vi.restoreAllMocks();
  return { status: response.status, text, isBroken };
}

const INTERNAL = { code: 'internal_error', message: 'The server failed to answer this request' };

describe('an error after the answer has begun', () => {
  it('is the body of a complete answer that has sent white space, and breaks the connection', async () => {
    const { status, text, isBroken } = await ask({}, (seen) => {
      if (seen.startsWith(' ')) fail();
    });
    expect([status, isBroken]).toEqual([200, true]);
    expect(JSON.parse(text)).toMatchObject({ error: INTERNAL });
  });

  it('is the last event of a stream, without [DONE]', async () => {
    const { status, text } = await ask({ stream: true }, (seen) => {
      if (seen.includes('Hel')) fail();
    });
    const events = text.trimEnd().split('\n\n');
    expect([status, JSON.parse(events.at(-1)!.slice('data: '.length))]).toMatchObject([
      200,
      { error: INTERNAL },
    ]);
    expect(text).not.toContain('[DONE]');
  });
});
