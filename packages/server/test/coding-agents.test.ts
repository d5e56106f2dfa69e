import Anthropic from '@anthropic-ai/sdk';
import { describe, expect, it } from 'vitest';
import { serveDemo } from './serve-demo.js';

const ORIGIN = 'https://app.example';
const PICTURE =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';

const demo = serveDemo({ allowedOrigins: [ORIGIN] });

/** What clients send, as public documents describe it. Nothing of it may change whether there is an answer. */
const CHAT = '/v1/chat/completions';
const RESPONSES = '/v1/responses';
const MESSAGES = '/v1/messages';
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } } };
const chatTool = (name: string) => ({ type: 'function', function: { name, parameters: SCHEMA } });
const responseTool = (name: string) => ({
  type: 'function' as const,
  name,
  parameters: SCHEMA,
  strict: false,
});
const hi = { role: 'user', content: 'Hi' };

function post(path: string, body: object): Promise<Response> {
  const limit = path === RESPONSES ? { max_output_tokens: 3 } : { max_tokens: 3 };
  return fetch(demo.url + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo', ...limit, ...body }),
  });
}

const chat = (extra: object) => [CHAT, { messages: [hi], ...extra }] as const;
const response = (extra: object) => [RESPONSES, { input: 'Hi', ...extra }] as const;
const message = (extra: object) => [MESSAGES, { messages: [hi], ...extra }] as const;

describe('requests of coding agents and SDKs', () => {
  it.each([
    chat({ messages: [{ ...hi, name: 'ann' }, { role: 'assistant', content: 'Hi', name: 'bot' }, hi] }),
    chat({ prediction: { type: 'content', content: 'x' }, verbosity: 'low', service_tier: 'flex' }),
    chat({ audio: null, prediction: null, functions: null, tools: null, stream_options: null, stop: null }),
    chat({ tools: [chatTool('a'), { type: 'custom', custom: { name: 'b' } }, { type: 'web_search' }] }),
    chat({ messages: [{ role: 'system', content: [{ type: 'text', text: 'x', cache_control: {} }] }, hi] }),
    response({ previous_response_id: null, conversation: null, prompt: null, max_tool_calls: null }),
    response({
      reasoning: { summary: 'auto' },
      include: ['reasoning.encrypted_content'],
      client_metadata: { a: 'b' },
    }),
    response({ tools: [responseTool('a'), { type: 'web_search' }, { type: 'custom', name: 'apply_patch' }] }),
    response({
      input: [
        { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }], id: 'msg_1' },
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'opaque' },
        { type: 'web_search_call', id: 'ws_1', status: 'completed' },
        { type: 'custom_tool_call', call_id: 'c', name: 'patch', input: '*** Begin' },
        { type: 'custom_tool_call_output', call_id: 'c', output: 'done' },
      ],
    }),
    message({
      messages: [hi, { role: 'assistant', content: 'Yes' }, { role: 'system', content: 'Be brief.' }, hi],
    }),
    message({
      output_config: { effort: 'high' },
      cache_control: { type: 'ephemeral' },
      context_management: { edits: [] },
    }),
    message({
      thinking: { type: 'enabled', budget_tokens: 2, display: 'omitted' },
      service_tier: 'auto',
      speed: 'fast',
    }),
    message({
      tools: [
        { name: 'a', input_schema: SCHEMA, eager_input_streaming: true, defer_loading: true },
        { type: 'web_search_20250305', name: 'web_search' },
      ],
    }),
    message({
      messages: [
        hi,
        {
          role: 'assistant',
          content: [
            { type: 'redacted_thinking', data: 'opaque' },
            { type: 'thinking', thinking: '', signature: 'of another server' },
            { type: 'tool_use', id: 't', name: 'a', input: {}, caller: { type: 'direct' } },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: 'x' }] },
      ],
    }),
  ])('answers %s %j', async (path, body) => {
    const answer = await post(path, body);
    expect([answer.status, answer.status === 200 ? '' : await answer.text()]).toEqual([200, '']);
  });

  it.each([
    [...chat({ audio: { voice: 'x' } }), 'audio'],
    [...chat({ store: true }), 'store'],
    [...chat({ tools: [{ type: 'web_search' }], tool_choice: 'required' }), 'tool_choice'],
    [
      ...chat({ tools: [chatTool('a')], tool_choice: { type: 'function', function: { name: 'b' } } }),
      'tool_choice',
    ],
    [
      ...chat({
        messages: [
          hi,
          {
            role: 'assistant',
            tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '[' } }],
          },
          { role: 'tool', tool_call_id: 'a', content: 'x' },
        ],
      }),
      'messages[1].tool_calls[0].function.arguments',
    ],
    [...chat({ messages: [hi, { role: 'tool', tool_call_id: 'x', content: 'y' }] }), 'messages[1]'],
    [
      ...chat({ tools: [{ type: 'web_search' }, { type: 'function', function: { name: 'a b' } }] }),
      'tools[1].function.name',
    ],
    [...response({ previous_response_id: 'resp_1' }), 'previous_response_id'],
    [
      ...response({
        input: [
          { role: 'user', content: 'x' },
          { type: 'function_call', call_id: 'a', name: 'f', arguments: '1' },
          { type: 'function_call_output', call_id: 'a', output: 'x' },
        ],
      }),
      'input[1].arguments',
    ],
    [...response({ tools: [{ type: 'function', name: 'a b', parameters: SCHEMA }] }), 'tools[0].name'],
    [...response({ input: 'x '.repeat(3000) }), 'input'],
  ])('refuses %s %j by its own name', async (path, body, param) => {
    const answer = await post(path, body);
    expect([answer.status, await answer.json()]).toEqual([
      400,
      { error: expect.objectContaining({ param }) },
    ]);
  });

  it.each([
    [
      {
        messages: [hi, { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x', content: 'y' }] }],
      },
      'messages[1].content[0]',
    ],
    [{ system: 'x', messages: [hi], tools: [{ name: 'a b', input_schema: SCHEMA }] }, 'tools[0].name'],
    [{ messages: [hi], tools: [{ name: 'a', input_schema: SCHEMA, oops: 1 }] }, 'tools[0].oops'],
    [{ messages: [hi], mcp_servers: [{}] }, 'mcp_servers'],
  ])("names what is wrong in a message's own terms: %j", async (body, name) => {
    const answer = await post(MESSAGES, body);
    expect([answer.status, await answer.json()]).toMatchObject([
      400,
      { type: 'error', error: { type: 'invalid_request_error', message: expect.stringContaining(name) } },
    ]);
  });

  it('restricts the tools that a model may call', async () => {
    const allowed = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'b' }] };
    const answer = await demo.client.responses.create({
      model: 'demo',
      input: 'Is it cold in Valencia?',
      tools: [responseTool('a'), responseTool('b')],
      tool_choice: allowed as never,
      max_output_tokens: 60,
    });
    expect(answer.output.map((item) => (item as { name?: string }).name)).toContain('b');
    const chatAllowed = {
      type: 'allowed_tools',
      allowed_tools: {
        mode: 'required',
        tools: [chatTool('b')].map(({ type }) => ({ type, function: { name: 'b' } })),
      },
    };
    const body = await (
      await post(CHAT, {
        messages: [hi],
        tools: [chatTool('a'), chatTool('b')],
        tool_choice: chatAllowed,
        max_tokens: 60,
      })
    ).json();
    expect(body).toMatchObject({ choices: [{ message: { tool_calls: [{ function: { name: 'b' } }] } }] });
  });
});

describe('a keyword that no grammar can hold', () => {
  const schema = {
    type: 'object',
    properties: { a: { type: 'array', items: {}, uniqueItems: true } },
    required: ['a'],
  };
  const format = { type: 'json_schema', name: 'x', strict: true, schema };
  const search = { type: 'web_search' };
  it.each([
    [
      ...chat({ response_format: { type: 'json_schema', json_schema: { name: 'x', strict: true, schema } } }),
      'response_format.json_schema.schema',
    ],
    [
      ...chat({
        tools: [search, { type: 'function', function: { name: 'x', strict: true, parameters: schema } }],
      }),
      'tools[1].function.parameters',
    ],
    [...response({ text: { format } }), 'text.format.schema'],
    [
      ...response({ tools: [search, { type: 'function', name: 'x', strict: true, parameters: schema }] }),
      'tools[1].parameters',
    ],
    [
      ...message({ output_config: { format: { type: 'json_schema', schema } } }),
      'output_config.format.schema',
    ],
    [
      ...message({
        tools: [
          { name: 'w', input_schema: SCHEMA },
          { name: 'x', strict: true, input_schema: schema },
        ],
      }),
      'tools[1].input_schema',
    ],
  ])("is refused by the client's own path: %s %j", async (path, body, field) => {
    const answer = await post(path, body);
    const place = `${field}#/properties/a/uniqueItems`;
    const { error } = (await answer.json()) as { error: { message: string; param?: string } };
    expect([answer.status, error.message]).toEqual([400, expect.stringContaining(`${place}: expected`)]);
    if (path !== MESSAGES) expect(error.param).toBe(place);
  });

  it('and so is a keyword with a value of the wrong kind', async () => {
    const bad = { type: 'object', properties: { a: { type: 'string', pattern: 5 } } };
    const tools = [{ type: 'function', function: { name: 'x', strict: true, parameters: bad } }];
    const answer = await post(CHAT, { messages: [hi], tools });
    const param = 'tools[0].function.parameters#/properties/a/pattern';
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param } }]);
  });

  it.each([
    ['{"enum":[12345678901234567890]}', 400],
    ['{"const":1e400}', 400],
    ['{"enum":[1.0,12345678901234567000,2.50]}', 200],
    ['{"type":"integer","maximum":9223372036854775807}', 200],
  ])('and listed numbers whose digits would be lost: %s', async (schema, status) => {
    const parameters = `{"type":"object","properties":{"n":${schema}}}`;
    const tools = `[{"type":"function","function":{"name":"x","parameters":${parameters}}}]`;
    const body = `{"model":"demo","max_tokens":2,"messages":[{"role":"user","content":"Hi"}],"tools":${tools}}`;
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(demo.url + CHAT, { method: 'POST', headers, body });
    expect(answer.status).toBe(status);
    if (status === 400) expect(await answer.text()).toContain('tools[0].function.parameters');
  });
});

describe('pages of an allowed origin', () => {
  it('may send the headers of the SDKs', async () => {
    const asked = 'authorization,content-type,x-stainless-arch,x-stainless-os,x-stainless-retry-count';
    const answer = await fetch(`${demo.url}/v1/chat/completions`, {
      method: 'OPTIONS',
      headers: {
        origin: ORIGIN,
        'access-control-request-method': 'POST',
        'access-control-request-headers': asked,
      },
    });
    expect(answer.status).toBe(204);
    expect(answer.headers.get('access-control-allow-headers')).toBe(asked);
    const foreign = { origin: 'https://evil.example', 'access-control-request-headers': asked };
    const refused = await fetch(`${demo.url}/v1/models`, { method: 'OPTIONS', headers: foreign });
    expect([refused.status, refused.headers.get('access-control-allow-headers')]).toEqual([403, null]);
  });
});

describe('answers', () => {
  it('have usage: null before the last chunk, where usage is asked for', async () => {
    for (const path of [CHAT, '/v1/completions']) {
      const prompt = path === CHAT ? { messages: [hi] } : { prompt: 'Hi' };
      const text = await (
        await post(path, { ...prompt, stream: true, stream_options: { include_usage: true } })
      ).text();
      const chunks = text
        .split('\n\n')
        .filter((line) => line.startsWith('data: {'))
        .map((line) => JSON.parse(line.slice(6)));
      expect(chunks.slice(0, -1).every((chunk) => chunk.usage === null)).toBe(true);
      expect(chunks.at(-1).usage.total_tokens).toBeGreaterThan(0);
    }
  });

  it('have the error shape of their API on every path', async () => {
    const shape = async (path: string, method: string, headers = {}) =>
      (await (await fetch(demo.url + path, { method, headers })).json()) as { type?: string };
    expect((await shape('/v1/messages/batches', 'POST')).type).toBe('error');
    expect((await shape('/v1/messages', 'GET')).type).toBe('error');
    expect((await shape('/v1/models/none', 'GET', { 'anthropic-version': '2023-06-01' })).type).toBe('error');
    expect((await shape('/v1/files', 'GET')).type).toBeUndefined();
  });

  it('keep the digits of calls, from the replay to the prompt', async () => {
    const digits = '12345678901234567890';
    const body = `{"model":"demo","max_tokens":1,"temperature":1.0,"messages":[{"role":"user","content":"Hi"},{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{"n":${digits}}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"{\\"m\\":${digits}}"}]}]}`;
    const headers = { 'content-type': 'application/json' };
    const count = async (text: string) => {
      const counted = text.replace('"max_tokens":1,"temperature":1.0,', '');
      const answer = await fetch(`${demo.url}/v1/messages/count_tokens`, {
        method: 'POST',
        headers,
        body: counted,
      });
      return ((await answer.json()) as { input_tokens: number }).input_tokens;
    };
    expect((await fetch(`${demo.url}/v1/messages`, { method: 'POST', headers, body })).status).toBe(200);
    // Zeros instead of the digits would be other tokens.
    expect(await count(body)).toBeGreaterThan(await count(body.replaceAll(digits, '1')));
  });

  it('give signatures that bring a thought back that was not shown', async () => {
    const client = new Anthropic({ baseURL: demo.url, apiKey: 'none', maxRetries: 0 });
    const thinking = { type: 'enabled' as const, budget_tokens: 20 };
    const question = { role: 'user' as const, content: 'What is 31 + 90?' };
    const create = (display: 'omitted' | 'summarized') =>
      client.messages.create({
        model: 'demo',
        max_tokens: 40,
        ...({ temperature: 0 } as object),
        messages: [question],
        thinking: { ...thinking, display },
      });
    const [hidden] = (await create('omitted')).content;
    const [shown] = (await create('summarized')).content;
    expect(hidden).toMatchObject({
      type: 'thinking',
      thinking: '',
      signature: expect.stringMatching(/^thought\./),
    });
    expect(shown).toMatchObject({ type: 'thinking', thinking: expect.stringMatching(/./) });
    // In the middle of a turn with tools, templates keep thoughts.
    const count = async (...thoughts: readonly object[]) => {
      const call = { type: 'tool_use', id: 'a', name: 'f', input: {} };
      const result = { type: 'tool_result', tool_use_id: 'a', content: 'x' };
      const messages = [
        question,
        { role: 'assistant', content: [...thoughts, call] },
        { role: 'user', content: [result] },
      ] as Anthropic.MessageParam[];
      return (await client.messages.countTokens({ model: 'demo', thinking, messages })).input_tokens;
    };
    expect(await count(hidden!)).toBe(await count(shown!));
    expect(await count(hidden!)).toBeGreaterThan(await count());
  });

  it('continue what the assistant began', async () => {
    const client = new Anthropic({ baseURL: demo.url, apiKey: 'none', maxRetries: 0 });
    const answer = await client.messages.create({
      model: 'demo',
      max_tokens: 20,
      ...({ temperature: 0 } as object),
      messages: [
        { role: 'user', content: 'What is 31 + 90?' },
        { role: 'assistant', content: '31 + 90 =' },
      ],
    });
    expect(answer.content).toMatchObject([{ type: 'text', text: ' 121' }]);
    const open = [
      {
        role: 'assistant',
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }],
      },
    ];
    expect((await post(CHAT, { messages: [hi, ...open] })).status).toBe(400);
  });

  it('say what is missing for a picture in the result of a tool', async () => {
    const content = [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: PICTURE } }];
    const answer = await post(MESSAGES, {
      messages: [
        hi,
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'look', input: {} }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content }] },
      ],
    });
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining('image input')]);
  });
});
