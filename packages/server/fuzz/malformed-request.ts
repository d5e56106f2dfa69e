import type { SeededRandom } from '../../../fixtures/seeded-random.js';
import { VALID_REQUESTS, type WireRequest } from './valid-requests.js';

/** A request with its body as bytes. */
export interface RawRequest extends Omit<WireRequest, 'body'> {
  readonly body: Uint8Array<ArrayBuffer> | null;
}

/** Values that are invalid nearly everywhere, and some that are invalid only in places. */
const VALUES: readonly unknown[] = [
  ...[null, true, false, 0, -1, 1, 2, 0.5, 1e308, -1e308, 2 ** 31, 2 ** 53, 1e-320, 65_536],
  ...[
    '',
    'a',
    '\u0000',
    '\ud800',
    '<|turn>',
    '<|"|>',
    '<turn|>',
    '{}',
    '[',
    'data:;base64,',
    '../../etc/passwd',
  ],
  ...[
    'x'.repeat(5000),
    '🙂'.repeat(500),
    '__proto__',
    'constructor',
    '#/$defs/missing',
    '#',
    '(a+)+$',
    '[',
    '\\',
  ],
  ...[
    [],
    {},
    [[]],
    [null],
    [{}],
    [1, 'a', null],
    { a: {} },
    { type: 'object' },
    { type: 'string', pattern: '(?<=a)b' },
  ],
  { $ref: '#' },
  { not: {} },
  { type: ['string', 'nope'] },
  { properties: [] },
  { enum: [] },
  { minLength: 1e9, type: 'string' },
  { minItems: 1e6, items: { type: 'string' }, type: 'array' },
  { anyOf: [] },
  { allOf: [{ type: 'string' }, { type: 'number' }] },
  { type: 'integer', minimum: 3, maximum: 1 },
];
const METHODS = ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD', 'POST'];
const PATHS = [
  '/',
  '/v1',
  '/v1/models/..%2f',
  '/v1/chat/completions/',
  '/metrics',
  '/%00',
  '/v1/messages?x=1',
  '/health',
];
const TYPES = [
  'text/plain',
  'application/json; charset=utf-16',
  '',
  'multipart/form-data',
  'application/x-json',
];

/** A request with one or more faults. The same random numbers produce the same request. */
export function malformedRequest(random: SeededRandom): RawRequest {
  const valid = random.pick(VALID_REQUESTS);
  const kind = random.next();
  if (kind < 0.7) {
    let body: unknown = structuredClone(valid.body);
    for (let change = random.integer(1, 3); change > 0; change--) body = changed(body, random);
    return { ...valid, body: bytesOf(JSON.stringify(body) ?? '') };
  }
  const bytes = bytesOf(JSON.stringify(valid.body));
  if (kind < 0.85) return { ...valid, body: damaged(bytes, random) };
  if (kind < 0.9) return { ...valid, headers: { 'content-type': random.pick(TYPES) }, body: bytes };
  const method = random.pick(METHODS);
  const body = method === 'GET' || method === 'HEAD' ? null : bytes;
  return { ...valid, method, path: random.pick(PATHS), body };
}

/** Replaces, removes, adds, repeats or wraps a value somewhere in the tree. */
function changed(root: unknown, random: SeededRandom): unknown {
  const places: { parent: Record<string, unknown>; key: string }[] = [];
  const stack: unknown[] = [root];
  for (let node = stack.pop(); node !== undefined; node = stack.pop()) {
    if (typeof node !== 'object' || node === null) continue;
    for (const [key, child] of Object.entries(node)) {
      places.push({ parent: node as Record<string, unknown>, key });
      stack.push(child);
    }
  }
  if (places.length === 0 || random.next() < 0.02) return anyValue(random);
  const { parent, key } = random.pick(places);
  const kind = random.integer(0, 5);
  if (kind <= 2) parent[key] = anyValue(random);
  else if (kind === 3) delete parent[key];
  else if (kind === 4)
    parent[String(random.pick(['extra', 'type', '$ref', 'content', '99']))] = anyValue(random);
  else parent[key] = nested(parent[key], random.integer(1, 150));
  return root;
}

/** A copy of the value, which may be modified further. */
function anyValue(random: SeededRandom): unknown {
  return structuredClone(random.pick(VALUES));
}

function nested(value: unknown, levels: number): unknown {
  let wrapped = value;
  for (let level = 0; level < levels; level++) wrapped = level % 2 === 0 ? [wrapped] : { items: wrapped };
  return wrapped;
}

/** Cuts off, changes or adds bytes. */
function damaged(bytes: Uint8Array<ArrayBuffer>, random: SeededRandom): Uint8Array<ArrayBuffer> {
  if (random.next() < 0.4) return bytes.slice(0, random.integer(0, bytes.length - 1));
  const copy = random.next() < 0.3 ? bytesOf(`${new TextDecoder().decode(bytes)}}{`) : bytes.slice();
  for (let change = random.integer(1, 6); change > 0; change--) {
    copy[random.integer(0, copy.length - 1)] = random.integer(0, 255);
  }
  return copy;
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}
