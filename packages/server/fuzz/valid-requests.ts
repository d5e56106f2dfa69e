/** A request as it is sent. */
export interface WireRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

const SCHEMA = {
  type: 'object',
  properties: { a: { type: 'string', maxLength: 4 }, b: { enum: [1, null, 'x'] }, c: { $ref: '#/$defs/d' } },
  required: ['a'],
  $defs: { d: { type: 'array', items: { type: 'integer', minimum: 1 }, maxItems: 2 } },
};
const FUNCTION = { name: 'get_weather', description: 'Weather.', parameters: SCHEMA };
const IMAGE = 'data:image/png;base64,iVBORw0KGgo=';

/** Valid requests that cover most of the APIs; malformed ones are derived from them. */
export const VALID_REQUESTS: readonly WireRequest[] = [
  post('/v1/chat/completions', {
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [
          { id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{"a":"b"}' } },
        ],
      },
      { role: 'tool', tool_call_id: 'c1', content: '{"t":1}' },
    ],
    tools: [{ type: 'function', function: FUNCTION }],
    tool_choice: 'auto',
    max_tokens: 2,
    stop: ['x', 'y'],
    logit_bias: { 5: -100 },
    logprobs: true,
    top_logprobs: 2,
    seed: 1,
    n: 2,
    temperature: 1,
    top_p: 0.9,
    reasoning_effort: 'low',
  }),
  post('/v1/chat/completions', {
    messages: [{ role: 'user', content: 'Give me JSON.' }],
    response_format: { type: 'json_schema', json_schema: { name: 'x', schema: SCHEMA } },
    max_tokens: 40,
    stream: true,
    stream_options: { include_usage: true },
  }),
  post('/v1/chat/completions', {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: IMAGE, detail: 'low' } },
          { type: 'input_audio', input_audio: { data: 'UklGRg==', format: 'wav' } },
          { type: 'image_url', image_url: { url: 'http://169.254.169.254/latest/meta-data' } },
        ],
      },
    ],
    max_tokens: 1,
  }),
  post('/v1/completions', { prompt: ['Once', 'The'], max_tokens: 2, logprobs: 1, top_k: 3, min_p: 0.1 }),
  post('/v1/responses', {
    instructions: 'Be brief.',
    input: [
      { role: 'user', content: [{ type: 'input_text', text: 'Hello' }] },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] },
      { type: 'function_call', call_id: 'c', name: 'get_weather', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: 'warm' },
    ],
    tools: [{ type: 'function', ...FUNCTION, strict: true }],
    tool_choice: 'none',
    text: { format: { type: 'json_object' } },
    max_output_tokens: 12,
    stream: true,
  }),
  post('/v1/messages', {
    system: [{ type: 'text', text: 'Be brief.' }],
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'get_weather', input: { a: 'b' } }] },
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 't', content: 'warm', is_error: false }],
      },
    ],
    tools: [{ name: 'get_weather', input_schema: SCHEMA }],
    tool_choice: { type: 'tool', name: 'get_weather' },
    thinking: { type: 'enabled', budget_tokens: 2 },
    max_tokens: 60,
    stop_sequences: ['x'],
    stream: true,
  }),
  post('/v1/messages/count_tokens', { messages: [{ role: 'user', content: 'Hello' }] }),
];

function post(path: string, body: object): WireRequest {
  const headers = { 'content-type': 'application/json' };
  return { method: 'POST', path, headers, body: { model: 'demo', ...body } };
}
