import Anthropic from '@anthropic-ai/sdk';
import { beforeAll, describe, expect, it } from 'vitest';
import { DEMO_TOOLS } from './demo-tools.js';
import { serveDemo } from './serve-demo.js';

const demo = serveDemo({ apiKey: 'secret' });
let client: Anthropic;
beforeAll(() => {
  client = new Anthropic({ baseURL: demo.url, apiKey: 'secret', maxRetries: 0 });
});

const TOOLS = DEMO_TOOLS.map(({ function: { name, description, parameters } }) => ({
  name,
  description,
  input_schema: parameters as Anthropic.Tool.InputSchema,
}));
const common = { model: 'demo', max_tokens: 200, temperature: 0 };
const user = (content: string) => ({ role: 'user' as const, content });

describe('messages, with the Anthropic client', () => {
  it('answers, and reports cached tokens separately', async () => {
    const request = { ...common, system: 'Reply only with JSON.', messages: [user('What is 97 - 54?')] };
    const message = await client.messages.create(request);
    expect(message).toMatchObject({
      type: 'message',
      role: 'assistant',
      stop_reason: 'end_turn',
      stop_sequence: null,
    });
    expect(JSON.parse((message.content[0] as Anthropic.TextBlock).text)).toHaveProperty('answer');
    const again = await client.messages.create(request);
    const { input_tokens, cache_read_input_tokens } = again.usage;
    expect(cache_read_input_tokens).toBeGreaterThan(0);
    const { max_tokens, temperature, ...prompt } = request;
    const counted = await client.messages.countTokens(prompt);
    expect(counted.input_tokens).toBe(input_tokens + cache_read_input_tokens!);
  });

  it('streams thinking and text as blocks', async () => {
    const stream = client.messages.stream({
      ...common,
      max_tokens: 300,
      messages: [user('Solve 57 + 62.')],
      thinking: { type: 'enabled', budget_tokens: 1024 },
    });
    const types: string[] = [];
    for await (const { type } of stream) if (type !== types.at(-1)) types.push(type);
    const block = ['content_block_start', 'content_block_delta', 'content_block_stop'];
    expect(types).toEqual(['message_start', ...block, ...block, 'message_delta', 'message_stop']);
    const message = await stream.finalMessage();
    expect(message.content.map(({ type }) => type)).toEqual(['thinking', 'text']);
    expect((message.content[1] as Anthropic.TextBlock).text).toBe('57 + 62 = 119');
  });

  it('ends thinking at its budget', async () => {
    const thoughtOf = async (budget_tokens: number) => {
      const thinking = { type: 'enabled' as const, budget_tokens };
      const { content } = await client.messages.create({
        ...common,
        messages: [user('Solve 57 + 62.')],
        thinking,
      });
      return content.find((block) => block.type === 'thinking')!.thinking.length;
    };
    expect(await thoughtOf(8)).toBeLessThan(await thoughtOf(1000));
  });

  it('calls a tool and takes its result', async () => {
    const question = user('Is it cold in Valencia?');
    const first = await client.messages.create({ ...common, messages: [question], tools: TOOLS });
    expect(first.stop_reason).toBe('tool_use');
    const [call] = first.content as Anthropic.ToolUseBlock[];
    expect(call).toMatchObject({ type: 'tool_use', name: 'get_weather', input: { city: 'Valencia' } });
    const result = {
      type: 'tool_result' as const,
      tool_use_id: call!.id,
      content: '{"temperature": 31, "sky": "sunny"}',
    };
    const second = await client.messages.create({
      ...common,
      tools: TOOLS,
      messages: [
        question,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [result] },
      ],
    });
    expect((second.content[0] as Anthropic.TextBlock).text).toContain('31');
    const forced = await client.messages.create({
      ...common,
      messages: [user('I am Tessa.')],
      tools: TOOLS,
      tool_choice: { type: 'tool', name: 'calculate', disable_parallel_tool_use: true },
    });
    expect(forced.content).toMatchObject([{ type: 'tool_use', name: 'calculate' }]);
  });

  it('reports the stop sequence, and formats errors as Anthropic does', async () => {
    const messages = [user('What is 31 + 90?')];
    const stopped = await client.messages.create({ ...common, messages, stop_sequences: [' ='] });
    expect(stopped).toMatchObject({ stop_reason: 'stop_sequence', stop_sequence: ' =' });
    const cut = await client.messages.create({ ...common, messages, max_tokens: 2 });
    expect(cut.stop_reason).toBe('max_tokens');
    await expect(client.messages.create({ ...common, messages, model: 'other' })).rejects.toMatchObject({
      status: 404,
      error: { type: 'error', error: { type: 'not_found_error' } },
    });
    const stranger = new Anthropic({ baseURL: demo.url, apiKey: 'wrong', maxRetries: 0 });
    await expect(stranger.messages.create({ ...common, messages })).rejects.toMatchObject({ status: 401 });
  });
});
