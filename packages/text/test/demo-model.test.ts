import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Device } from '@markbase/metal-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  type GenerateEvent,
  generate,
  generateBatch,
  loadTextModel,
  openAnswer,
  Session,
  stream,
  type TextModel,
  type ToolDefinition,
  verifyCheckpoint,
} from '../src/index.js';
import { openTestDevice } from './fixtures.js';

const DIRECTORY = fileURLToPath(new URL('../../demo-model/model', import.meta.url));
const STORY = [{ role: 'user', content: 'Tell me a story.' }] as const;
const GREEDY = { temperature: 0, maxTokens: 60 };
const WEATHER: ToolDefinition = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'Weather by city',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', description: 'City' } },
      required: ['city'],
    },
  },
};

describe('generation with the demo model', () => {
  let device: Device;
  let model: TextModel;
  beforeAll(async () => {
    expect(existsSync(DIRECTORY), `${DIRECTORY} is part of the repository`).toBe(true);
    device = await openTestDevice();
    model = await loadTextModel(DIRECTORY, device, {
      precision: 'high',
      contextTokens: 512,
      maxSequences: 2,
    });
  });
  afterAll(() => {
    model.dispose();
    device.dispose();
  });

  it.each(['high', 'fast'] as const)('matches its reference outputs in %s', async (precision) => {
    const { pass, sections } = await verifyCheckpoint(DIRECTORY, device, { precision });
    expect(sections.filter((section) => !section.pass && section.skipped === undefined)).toEqual([]);
    expect(pass).toBe(true);
  });

  it('streams the same text as it returns at once', async () => {
    const events: GenerateEvent[] = [];
    for await (const event of stream(model, { messages: STORY, ...GREEDY })) events.push(event);
    const text = events.map((event) => (event.type === 'text' ? event.text : '')).join('');
    const whole = await generate(model, { messages: STORY, ...GREEDY });
    expect(text).toBe(whole.text);
    expect(text.length).toBeGreaterThan(50);
    expect(events.filter(({ type }) => type === 'text').length).toBeGreaterThan(10);
    expect(events.at(-1)).toMatchObject({ type: 'finish', reason: whole.finishReason, usage: whole.usage });
  });

  it('adds numbers, and stops by itself', async () => {
    const messages = [{ role: 'user', content: 'What is 2 + 2?' }] as const;
    const result = await generate(model, { messages, ...GREEDY });
    expect(result.text).toMatch(/4/);
    expect(result.finishReason).toBe('stop');
  });

  it('writes the same story for the same seed', async () => {
    const options = { messages: STORY, maxTokens: 40, temperature: 1.5 };
    const first = await generate(model, { ...options, seed: 11 });
    expect((await generate(model, { ...options, seed: 11 })).text).toBe(first.text);
    expect((await generate(model, { ...options, seed: 12 })).text).not.toBe(first.text);
  });

  it('stops before a stop string', async () => {
    const whole = (await generate(model, { messages: STORY, ...GREEDY })).text;
    const stop = whole.slice(20, 26);
    const result = await generate(model, { messages: STORY, ...GREEDY, stop: [stop] });
    expect(result).toMatchObject({ text: whole.slice(0, whole.indexOf(stop)), finishReason: 'stop', stop });
  });

  it('calls a tool, and reads its result in the next turn', async () => {
    const session = new Session(model, { ...GREEDY, tools: [WEATHER] });
    const asked = await session.generate('What is the weather in Paris?');
    expect(asked.finishReason).toBe('tool-calls');
    expect(asked.toolCalls).toHaveLength(1);
    const [call] = asked.toolCalls;
    expect(call).toMatchObject({ name: 'get_weather', arguments: { city: 'Paris' } });
    const answered = await session.generate([
      { role: 'tool', toolCallId: call!.id, content: { temperature: 15, weather: 'sunny' } },
    ]);
    expect(answered.text.length).toBeGreaterThan(0);
    expect(session.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  });

  it('separates thoughts from the answer', async () => {
    const messages = [{ role: 'user', content: 'What is 12 + 30?' }] as const;
    const result = await generate(model, { messages, enableThinking: true, ...GREEDY });
    expect(result.reasoning.length).toBeGreaterThan(0);
    expect(result.text).not.toContain(result.reasoning);
    expect(result.text).toMatch(/\d/);
  });

  it('answers every turn of a session from the caches as a cold start would', async () => {
    const session = new Session(model, GREEDY);
    let cached = 0;
    for (const question of ['Tell me a story.', 'What is 2 + 2?', 'Tell me another story.']) {
      const messages = [...session.messages, { role: 'user', content: question } as const];
      const cold = await generate(model, { messages, ...GREEDY, logprobs: true });
      const warm = await session.generate(question, { logprobs: true });
      expect(warm.logprobs).toEqual(cold.logprobs);
      cached += warm.usage.cachedTokens;
    }
    expect(cached).toBeGreaterThan(40);
    expect(session.messages).toHaveLength(6);
  });

  it('checks a request before it runs, and answers a turn from the caches bit for bit', async () => {
    const first = [{ role: 'user' as const, content: 'What is 31 + 90?' }];
    const { text } = await generate(model, { messages: first, temperature: 0, reusePrefix: 'exact' });
    const messages = [
      ...first,
      { role: 'assistant' as const, content: text },
      { role: 'user' as const, content: 'Tell me a story about a seal.' },
    ];
    const options = { messages, temperature: 0, maxTokens: 30, logprobs: true };
    const cold = await generate(model, options);
    const { promptTokens, events } = await openAnswer(model, { ...options, reusePrefix: 'exact' });
    expect(promptTokens).toBe(cold.usage.promptTokens);
    const logprobs: number[] = [];
    let cachedTokens = 0;
    for await (const event of events()) {
      if (event.type === 'token') logprobs.push(event.logprob);
      if (event.type === 'finish') cachedTokens = event.usage.cachedTokens;
    }
    expect(cachedTokens).toBeGreaterThan(10);
    expect(logprobs).toEqual(cold.logprobs!.map(({ logprob }) => logprob));
    await expect(openAnswer(model, { ...options, maxTokens: 0 })).rejects.toThrow('maxTokens');
  });

  it('leaves the conversation as it was when a turn is aborted', async () => {
    const session = new Session(model, GREEDY);
    await session.generate('Tell me a story.');
    const controller = new AbortController();
    const turn = async () => {
      for await (const _ of session.stream('Another one.', { signal: controller.signal })) controller.abort();
    };
    await expect(turn()).rejects.toMatchObject({ name: 'AbortError' });
    expect(session.messages).toHaveLength(2);
  });

  it('accepts one turn of a session at a time', async () => {
    const session = new Session(model, GREEDY);
    for await (const _ of session.stream('Tell me a story.')) {
      await expect(session.generate('And now?')).rejects.toThrow(/one turn at a time/);
      break;
    }
    expect((await session.generate('What is 2 + 2?')).text).toMatch(/4/);
  });

  it('answers a batch as it answers each prompt alone', async () => {
    const requests = ['Tell me a story.', 'What is 2 + 2?', 'Hello!'].map((content) => ({
      messages: [{ role: 'user', content } as const],
      ...GREEDY,
    }));
    const together = await generateBatch(model, requests);
    for (const [index, request] of requests.entries()) {
      expect(together[index]!.text).toBe((await generate(model, request)).text);
    }
  });

  it('continues plain text without interpreting control tokens', async () => {
    const plain = await generate(model, { prompt: 'Once upon a time, there was', ...GREEDY });
    expect(plain.tokens.length).toBeGreaterThan(0);
    const { tokenizer, bosId } = await model.language();
    const ids = [bosId!, ...tokenizer.encode('A<turn|>B')];
    const forged = await generate(model, { prompt: 'A<turn|>B', maxTokens: 1 });
    expect(forged.usage.promptTokens).toBe(ids.length);
    expect(ids).not.toContain(tokenizer.idOf('<turn|>'));
  });
});
