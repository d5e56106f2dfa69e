import { describe, expect, it } from 'vitest';
import { DEMO_TOOLS } from './demo-tools.js';
import { serveDemo } from './serve-demo.js';

const demo = serveDemo();
const TOOLS = DEMO_TOOLS.map(({ function: { name, parameters } }) => ({
  type: 'function' as const,
  name,
  parameters: parameters!,
  strict: null as unknown as boolean,
}));
const common = { model: 'demo', temperature: 0 };

describe('responses, with the openai client', () => {
  it('answers, with every required field', async () => {
    const response = await demo.client.responses.create({ ...common, input: 'What is 31 + 90?' });
    expect(response.output_text).toBe('31 + 90 = 121');
    expect(response).toMatchObject({
      object: 'response',
      status: 'completed',
      error: null,
      incomplete_details: null,
      output: [
        { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text' }] },
      ],
    });
    expect(response.usage!.total_tokens).toBe(response.usage!.input_tokens + response.usage!.output_tokens);
  });

  it('streams events in order, with contiguous sequence numbers', async () => {
    const stream = await demo.client.responses.create({
      ...common,
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'Solve 57 + 62.' }] }],
      reasoning: { effort: 'low' },
      stream: true,
    });
    const events = [];
    for await (const event of stream) events.push(event);
    expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, index) => index));
    const types = events.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1]);
    expect(types).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.reasoning_text.delta',
      'response.reasoning_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    const last = events.at(-1)!;
    if (last.type !== 'response.completed') throw new TypeError(last.type);
    expect(last.response.output.map(({ type }) => type)).toEqual(['reasoning', 'message']);
    expect(last.response.usage!.output_tokens_details.reasoning_tokens).toBeGreaterThan(0);
    const deltas = events.flatMap((event) =>
      event.type === 'response.output_text.delta' ? [event.delta] : [],
    );
    expect(deltas.join('')).toBe('57 + 62 = 119');
  });

  it('calls a tool in a stream, and accepts the whole turn as input', async () => {
    const question = { role: 'user' as const, content: 'Is it cold in Valencia?' };
    const stream = demo.client.responses.stream({ ...common, input: [question], tools: TOOLS });
    const first = await stream.finalResponse();
    expect(first.output).toMatchObject([{ type: 'function_call', name: 'get_weather', status: 'completed' }]);
    const call = first.output[0]!;
    if (call.type !== 'function_call') throw new TypeError(call.type);
    expect(JSON.parse(call.arguments)).toEqual({ city: 'Valencia' });
    const output = '{"temperature": 31, "sky": "sunny"}';
    const second = await demo.client.responses.create({
      ...common,
      tools: TOOLS,
      input: [
        question,
        { type: 'function_call', call_id: call.call_id, name: call.name, arguments: call.arguments },
        { type: 'function_call_output', call_id: call.call_id, output },
      ],
    });
    expect(second.output_text).toContain('31');
  });

  it('reports an incomplete answer, and follows a schema', async () => {
    const cut = await demo.client.responses.create({
      ...common,
      input: 'Tell me a story about a seal.',
      max_output_tokens: 5,
    });
    expect(cut).toMatchObject({ status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } });
    const schema = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] };
    const json = await demo.client.responses.create({
      ...common,
      input: 'I am Tessa.',
      text: { format: { type: 'json_schema', name: 'n', schema, strict: true } },
    });
    expect(JSON.parse(json.output_text)).toEqual({ n: expect.any(Number) });
  });

  it('refuses unsupported parameters', async () => {
    const create = (extra: object) => demo.client.responses.create({ ...common, input: 'hi', ...extra });
    for (const [extra, param] of [
      [{ previous_response_id: 'resp_1' }, 'previous_response_id'],
      [{ store: true }, 'store'],
      [{ truncation: 'auto' }, 'truncation'],
    ] as const) {
      await expect(create(extra)).rejects.toMatchObject({ status: 400, param });
    }
  });
});
