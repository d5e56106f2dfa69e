import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { HumanMessage, ToolMessage } from '@langchain/core/messages';
import { ChatOpenAI } from '@langchain/openai';
import { generateText, Output, stepCountIs, streamText, tool } from 'ai';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { serveDemo } from './serve-demo.js';

const demo = serveDemo();
const QUESTION = 'What is 31 + 90?';
const ANSWER = '31 + 90 = 121';
const WEATHER = 'Is it cold in Valencia?';
const city = z.object({ city: z.string().describe('Name of the city.') });
const animal = z.object({ name: z.string(), legs: z.number().int() });
const description = 'Gets the weather in a city.';

describe('the AI SDK over HTTP', () => {
  const model = () => {
    const baseURL = `${demo.url}/v1`;
    const options = { name: 'markbase', baseURL, includeUsage: true, supportsStructuredOutputs: true };
    return createOpenAICompatible(options)('demo');
  };

  it('chats and streams', async () => {
    const { text, usage } = await generateText({ model: model(), prompt: QUESTION, temperature: 0 });
    expect(text).toBe(ANSWER);
    const stream = streamText({ model: model(), prompt: QUESTION, temperature: 0 });
    const pieces: string[] = [];
    for await (const piece of stream.textStream) pieces.push(piece);
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.join('')).toBe(ANSWER);
    expect((await stream.usage).totalTokens).toBe(usage.totalTokens);
  });

  it('calls tools and goes on with their results', async () => {
    const asked: string[] = [];
    const weather = tool({
      description,
      inputSchema: city,
      execute: async (input) => {
        asked.push(input.city);
        return { temperature: 31, sky: 'sunny' };
      },
    });
    const { text, steps } = await generateText({
      model: model(),
      prompt: WEATHER,
      temperature: 0,
      tools: { get_weather: weather },
      stopWhen: stepCountIs(3),
    });
    expect([asked, steps.length]).toEqual([['Valencia'], 2]);
    expect(text).toContain('31');
  });

  it('gets objects', async () => {
    const output = Output.object({ schema: animal });
    const answer = await generateText({ model: model(), prompt: 'I am Tessa.', temperature: 0, output });
    expect(answer.output).toEqual({ name: expect.any(String), legs: expect.any(Number) });
  });
});

describe.each([false, true])('LangChain, with the responses API: %s', (useResponsesApi) => {
  const model = () =>
    new ChatOpenAI({
      model: 'demo',
      temperature: 0,
      apiKey: 'none',
      maxRetries: 0,
      useResponsesApi,
      configuration: { baseURL: `${demo.url}/v1` },
    });

  it('chats and streams', async () => {
    const answer = await model().invoke(QUESTION);
    expect(answer.text).toBe(ANSWER);
    expect(answer.usage_metadata?.output_tokens).toBeGreaterThan(3);
    const pieces: string[] = [];
    for await (const chunk of await model().stream(QUESTION)) pieces.push(chunk.text);
    expect(pieces.filter((piece) => piece !== '').length).toBeGreaterThan(1);
    expect(pieces.join('')).toBe(ANSWER);
  });

  it('calls tools and goes on with their results', async () => {
    const tools = [{ name: 'get_weather', description, schema: city }];
    const bound = model().bindTools(tools);
    const question = new HumanMessage(WEATHER);
    const call = await bound.invoke([question]);
    expect(call.tool_calls).toMatchObject([{ name: 'get_weather', args: { city: 'Valencia' } }]);
    const content = JSON.stringify({ temperature: 31, sky: 'sunny' });
    const result = new ToolMessage({ content, tool_call_id: call.tool_calls![0]!.id! });
    expect((await bound.invoke([question, call, result])).text).toContain('31');
  });

  it.each(['jsonSchema', 'functionCalling'] as const)('gets objects: %s', async (method) => {
    const structured = model().withStructuredOutput(animal, { name: 'animal', method });
    const answer = await structured.invoke('I am Tessa.');
    expect(answer).toEqual({ name: expect.any(String), legs: expect.any(Number) });
  });
});
