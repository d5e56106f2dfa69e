import type OpenAI from 'openai';
import { describe, expect, it } from 'vitest';
import { DEMO_TOOLS } from './demo-tools.js';
import { serveDemo } from './serve-demo.js';

type Parameters = Omit<OpenAI.Chat.Completions.ChatCompletionCreateParamsNonStreaming, 'model' | 'messages'>;

const demo = serveDemo();
const ask = (content: string, parameters: Parameters & Record<string, unknown> = {}) =>
  demo.client.chat.completions.create({
    model: 'demo',
    messages: [{ role: 'user', content }],
    temperature: 0,
    ...parameters,
  });

describe('tools', () => {
  it('calls a tool, takes its result, and answers', async () => {
    const question = { role: 'user' as const, content: 'Is it cold in Valencia?' };
    const first = await ask(question.content, { tools: DEMO_TOOLS });
    const { message, finish_reason } = first.choices[0]!;
    expect(finish_reason).toBe('tool_calls');
    expect(message.content).toBeNull();
    const [call] = message.tool_calls as OpenAI.Chat.Completions.ChatCompletionMessageFunctionToolCall[];
    expect(call!.function.name).toBe('get_weather');
    expect(JSON.parse(call!.function.arguments)).toEqual({ city: 'Valencia' });
    const second = await demo.client.chat.completions.create({
      model: 'demo',
      temperature: 0,
      tools: DEMO_TOOLS,
      messages: [
        question,
        message,
        { role: 'tool', tool_call_id: call!.id, content: '{"temperature": 31, "sky": "sunny"}' },
      ],
    });
    expect(second.choices[0]!.finish_reason).toBe('stop');
    expect(second.choices[0]!.message.content).toContain('31');
  });

  it('streams a tool call: id and name first, then its arguments', async () => {
    const stream = await demo.client.chat.completions.create({
      model: 'demo',
      messages: [{ role: 'user', content: 'Calculate 1927 - 18.' }],
      temperature: 0,
      tools: DEMO_TOOLS,
      stream: true,
    });
    const deltas: OpenAI.Chat.Completions.ChatCompletionChunk.Choice.Delta.ToolCall[] = [];
    let reason: string | null = null;
    for await (const { choices } of stream) {
      deltas.push(...(choices[0]!.delta.tool_calls ?? []));
      reason = choices[0]!.finish_reason ?? reason;
    }
    expect(reason).toBe('tool_calls');
    expect(deltas[0]).toMatchObject({
      index: 0,
      type: 'function',
      function: { name: 'calculate', arguments: '' },
    });
    expect(deltas.slice(1).every(({ id, index }) => id === undefined && index === 0)).toBe(true);
    expect(JSON.parse(deltas.map((delta) => delta.function?.arguments ?? '').join(''))).toEqual({
      expression: '1927 - 18',
    });
  });

  it('obeys tool_choice, also together with thinking', async () => {
    const tools = DEMO_TOOLS;
    const none = await ask('weather Valencia', { tools, tool_choice: 'none' });
    expect(none.choices[0]!.message.tool_calls).toBeUndefined();
    for (const reasoning_effort of ['none', 'low'] as const) {
      const named = await ask('Good evening, how are you?', {
        tools,
        tool_choice: { type: 'function', function: { name: 'calculate' } },
        max_tokens: 200,
        reasoning_effort,
      });
      expect(named.choices[0]!.finish_reason).toBe('tool_calls');
      expect(named.choices[0]!.message.tool_calls).toMatchObject([{ function: { name: 'calculate' } }]);
    }
    const single = await ask('I am Tessa.', {
      tools,
      tool_choice: 'required',
      parallel_tool_calls: false,
      max_tokens: 200,
    });
    expect(single.choices[0]!.message.tool_calls).toHaveLength(1);
  });
});

describe('sampling and usage', () => {
  it('ends at stop strings, and at max tokens', async () => {
    const stopped = await ask('What is 31 + 90?', { stop: [' ='] });
    expect(stopped.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: '31 + 90' } });
    const cut = await ask('What is 31 + 90?', { max_completion_tokens: 3 });
    expect(cut.choices[0]!.finish_reason).toBe('length');
    expect(cut.usage!.completion_tokens).toBe(3);
  });

  it('reports log-probabilities for the text only', async () => {
    const { choices } = await ask('What is 31 + 90?', { logprobs: true, top_logprobs: 3 });
    const content = choices[0]!.logprobs!.content!;
    expect(content.map(({ token }) => token).join('')).toBe(choices[0]!.message.content);
    for (const { logprob, top_logprobs, bytes, token } of content) {
      expect(logprob).toBeLessThanOrEqual(0);
      expect(top_logprobs).toHaveLength(3);
      expect(top_logprobs[0]!.logprob).toBeCloseTo(logprob, 5);
      expect(new TextDecoder().decode(Uint8Array.from(bytes!))).toBe(token);
    }
  });

  it('returns several answers with different seeds, reproducibly', async () => {
    const create = () =>
      ask('Tell me a story about a seal.', { n: 3, seed: 7, temperature: 1, max_tokens: 30 });
    const [first, second] = [await create(), await create()];
    const texts = first.choices.map(({ message }) => message.content);
    expect(new Set(texts).size).toBe(3);
    expect(second.choices.map(({ message }) => message.content)).toEqual(texts);
    expect(first.usage!.completion_tokens).toBe(90);
    expect(second.usage!.prompt_tokens_details!.cached_tokens).toBeGreaterThan(0);
  });

  it('applies a logit bias', async () => {
    const { tokenizer } = await demo.model.language();
    const [id] = tokenizer.encode('3');
    const banned = await ask('What is 31 + 90?', { logit_bias: { [id!]: -100 } });
    expect(banned.choices[0]!.message.content).not.toContain('3');
  });

  it('separates reasoning from the answer, and counts it', async () => {
    const { choices, usage } = await ask('Solve 57 + 62.', { reasoning_effort: 'high' });
    const { content, reasoning_content: reasoning } = choices[0]!.message as unknown as Record<
      string,
      string
    >;
    expect(content).toBe('57 + 62 = 119');
    expect(reasoning).toMatch(/\d/);
    expect(usage!.completion_tokens_details!.reasoning_tokens).toBeGreaterThan(3);
    expect(usage!.completion_tokens_details!.reasoning_tokens).toBeLessThan(usage!.completion_tokens);
  });
});

describe('structured output', () => {
  it('follows a schema and JSON mode, also with thinking', async () => {
    const schema = {
      type: 'object',
      properties: { animal: { type: 'string', maxLength: 8 }, legs: { enum: [2, 4] } },
      required: ['animal', 'legs'],
      additionalProperties: false,
    };
    for (const reasoning_effort of ['none', 'high'] as const) {
      const { choices } = await ask('I am Tessa.', {
        response_format: { type: 'json_schema', json_schema: { name: 'animal', schema, strict: true } },
        reasoning_effort,
        max_tokens: 300,
      });
      const value = JSON.parse(choices[0]!.message.content!);
      expect(value).toEqual({ animal: expect.any(String), legs: expect.any(Number) });
    }
    const object = await ask('Good evening, how are you?', {
      response_format: { type: 'json_object' },
      max_tokens: 100,
    });
    expect(JSON.parse(object.choices[0]!.message.content!)).toBeInstanceOf(Object);
  });

  it('refuses an unsupported schema and names the keyword', async () => {
    const json_schema = {
      name: 'x',
      schema: { type: 'object', properties: { a: { type: 'array', uniqueItems: true } } },
    };
    await expect(ask('hi', { response_format: { type: 'json_schema', json_schema } })).rejects.toMatchObject({
      status: 400,
      param: expect.stringContaining('schema'),
    });
  });
});
