/** A JSON value without rounding or merging. */
export type JsonValue =
  | { readonly kind: 'null' | 'boolean' }
  | { readonly kind: 'number' | 'string'; readonly text: string }
  | { readonly kind: 'array'; readonly items: readonly JsonValue[] }
  | { readonly kind: 'object'; readonly members: readonly (readonly [string, JsonValue])[] };

/** Maximum nesting of the reference reader's JSON library. */
const MAX_DEPTH = 127;

/**
 * Parses strict JSON (RFC 8259) like the reference reader's library: UTF-8 only, numbers within float64, no unpaired surrogates, 127
 * levels. Null if the text is anything else.
 *
 * Splits the text into tokens with one pattern and builds values with a stack: a deliberately different construction from the reader under
 * test.
 */
export function parseJson(bytes: Uint8Array): JsonValue | null {
  const text = Buffer.from(bytes).toString('utf8');
  // Decoding replaces invalid UTF-8, so encoding the result gives different bytes.
  if (Buffer.compare(Buffer.from(text, 'utf8'), bytes) !== 0) return null;
  const tokens = tokenize(text);
  if (tokens === null || tokens.length === 0) return null;
  const state = { tokens, at: 0 };
  const value = valueAt(state, 0);
  return state.at === tokens.length ? value : null;
}

const TOKEN =
  /[ \t\r\n]+|[{}[\],:]|true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?|"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/gy;

function tokenize(text: string): string[] | null {
  const tokens: string[] = [];
  TOKEN.lastIndex = 0;
  for (let at = 0; at < text.length; at = TOKEN.lastIndex) {
    const match = TOKEN.exec(text);
    if (match === null) return null;
    if (!/^[ \t\r\n]/.test(match[0])) tokens.push(match[0]);
  }
  return tokens;
}

interface State {
  readonly tokens: readonly string[];
  at: number;
}

function valueAt(state: State, depth: number): JsonValue | null {
  if (depth > MAX_DEPTH) return null;
  const token = state.tokens[state.at++] ?? '';
  if (token === '{') return membersAt(state, depth);
  if (token === '[') return itemsAt(state, depth);
  if (token === 'null') return { kind: 'null' };
  if (token === 'true' || token === 'false') return { kind: 'boolean' };
  if (token.startsWith('"')) {
    const text = stringOf(token);
    return text === null ? null : { kind: 'string', text };
  }
  if (!/^[-0-9]/.test(token)) return null;
  return Number.isFinite(Number(token)) ? { kind: 'number', text: token } : null;
}

function itemsAt(state: State, depth: number): JsonValue | null {
  const items: JsonValue[] = [];
  if (state.tokens[state.at] === ']') {
    state.at++;
    return { kind: 'array', items };
  }
  for (;;) {
    const item = valueAt(state, depth + 1);
    if (item === null) return null;
    items.push(item);
    const next = state.tokens[state.at++];
    if (next === ']') return { kind: 'array', items };
    if (next !== ',') return null;
  }
}

function membersAt(state: State, depth: number): JsonValue | null {
  const members: [string, JsonValue][] = [];
  if (state.tokens[state.at] === '}') {
    state.at++;
    return { kind: 'object', members };
  }
  for (;;) {
    const key = state.tokens[state.at++] ?? '';
    const name = key.startsWith('"') ? stringOf(key) : null;
    if (name === null || state.tokens[state.at++] !== ':') return null;
    const value = valueAt(state, depth + 1);
    if (value === null) return null;
    members.push([name, value]);
    const next = state.tokens[state.at++];
    if (next === '}') return { kind: 'object', members };
    if (next !== ',') return null;
  }
}

function stringOf(token: string): string | null {
  const value = JSON.parse(token) as string;
  return /\p{Surrogate}/u.test(value) ? null : value;
}
