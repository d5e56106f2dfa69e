import { CorruptFileError } from '@markbase/core';
import { generate } from '@markbase/text';
import OpenAI, { toFile } from 'openai';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createServer, type Server, type Transcriber, type TranscriberOptions } from '../src/index.js';
import { serveDemo } from './serve-demo.js';

const demo = serveDemo();
const asked: Omit<TranscriberOptions, 'signal'>[] = [];
let ended = 0;
let server: Server;
let client: OpenAI;

/** One segment per line of the file, answered by the demo model; the file "broken" cannot be read. */
const transcribe: Transcriber = async function* (bytes, { signal, ...options }) {
  asked.push(options);
  const text = new TextDecoder().decode(bytes);
  try {
    if (text === 'broken')
      throw new CorruptFileError({ rule: 'Test', path: '(sound)', reason: 'it is broken' });
    for (const content of text.split('\n')) {
      const messages = [{ role: 'user' as const, content }];
      const { usage, ...answer } = await generate(demo.model, { messages, temperature: 0, signal });
      yield {
        text: answer.text,
        isComplete: !content.includes('12'),
        promptTokens: usage.promptTokens,
        softTokens: 5,
        generatedTokens: usage.completionTokens,
      };
    }
  } finally {
    ended++;
  }
};

beforeAll(() => {
  server = createServer({
    model: { id: 'demo', model: demo.model, transcribe },
    limits: { bodyBytes: 20_000, mediaBytes: 10_000, textBytes: 5000, concurrent: 1 },
  });
  const send = async (url: unknown, init: unknown) =>
    server.fetch(new Request(url as string, init as RequestInit));
  client = new OpenAI({
    baseURL: 'http://localhost/v1',
    apiKey: 'none',
    maxRetries: 0,
    fetch: send as typeof fetch,
  });
  return () => server.close();
});
beforeEach(() => {
  asked.length = 0;
  ended = 0;
});

const file = (text: string) => toFile(Buffer.from(text), 'speech.wav');
const create = async (text: string, extra: object = {}) =>
  client.audio.transcriptions.create({ model: 'demo', file: await file(text), ...extra } as never);

/** A form written by hand. */
function send(
  path: string,
  body: string,
  type = 'multipart/form-data; boundary=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
) {
  return server.fetch(
    new Request(`http://localhost${path}`, { method: 'POST', headers: { 'content-type': type }, body }),
  );
}
const BOUNDARY = `--${'x'.repeat(32)}`;
const field = (name: string, value: string) =>
  `${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;

describe('transcriptions', () => {
  it('join the segments and count their tokens', async () => {
    const answer = (await create('What is 31 + 90?\nWhat is 97 - 54?', {
      language: 'en',
      prompt: 'Sums.',
      temperature: 0.5,
    })) as unknown as { text: string; usage: Record<string, number> };
    expect(answer.text).toBe('31 + 90 = 121 97 - 54 = 43');
    expect(asked).toEqual([{ language: 'en', prompt: 'Sums.', temperature: 0.5 }]);
    const { input_tokens, output_tokens, total_tokens } = answer.usage;
    expect(answer.usage).toMatchObject({ type: 'tokens', input_token_details: { audio_tokens: 10 } });
    expect(total_tokens).toBe(input_tokens! + output_tokens!);
    expect(ended).toBe(1);
  });

  it('are plain text where that is asked for, and show where a segment is cut off', async () => {
    expect(await create('What is 12 + 90?', { response_format: 'text' })).toBe('12 + 90 = 102 …\n');
  });

  it('are streamed segment by segment', async () => {
    const stream = (await create('What is 31 + 90?\nWhat is 97 - 54?', {
      stream: true,
    })) as unknown as AsyncIterable<{
      type: string;
      delta?: string;
      text?: string;
    }>;
    const events = [];
    for await (const event of stream) events.push(event);
    expect(events).toMatchObject([
      { type: 'transcript.text.delta', delta: '31 + 90 = 121' },
      { type: 'transcript.text.delta', delta: ' 97 - 54 = 43' },
      { type: 'transcript.text.done', text: '31 + 90 = 121 97 - 54 = 43', usage: { type: 'tokens' } },
    ]);
  });

  it('take turns in the slots of answers, and end when the client leaves', async () => {
    const stream = (await create('Tell me a story about a seal.\n'.repeat(50), {
      stream: true,
    })) as unknown as AsyncIterable<unknown>;
    const waiting = create('What is 31 + 90?');
    for await (const _ of stream) break;
    expect(await waiting).toMatchObject({ text: '31 + 90 = 121' });
    expect([ended, asked.length]).toEqual([2, 2]);
  });

  it.each<[object, string]>([
    [{ response_format: 'srt' }, 'response_format'],
    [{ response_format: 'vtt' }, 'response_format'],
    [{ response_format: 'verbose_json' }, 'response_format'],
    [{ response_format: 'text', stream: true }, 'response_format'],
    [{ timestamp_granularities: ['word'] }, 'timestamp_granularities'],
    [{ include: ['logprobs'] }, 'include'],
    [{ chunking_strategy: 'none' }, 'chunking_strategy'],
    [{ language: 'Klingonese' }, 'language'],
    [{ temperature: 2 }, 'temperature'],
    [{ temperature: 'warm' }, 'temperature'],
    [{ oops: 1 }, 'oops'],
    [{ file: undefined }, 'file'],
    [{ file: 'text' }, 'file'],
    [{ model: undefined }, 'model'],
  ])('refuse %j by name', async (extra, param) => {
    await expect(create('x', extra)).rejects.toMatchObject({ status: 400, param });
    expect(asked).toEqual([]);
  });

  it('refuse files that cannot be read, and release their slot', async () => {
    for (const stream of [false, true, false]) {
      const refused = { status: 400, param: 'file', code: 'invalid_media' };
      await expect(create('broken', { stream })).rejects.toMatchObject(refused);
    }
    expect(await create('What is 31 + 90?')).toMatchObject({ text: '31 + 90 = 121' });
  });

  it('refuse what is too large', async () => {
    await expect(create('x'.repeat(10_001))).rejects.toMatchObject({ status: 413, param: 'file' });
    await expect(create('x'.repeat(30_000))).rejects.toMatchObject({ status: 413, code: 'body_too_large' });
    await expect(create('x', { prompt: 'y'.repeat(5001) })).rejects.toMatchObject({ status: 413 });
  });

  it('refuse invalid forms', async () => {
    const path = '/v1/audio/transcriptions';
    const many = Array.from({ length: 80 }, (_, index) => field(`f${index}`, 'x')).join('');
    const codes = [];
    for (const [body, type] of [
      ['{}', 'application/json'],
      ['x', 'multipart/form-data; charset=utf-8'],
      ['no form', undefined],
      [`${many}${BOUNDARY}--\r\n`, undefined],
      [`${field('model', 'a')}${field('model', 'b')}${BOUNDARY}--\r\n`, undefined],
    ] as const) {
      const answer = await send(path, body, type);
      const { error } = (await answer.json()) as { error: { code: string } };
      codes.push([answer.status, error.code]);
    }
    expect(codes).toEqual([
      [415, 'unsupported_content_type'],
      ...Array.from({ length: 4 }, () => [400, 'invalid_form']),
    ]);
  });

  it('are refused for models that cannot, and translations for all', async () => {
    const refused = demo.client.audio.transcriptions.create({ model: 'demo', file: await file('x') });
    await expect(refused).rejects.toMatchObject({ status: 400, code: 'unsupported_media', param: 'model' });
    const translation = client.audio.translations.create({ model: 'demo', file: await file('x') });
    await expect(translation).rejects.toMatchObject({ status: 404, message: /Translations are not/ });
  });
});
