import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import Anthropic from '@anthropic-ai/sdk';
import { CorruptFileError } from '@markbase/core';
import type { MediaEncoder, TextModel } from '@markbase/text';
import type OpenAI from 'openai';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createServer as createApiServer, type Server } from '../src/index.js';
import { serveDemo } from './serve-demo.js';

type Part = OpenAI.Chat.Completions.ChatCompletionContentPart;

const demo = serveDemo();
const encoded: { kind: string; text: string; budget?: number; format?: string }[] = [];
/** Room that the encoder was told of for each sound. */
const rooms: (number | undefined)[] = [];

/** Soft tokens that depend on the bytes alone; bytes that say "broken" are refused. */
function encoderFor(model: TextModel): MediaEncoder {
  const softTokens = <Kind extends 'image' | 'audio'>(kind: Kind, bytes: Uint8Array) => {
    const text = new TextDecoder().decode(bytes);
    if (text === 'broken')
      throw new CorruptFileError({ rule: 'Test', path: '(image)', reason: 'it is broken' });
    const width = model.config.hiddenWidth;
    const rows = Number(/^rows (\d+)$/.exec(text)?.[1] ?? 4);
    const values = new Float32Array(rows * width).fill(text.length / 10);
    return { text, tokens: { kind, rows, width, values, contentKey: `${kind} ${text}` } };
  };
  return {
    async encodeImage(bytes, { budget }) {
      const { text, tokens } = softTokens('image', bytes);
      encoded.push({ kind: 'image', text, ...(budget !== undefined && { budget }) });
      return tokens;
    },
    async encodeAudio(bytes, { format, maxTokens }) {
      rooms.push(maxTokens);
      const { text, tokens } = softTokens('audio', bytes);
      encoded.push({ kind: 'audio', text, ...(format !== undefined && { format }) });
      return [tokens, tokens];
    },
  };
}

let server: Server;
let images: HttpServer;
let imageUrl: string;
beforeAll(async () => {
  images = createServer((_request, response) => response.end('fetched'));
  await new Promise<void>((resolve) => {
    images.listen(0, '127.0.0.1', resolve);
  });
  const host = `127.0.0.1:${(images.address() as AddressInfo).port}`;
  imageUrl = `http://${host}/a.png`;
  server = createApiServer({
    model: { id: 'demo', model: demo.model, media: encoderFor(demo.model) },
    allowedImageHosts: [host],
    limits: { mediaParts: 3 },
  });
});
afterAll(async () => {
  images.close();
  await server.close();
});
beforeEach(() => {
  encoded.length = 0;
  rooms.length = 0;
});

const base64 = (text: string) => Buffer.from(text).toString('base64');
const image = (text: string, detail?: 'low' | 'high'): Part => ({
  type: 'image_url',
  image_url: { url: `data:image/png;base64,${base64(text)}`, ...(detail && { detail }) },
});

async function post(path: string, body: object): Promise<{ status: number; body: Record<string, never> }> {
  const response = await server.fetch(
    new Request(`http://localhost${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'demo', ...body }),
    }),
  );
  return { status: response.status, body: (await response.json()) as Record<string, never> };
}
const chat = (...content: (Part | object)[]) =>
  post('/v1/chat/completions', { max_tokens: 2, messages: [{ role: 'user', content }] });

describe('media', () => {
  it('go through the encoders, in order and with their budgets', async () => {
    const text = { type: 'text', text: 'What is this?' };
    const alone = await chat(text);
    const audio = { type: 'input_audio', input_audio: { data: base64('sound'), format: 'wav' } };
    const { status, body } = await chat(image('one', 'low'), audio, image('two'), text);
    expect(status).toBe(200);
    expect(encoded).toEqual([
      { kind: 'image', text: 'one', budget: 70 },
      { kind: 'audio', text: 'sound', format: 'wav' },
      { kind: 'image', text: 'two' },
    ]);
    const [before, after] = [alone.body, body].map(
      (answer) => (answer.usage as unknown as { prompt_tokens: number }).prompt_tokens,
    );
    // Four media (the sound has two pieces) of four rows and two delimiters.
    expect(after! - before!).toBeGreaterThanOrEqual(4 * 6);
  });

  it('may be base64 that is broken into lines', async () => {
    const lines = base64('x'.repeat(100)).replaceAll(/.{20}/g, '$&\r\n');
    const url = `data:image/png;base64,${lines}\n`;
    const sound = { type: 'input_audio', input_audio: { data: lines, format: 'wav' } };
    expect((await chat({ type: 'image_url', image_url: { url } }, sound)).status).toBe(200);
    expect(encoded.map(({ text }) => text)).toEqual(['x'.repeat(100), 'x'.repeat(100)]);
    const { body } = await chat({ type: 'image_url', image_url: { url: 'data:image/png;base64,\n' } });
    expect(body.error).toMatchObject({ code: 'invalid_base64' });
  });

  it('are fetched from allowed hosts only', async () => {
    expect((await chat({ type: 'image_url', image_url: { url: imageUrl } })).status).toBe(200);
    expect(encoded).toEqual([{ kind: 'image', text: 'fetched' }]);
    for (const url of [
      'http://169.254.169.254/latest/meta-data',
      'https://example.org/a.png',
      imageUrl.replace('127.0.0.1', 'localhost'),
    ]) {
      const { status, body } = await chat({ type: 'image_url', image_url: { url } });
      expect([status, body.error]).toMatchObject([
        400,
        { code: 'host_not_allowed', param: 'messages[0].content[0].image_url.url' },
      ]);
    }
  });

  it('are never mixed up between requests that differ only in their media', async () => {
    const ask = async (name: string) => {
      const body = {
        max_tokens: 12,
        temperature: 0,
        messages: [{ role: 'user', content: [image(name), { type: 'text', text: 'Hello' }] }],
      };
      const { choices } = (await post('/v1/chat/completions', body))
        .body as unknown as OpenAI.Chat.Completions.ChatCompletion;
      return choices[0]!.message.content;
    };
    const names = ['a', 'a long name of a picture', 'b'.repeat(60)];
    const alone: (string | null)[] = [];
    for (const name of names) alone.push(await ask(name));
    const together = await Promise.all([...names, ...names].map(ask));
    expect(together).toEqual([...alone, ...alone]);
  });

  it.each<[string, object, string]>([
    ['no base64', { type: 'image_url', image_url: { url: 'data:image/png;base64,%%' } }, 'invalid_base64'],
    ['a file', { type: 'image_url', image_url: { url: 'file:///etc/passwd' } }, 'invalid_url'],
    ['no picture', image('broken'), 'invalid_media'],
    [
      'another budget',
      { type: 'image_url', image_url: { url: 'data:,', max_soft_tokens: 300 } },
      'invalid_value',
    ],
    [
      'a video',
      { type: 'video_url', video_url: { url: `data:video/mp4;base64,${base64('v')}` } },
      'unsupported_media',
    ],
  ])('are refused when they are %s', async (_name, part, code) => {
    const { status, body } = await chat(part);
    expect([status, body.error]).toMatchObject([
      400,
      { code, param: expect.stringMatching(/^messages\[0\]/) },
    ]);
  });

  it('are encoded only as far as the context has room for all of them together', async () => {
    const sound = (rows: number) => ({
      type: 'input_audio',
      input_audio: { data: base64(`rows ${rows}`), format: 'wav' },
    });
    const many = await chat(sound(500), sound(20), sound(10));
    expect([many.status, many.body.error]).toMatchObject([
      400,
      { code: 'context_length_exceeded', param: 'messages[0].content[2].input_audio.data' },
    ]);
    // Two pieces each; the third has no room left, and is not encoded.
    expect(rooms).toEqual([1024, 24]);
  });

  it('are limited in number, and refused for a model without encoders', async () => {
    const many = await chat(...['1', '2', '3', '4'].map((name) => image(name)));
    expect([many.status, many.body.error]).toMatchObject([400, { code: 'too_many_media' }]);
    const refused = demo.client.chat.completions.create({
      model: 'demo',
      messages: [{ role: 'user', content: [image('x')] }],
    });
    await expect(refused).rejects.toMatchObject({ status: 400, code: 'unsupported_media' });
  });

  it('work in the other APIs too', async () => {
    const response = await post('/v1/responses', {
      max_output_tokens: 2,
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_image', image_url: `data:image/png;base64,${base64('r')}`, detail: 'high' },
            { type: 'input_audio', input_audio: { data: base64('s'), format: 'mp3' } },
          ],
        },
      ],
    });
    expect(response.status).toBe(200);
    const client = new Anthropic({
      apiKey: 'none',
      baseURL: 'http://localhost',
      fetch: async (url, init) => server.fetch(new Request(url as string, init as RequestInit)),
    });
    const source = { type: 'base64' as const, media_type: 'image/png' as const, data: base64('m') };
    const messages = [{ role: 'user' as const, content: [{ type: 'image' as const, source }] }];
    const { usage } = await client.messages.create({ model: 'demo', max_tokens: 2, messages });
    expect(await client.messages.countTokens({ model: 'demo', messages })).toEqual({
      input_tokens: usage.input_tokens + usage.cache_read_input_tokens!,
    });
    expect(encoded.slice(0, 3)).toEqual([
      { kind: 'image', text: 'r', budget: 1120 },
      { kind: 'audio', text: 's', format: 'mp3' },
      { kind: 'image', text: 'm' },
    ]);
  });
});
