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

/** The header of a PNG of this size, and no pixels. */
function png(width, height) {
  const header = Buffer.alloc(33);
  header.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13]);
  header.write('IHDR', 12, 'latin1');
  header.writeUInt32BE(width, 16);
  header.writeUInt32BE(height, 20);
  header.set([8, 2, 0, 0, 0], 24);
  header.writeUInt32BE(crc32(header.subarray(12, 29)), 29);
  const url = `data:image/png;base64,${header.toString('base64')}`;
  return media({ type: 'image_url', image_url: { url } });
}

function crc32(bytes) {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

/** Silence at 8 kHz with one byte per sample. */
function wav(seconds) {
  const data = Buffer.alloc(44 + 8000 * seconds, 128);
  data.write('RIFF', 0, 'latin1');
  data.writeUInt32LE(data.length - 8, 4);
  data.write('WAVEfmt ', 8, 'latin1');
  data.writeUInt32LE(16, 16);
  data.writeUInt16LE(1, 20);
  data.writeUInt16LE(1, 22);
  data.writeUInt32LE(8000, 24);
  data.writeUInt32LE(8000, 28);
  data.writeUInt16LE(1, 32);
  data.writeUInt16LE(8, 34);
  data.write('data', 36, 'latin1');
  data.writeUInt32LE(data.length - 44, 40);
  return media({ type: 'input_audio', input_audio: { data: data.toString('base64'), format: 'wav' } });
}

const call = { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' };
const calls = (count) => ({
  path: '/v1/responses',
  body: JSON.stringify({ model: 'demo', input: Array.from({ length: count }, () => call) }),
});
const raw = (text) => ({ path: CHAT, body: text });

/** Requests that crashed a server with default limits or blocked its event loop. Each attack creates its requests when it runs. */
export const ATTACKS = [
  {
    name: '32 MB of zeros as messages',
    requests: () => [raw(`{"model":"demo","messages":[${'0,'.repeat(16_000_000)}0]}`)],
  },
  {
    name: '2 MB of zeros as messages',
    requests: () => [raw(`{"model":"demo","messages":[${'0,'.repeat(1_000_000)}0]}`)],
  },
  {
    name: '90,000 empty objects',
    requests: () => [raw(`{"model":"demo","x":[${'{},'.repeat(44_000)}{}]}`)],
  },
  { name: '5 million levels', requests: () => [raw('['.repeat(5_000_000))] },
  { name: '30 levels of two references', requests: () => [schema(doublingSchema())] },
  ...[400, 800, 1600, 4000].map((count) => ({
    name: `${count} messages of a letter`,
    requests: () => [chat({ messages: LETTERS(count) })],
  })),
  { name: '40,000 and 4,000 function calls', requests: () => [calls(40_000), calls(4000)] },
  {
    name: 'pattern ^.*[a-z].{300}$',
    requests: () => [schema({ type: 'string', pattern: '^.*[a-z].{300}$' }, { max_tokens: 400 })],
  },
  {
    name: 'enum of 20,000 and of 9,000 strings',
    requests: () =>
      [20_000, 9000].map((count) =>
        schema({ enum: Array.from({ length: count }, (_, index) => `value ${index}`) }),
      ),
  },
  { name: '16 levels of ambiguous arrays', requests: () => [schema(ambiguousArrays(16))] },
  {
    name: '(a?){1000} three times',
    requests: () => [
      schema({
        type: 'object',
        properties: Object.fromEntries(
          ['a', 'b', 'c'].map((key) => [key, { type: 'string', pattern: '^(a?){1000}$' }]),
        ),
      }),
    ],
  },
  { name: 'WAV of 30 minutes', requests: () => [wav(1800)] },
  { name: 'PNG of 60,000 × 60,000 and 65,536 × 1', requests: () => [png(60_000, 60_000), png(65_536, 1)] },
  {
    name: 'a prompt of 7 MB',
    requests: () => [chat({ messages: [{ role: 'user', content: 'ab '.repeat(2_333_333) }] })],
  },
  {
    name: 'a prompt of 31 MB',
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
