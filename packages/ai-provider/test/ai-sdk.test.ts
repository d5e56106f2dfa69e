import { modelPath } from '@markbase/demo-model';
import { type Device, openDevice } from '@markbase/metal-runtime';
import { loadTextModel, type MediaEncoder, type TextModel } from '@markbase/text';
import { generateObject, generateText, Output, stepCountIs, streamObject, streamText, tool } from 'ai';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { createMarkbase, type MarkbaseProvider } from '../src/index.js';

let device: Device;
let textModel: TextModel;
let markbase: MarkbaseProvider;
const encoded: { kind: string; bytes: number; budget: number | undefined }[] = [];

/** Soft tokens without meaning: only their arrival is tested. */
const media: MediaEncoder = {
  encodeImage: async (bytes, { budget }) => softTokens('image', bytes, budget),
  encodeAudio: async (bytes) => [softTokens('audio', bytes), softTokens('audio', bytes)],
};

function softTokens<Kind extends 'image' | 'audio'>(kind: Kind, bytes: Uint8Array, budget?: number) {
  encoded.push({ kind, bytes: bytes.length, budget });
  const width = textModel.config.hiddenWidth;
  return { kind, rows: 3, width, values: new Float32Array(3 * width), contentKey: `${kind} ${bytes.length}` };
}

beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 2 });
  textModel = await loadTextModel(modelPath, device, { maxSequences: 4, contextTokens: 1024 });
  markbase = createMarkbase({ models: { demo: textModel, 'demo-media': { model: textModel, media } } });
});
afterAll(() => {
  textModel.dispose();
  device.dispose();
});

const weather = tool({
  description: 'Get the weather in a city.',
  inputSchema: z.object({ city: z.string().describe('Name of the city.') }),
  execute: async ({ city }) => ({ temperature: city === 'Valencia' ? 31 : 0, sky: 'sunny' }),
});

describe('text', () => {
  it('generates and streams the same answer, with usage', async () => {
    const prompt = 'What is 31 + 90?';
    const whole = await generateText({ model: markbase('demo'), prompt, temperature: 0 });
    expect(whole).toMatchObject({ text: '31 + 90 = 121', finishReason: 'stop', warnings: [] });
    expect(whole.usage.totalTokens).toBe(whole.usage.inputTokens! + whole.usage.outputTokens!);
    expect(whole.providerMetadata!.markbase).toMatchObject({ seed: expect.any(Number) });
    const streamed = streamText({ model: markbase('demo'), prompt, temperature: 0 });
    let text = '';
    for await (const delta of streamed.textStream) text += delta;
    expect(text).toBe(whole.text);
    expect((await streamed.usage).inputTokenDetails.cacheReadTokens).toBeGreaterThan(0);
  });

  it('separates reasoning, and counts it', async () => {
    const { text, reasoningText, usage } = await generateText({
      model: markbase('demo'),
      prompt: 'Solve 57 + 62.',
      temperature: 0,
      providerOptions: { markbase: { thinking: true } },
    });
    expect([text, reasoningText]).toEqual(['57 + 62 = 119', expect.stringMatching(/\d/)]);
    expect(usage.outputTokenDetails.reasoningTokens).toBeGreaterThan(0);
    const parts: string[] = [];
    const stream = streamText({
      model: markbase('demo'),
      prompt: 'Solve 57 + 62.',
      temperature: 0,
      providerOptions: { markbase: { thinking: true, maxThinkingTokens: 4 } },
    });
    for await (const { type } of stream.fullStream) if (type !== parts.at(-1)) parts.push(type);
    expect(parts).toEqual([
      'start',
      'start-step',
      ...['reasoning-start', 'reasoning-delta', 'reasoning-end'],
      ...['text-start', 'text-delta', 'text-end'],
      'finish-step',
      'finish',
    ]);
  });

  it('respects limits, stop sequences and seeds', async () => {
    const model = markbase('demo');
    const cut = await generateText({ model, prompt: 'Tell me a story about a seal.', maxOutputTokens: 5 });
    expect([cut.finishReason, cut.usage.outputTokens]).toEqual(['length', 5]);
    const stopped = await generateText({
      model,
      prompt: 'What is 31 + 90?',
      temperature: 0,
      stopSequences: [' ='],
    });
    expect(stopped.text).toBe('31 + 90');
    const sample = () =>
      generateText({ model, prompt: 'Tell me a story.', seed: 5, temperature: 1, maxOutputTokens: 12 });
    expect((await sample()).text).toBe((await sample()).text);
  });

  it('stops when aborted, and when the reader stops', async () => {
    const controller = new AbortController();
    const stream = streamText({
      model: markbase('demo'),
      prompt: 'Tell me a story about a seal.',
      abortSignal: controller.signal,
    });
    const types: string[] = [];
    for await (const { type } of stream.fullStream) {
      types.push(type);
      if (type === 'text-delta') controller.abort();
    }
    expect(types.at(-1)).toBe('abort');
    const { stream: parts } = await markbase('demo').doStream({
      prompt: [{ role: 'user', content: [{ type: 'text', text: 'Tell me a story about a seal.' }] }],
    });
    const reader = parts.getReader();
    await reader.read();
    await reader.cancel();
    await vi.waitFor(() => expect(textModel.idleSequences).toBe(4), { timeout: 10_000 });
  });
});

describe('tools', () => {
  it('runs a tool and answers from its result, in one call', async () => {
    for (const run of [generateText, streamText] as const) {
      const result = run({
        model: markbase('demo'),
        prompt: 'Is it cold in Valencia?',
        temperature: 0,
        tools: { get_weather: weather },
        stopWhen: stepCountIs(3),
      });
      const { steps, text } = await result;
      const all = await steps;
      expect(all[0]!.toolCalls).toMatchObject([{ toolName: 'get_weather', input: { city: 'Valencia' } }]);
      expect(all[0]!.finishReason).toBe('tool-calls');
      expect(await text).toContain('31');
    }
  });

  it('can be forced to call a tool', async () => {
    const { toolCalls } = await generateText({
      model: markbase('demo'),
      prompt: 'I am Tessa.',
      tools: { get_weather: weather },
      toolChoice: { type: 'tool', toolName: 'get_weather' },
      temperature: 0,
    });
    expect(toolCalls).toMatchObject([{ toolName: 'get_weather', input: { city: expect.any(String) } }]);
  });
});

describe('objects', () => {
  const schema = z.object({
    name: z.string().max(12),
    legs: z.number().int().min(0).max(8),
    tags: z.array(z.enum(['a', 'b'])),
  });

  it('generates objects with a schema: complete, streamed, and together with text', async () => {
    const common = { model: markbase('demo'), prompt: 'I am Tessa.', temperature: 0, maxOutputTokens: 200 };
    const { object } = await generateObject({ ...common, schema });
    expect(schema.parse(object)).toEqual(object);
    const streamed = streamObject({ ...common, schema });
    let partials = 0;
    for await (const _ of streamed.partialObjectStream) partials++;
    expect(partials).toBeGreaterThan(1);
    expect(await streamed.object).toEqual(object);
    const { output } = await generateText({
      ...common,
      output: Output.object({ schema }),
      providerOptions: { markbase: { thinking: true } },
    });
    expect(schema.parse(output)).toEqual(output);
  });
});

describe('files and refusals', () => {
  it('encodes images and sounds for a model that has encoders', async () => {
    const result = await generateText({
      model: markbase('demo-media'),
      providerOptions: { markbase: { imageBudget: 70 } },
      maxOutputTokens: 3,
      messages: [
        {
          role: 'user',
          content: [
            { type: 'image', image: Uint8Array.of(0x89, 0x50, 0x4e, 0x47, 1) },
            { type: 'file', data: Buffer.from('sound').toString('base64'), mediaType: 'audio/wav' },
            { type: 'text', text: 'What is this?' },
          ],
        },
      ],
    });
    expect(result.usage.inputTokens).toBeGreaterThan(9);
    expect(encoded).toEqual([
      { kind: 'image', bytes: 5, budget: 70 },
      { kind: 'audio', bytes: 5, budget: undefined },
      { kind: 'audio', bytes: 5, budget: undefined },
    ]);
  });

  it('encodes the frames of a video, and its sound for a model that hears', async () => {
    const encodeVideo: MediaEncoder['encodeVideo'] = async (bytes) => [
      { timestampSeconds: 0, softTokens: { ...softTokens('image', bytes), kind: 'video' } },
    ];
    const { encodeImage } = media;
    const seeing = createMarkbase({
      models: {
        deaf: { model: textModel, media: { encodeImage, encodeVideo } },
        hearing: { model: textModel, media: { ...media, encodeVideo } },
      },
    });
    const file = { type: 'file' as const, data: Uint8Array.of(1, 2, 3, 4), mediaType: 'video/mp4' };
    const tokens: number[] = [];
    for (const name of ['deaf', 'hearing']) {
      encoded.length = 0;
      const { usage } = await generateText({
        model: seeing(name),
        maxOutputTokens: 1,
        messages: [{ role: 'user', content: [file, { type: 'text', text: 'What is this?' }] }],
      });
      tokens.push(usage.inputTokens!);
    }
    expect(encoded.map(({ kind, bytes }) => [kind, bytes])).toEqual([
      ['image', 4],
      ['audio', 4],
      ['audio', 4],
    ]);
    // Two pieces of three tokens, each between two delimiters.
    expect(tokens[1]! - tokens[0]!).toBe(10);
  });

  it('reports unsupported input', async () => {
    const image = [{ role: 'user' as const, content: [{ type: 'image' as const, image: Uint8Array.of(1) }] }];
    await expect(generateText({ model: markbase('demo'), messages: image })).rejects.toMatchObject({
      name: 'AI_UnsupportedFunctionalityError',
    });
    expect(() => markbase('other')).toThrow('No such languageModel');
    const wrong = { markbase: { temprature: 1 } };
    await expect(
      generateText({ model: markbase('demo'), prompt: 'a', providerOptions: wrong }),
    ).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(
      generateText({ model: markbase('demo'), prompt: 'word '.repeat(3000) }),
    ).rejects.toMatchObject({ code: 'CONTEXT_LENGTH' });
  });
});
