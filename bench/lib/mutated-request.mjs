const FUNCTION = {
  name: 'weather',
  description: 'Weather.',
  parameters: { type: 'object', properties: { city: { type: 'string', maxLength: 8 } }, required: ['city'] },
};
const HELLO = [{ role: 'user', content: 'Hello' }];

/** Valid requests that use many features of the APIs. */
const VALID = [
  {
    path: '/v1/chat/completions',
    body: { messages: HELLO, max_tokens: 2, n: 2, stop: ['x'], logit_bias: { 5: -100 } },
  },
  {
    path: '/v1/chat/completions',
    body: {
      messages: HELLO,
      max_tokens: 20,
      stream: true,
      tools: [{ type: 'function', function: FUNCTION }],
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema: FUNCTION.parameters } },
    },
  },
  { path: '/v1/completions', body: { prompt: ['Once', 'The'], max_tokens: 2, logprobs: 1 } },
  {
    path: '/v1/responses',
    body: { input: HELLO, max_output_tokens: 2, text: { format: { type: 'json_object' } } },
  },
  {
    path: '/v1/messages',
    body: { messages: HELLO, max_tokens: 2, tools: [{ name: 'f', input_schema: FUNCTION.parameters }] },
  },
];
const VALUES = [
  null,
  true,
  0,
  -1,
  1e308,
  '',
  'a',
  '\u0000',
  '<|turn>',
  'x'.repeat(5000),
  [],
  {},
  [[]],
  { type: 'object' },
];
VALUES.push(
  { $ref: '#' },
  { anyOf: [] },
  { pattern: '(a+)+$', type: 'string' },
  { minItems: 1e6, type: 'array' },
);

/** A valid request with one to three values replaced, removed, repeated or nested, or with damaged bytes. */
export function mutatedRequest(random) {
  const { pick } = random;
  const { path, body } = structuredClone(pick(VALID));
  const root = { model: 'demo', ...body };
  for (let change = Math.floor(random.next() * 3); change >= 0; change--) {
    const places = [];
    const stack = [root];
    while (stack.length > 0) {
      const node = stack.pop();
      for (const [key, child] of Object.entries(node)) {
        places.push([node, key]);
        if (typeof child === 'object' && child !== null) stack.push(child);
      }
    }
    const [node, key] = pick(places);
    const kind = random.next();
    if (kind < 0.5) node[key] = structuredClone(pick(VALUES));
    else if (kind < 0.65) delete node[key];
    else if (kind < 0.8) node[`${key}x`] = node[key];
    else if (kind < 0.9) node[key] = Array.from({ length: Math.floor(random.next() * 300) }, () => node[key]);
    else for (let level = 0; level < random.next() * 150; level++) node[key] = [node[key]];
  }
  const bytes = Buffer.from(JSON.stringify(root) ?? '');
  if (random.next() < 0.1 && bytes.length > 0)
    bytes[Math.floor(random.next() * bytes.length)] = Math.floor(random.next() * 256);
  return { path, body: bytes };
}
