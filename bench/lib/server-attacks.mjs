import { flac, png, wav } from './tiny-media.mjs';

const CHAT = '/v1/chat/completions';
const LETTERS = (count) =>
  Array.from({ length: count }, (_, turn) => ({ role: turn % 2 === 0 ? 'user' : 'assistant', content: 'a' }));

function chat(fields) {
  return { path: CHAT, body: JSON.stringify({ model: 'demo', max_tokens: 8, ...fields }) };
}

function schema(value, fields = {}) {
  const response_format = { type: 'json_schema', json_schema: { name: 'x', schema: value } };
  return chat({ messages: LETTERS(1), response_format, ...fields });
}

function media(part) {
  return chat({ messages: [{ role: 'user', content: [part] }] });
}

/** 30 levels of two references each. */
function doublingSchema() {
  const $defs = { d0: { type: 'string' } };
  for (let level = 1; level <= 30; level++) {
    const inner = { $ref: `#/$defs/d${level - 1}` };
    $defs[`d${level}`] = { anyOf: [inner, inner] };
  }
  return { $ref: '#/$defs/d30', $defs };
}

function ambiguousArrays(levels) {
  let value = { type: 'string' };
  for (let level = 0; level < levels; level++)
    value = { type: 'array', items: { anyOf: [value, { type: 'array', items: value }] } };
  return value;
}

/** The bytes of a file as a part of a message. */
const picture = (bytes) =>
  media({ type: 'image_url', image_url: { url: `data:image/png;base64,${bytes.toString('base64')}` } });
const sound = (bytes, format) =>
  media({ type: 'input_audio', input_audio: { data: bytes.toString('base64'), format } });

const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
const calls = (count) => ({
  path: '/v1/responses',
  body: JSON.stringify({ model: 'demo', input: Array.from({ length: count }, () => call) }),
});
const raw = (text) => ({ path: CHAT, body: text });

const HOUR = 3600;
const TOO_MUCH = [400, 413];
const upTo = (count, make) => Array.from({ length: count }, (_, index) => make(index));

/**
 * Requests that crashed a server with default limits or blocked its event loop. Each attack creates its requests when it
 * runs; `expected` are the statuses that answer it, 200 or 400 and 413 unless it says otherwise. `isQuick`: also part of the sample.
 */
export const ATTACKS = [
  {
    name: '32 MB of zeros as messages',
    expected: [413],
    requests: () => [raw(`{"model":"demo","messages":[${'0,'.repeat(16_000_000)}0]}`)],
  },
  {
    name: '2 MB of zeros as messages',
    expected: [413],
    isQuick: true,
    requests: () => [raw(`{"model":"demo","messages":[${'0,'.repeat(1_000_000)}0]}`)],
  },
  {
    name: '90,000 empty objects',
    expected: TOO_MUCH,
    isQuick: true,
    requests: () => [raw(`{"model":"demo","x":[${'{},'.repeat(44_000)}{}]}`)],
  },
  {
    name: '5 million levels',
    expected: [400],
    isQuick: true,
    requests: () => [raw('['.repeat(5_000_000)), raw('{"a":'.repeat(5_000_000))],
  },
  {
    name: '30 levels of two references',
    expected: [200],
    isQuick: true,
    requests: () => [schema(doublingSchema())],
  },
  ...[400, 800, 1600, 4000].map((count) => ({
    name: `${count} messages of a letter`,
    expected: [200, 400],
    isQuick: count === 400,
    requests: () => [chat({ messages: LETTERS(count) })],
  })),
  {
    name: '40,000 and 4,000 function calls',
    expected: TOO_MUCH,
    isQuick: true,
    requests: () => [calls(40_000), calls(4000)],
  },
  {
    name: 'pattern ^.*[a-z].{300}$',
    expected: [400],
    isQuick: true,
    requests: () => [schema({ type: 'string', pattern: '^.*[a-z].{300}$' }, { max_tokens: 400 })],
  },
  {
    name: 'three patterns of thousands of states',
    expected: [200],
    requests: () =>
      ['^.*[a-z].{13}$', '^(?:[a-m]{0,3000}|[k-z]{0,3000})$', '^\\p{L}{1,400}\\p{Lu}$'].map((pattern) =>
        schema({ type: 'string', pattern }, { max_tokens: 100 }),
      ),
  },
  {
    name: 'enum of 20,000 and of 9,000 strings',
    expected: [200, 400],
    isQuick: true,
    requests: () => [20_000, 9000].map((count) => schema({ enum: upTo(count, (index) => `value ${index}`) })),
  },
  {
    name: '16 levels of ambiguous arrays',
    expected: TOO_MUCH,
    requests: () => [schema(ambiguousArrays(16))],
  },
  {
    name: '8 levels of ambiguous arrays',
    expected: [200],
    requests: () => [schema(ambiguousArrays(8))],
  },
  {
    name: '(a?){1000} three times',
    expected: [200],
    requests: () => [
      schema({
        type: 'object',
        properties: Object.fromEntries(
          ['a', 'b', 'c'].map((key) => [key, { type: 'string', pattern: '^(a?){1000}$' }]),
        ),
      }),
    ],
  },
  { name: 'WAV of 41 minutes', expected: TOO_MUCH, requests: () => [sound(wav(41 * 60), 'wav')] },
  {
    name: '3 KB of FLAC, 3.6 hours',
    expected: TOO_MUCH,
    isQuick: true,
    requests: () => [sound(flac(3.6 * HOUR), 'flac')],
  },
  {
    name: 'PNG of 60,000 × 60,000 and 65,536 × 1',
    expected: TOO_MUCH,
    isQuick: true,
    requests: () => [picture(png(60_000, 60_000)), picture(png(65_536, 1))],
  },
  {
    name: 'a prompt of 9 MB',
    expected: TOO_MUCH,
    requests: () => [chat({ messages: [{ role: 'user', content: 'ab '.repeat(3_000_000) }] })],
  },
  {
    name: 'a prompt of 31 MB',
    expected: TOO_MUCH,
    requests: () => [chat({ messages: [{ role: 'user', content: 'x'.repeat(31_000_000) }] })],
  },
];

const POST = 'POST /v1/messages HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
const HIDDEN = 'GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n';
const LENGTHS = [
  '0x2',
  '+2',
  '-1',
  '2 2',
  '2,2',
  '1e1',
  '',
  ' ',
  '99999999999999999999',
  '2\r\nContent-Length: 3',
];
const ENCODINGS = [
  'chunked, identity',
  'identity',
  'xchunked',
  ' chunked',
  'chunked\r\nTransfer-Encoding: x',
  'chunked\r\nContent-Length: 2',
  'gzip, chunked',
  'CHUNKED ,',
];
const CHUNKS = [
  'zz\r\n{}\r\n',
  '2;a=\n\r\n{}\r\n0\r\n\r\n',
  '-2\r\n{}\r\n',
  '2\r\n{}X\r\n0\r\n\r\n',
  'fffffffff\r\n{}',
  '0x2\r\n{}\r\n0\r\n\r\n',
];

/** Requests that two HTTP parsers may interpret differently, and invalid ones. */
export const RAW_REQUESTS = [
  ...LENGTHS.map((length) => `${POST}Content-Length: ${length}\r\n\r\n{}${HIDDEN}`),
  ...ENCODINGS.map((encoding) => `${POST}Transfer-Encoding: ${encoding}\r\n\r\n5\r\n{"a"\r\n${HIDDEN}`),
  ...CHUNKS.map((chunk) => `${POST}Transfer-Encoding: chunked\r\n\r\n${chunk}`),
  'GET / HTTP/1.1\r\nHost: a\u0000b\r\n\r\n',
  'GET /health HTTP/1.1\nHost: localhost\n\n',
  'GET /health HTTP/1.1\r\nHost : localhost\r\n\r\n',
  'GET /health HTTP/1.1\r\nHost: localhost\r\n folded: header\r\n\r\n',
  `GET /${'a'.repeat(40_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`,
  'GET http://[::1 HTTP/1.1\r\nHost: [::1\r\n\r\n',
  '\u0016\u0003\u0001\u0002\u0000\u0001',
];
