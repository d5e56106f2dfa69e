import { EventLoopSlice } from '../tokenizer/event-loop-slice.js';
import type { Tokenizer } from '../tokenizer/index.js';

const encoder = new TextEncoder();
/** Number of tokens between two places where work may pause. */
const TOKENS_PER_STEP = 512;
/** Below this many tokens, sorting by comparison is faster than by counting. */
const FEW_TOKENS = 32;

/**
 * The bytes of all text tokens, as a tree in depth-first order: when a walk meets an impossible byte, it skips the
 * node's subtree.
 */
export class TokenTrie {
  /** Number of ids in the vocabulary, gaps included. */
  readonly vocabularySize: number;
  /** [nodes] the byte that leads to a node. */
  readonly bytes: Uint8Array;
  /** [nodes] number of bytes that lead to a node. */
  readonly depths: Uint16Array;
  /** [nodes] the first node after a node's subtree. */
  readonly ends: Int32Array;
  /** [nodes + 1] where a node's tokens start in `ids`. */
  readonly firstId: Int32Array;
  /** Token ids, grouped by node; several tokens may have the same bytes. */
  readonly ids: Int32Array;
  private constructor(vocabularySize: number, tree: Tree) {
    this.vocabularySize = vocabularySize;
    this.bytes = tree.bytes;
    this.depths = tree.depths;
    this.ends = tree.ends;
    this.firstId = tree.firstId;
    this.ids = tree.ids;
  }

  /** Builds the tree. For a large vocabulary, the event loop gets its turn in between. */
  static async create(tokenizer: Tokenizer, vocabularySize: number): Promise<TokenTrie> {
    const slice = new EventLoopSlice();
    const tokens = await slice.run(tokenBytes(tokenizer, vocabularySize));
    await slice.run(sortByBytes(tokens, 0, tokens.order.length, 0));
    return new TokenTrie(vocabularySize, await slice.run(treeOf(tokens)));
  }
}

type Tree = Pick<TokenTrie, 'bytes' | 'depths' | 'ends' | 'firstId' | 'ids'>;

/** The tree of sorted tokens. */
function* treeOf(tokens: TokenBytes): Generator<void, Tree> {
  const { order, offsets } = tokens;
  const total = tokens.bytes.length;
  const bytes = new Uint8Array(total);
  const depths = new Uint16Array(total);
  const ends = new Int32Array(total);
  const firstId = new Int32Array(total + 1);
  const ids = new Int32Array(order.length);
  const open: number[] = [];
  let nodes = 0;
  let previous: Uint8Array = new Uint8Array(0);
  for (const [index, token] of order.entries()) {
    if (index % TOKENS_PER_STEP === 0) yield;
    const own = tokens.bytes.subarray(offsets[token]!, offsets[token + 1]!);
    let shared = 0;
    while (shared < previous.length && previous[shared] === own[shared]) shared++;
    while (open.length > shared) ends[open.pop()!] = nodes;
    for (let at = shared; at < own.length; at++) {
      bytes[nodes] = own[at]!;
      depths[nodes] = at + 1;
      firstId[nodes] = index;
      open.push(nodes++);
    }
    ids[index] = tokens.ids[token]!;
    // Tokens of inner nodes sort first, so the last node's tokens end here for now.
    firstId[nodes] = index + 1;
    previous = own;
  }
  while (open.length > 0) ends[open.pop()!] = nodes;
  return {
    bytes: bytes.slice(0, nodes),
    depths: depths.slice(0, nodes),
    ends: ends.slice(0, nodes),
    firstId: firstId.slice(0, nodes + 1),
    ids,
  };
}

/** The bytes of a text token; null for control tokens and for ids without a token. */
export function bytesOfToken(tokenizer: Tokenizer, id: number): Uint8Array | null {
  if (tokenizer.isSpecial(id) || tokenizer.tokenText(id) === null) return null;
  const byte = tokenizer.byteOf(id);
  if (byte !== null) return Uint8Array.of(byte);
  const bytes = encoder.encode(tokenizer.decodedText(id));
  return bytes.length === 0 ? null : bytes;
}

/** All text tokens: their ids, their concatenated bytes, and their order by bytes. */
interface TokenBytes {
  readonly ids: Int32Array;
  readonly bytes: Uint8Array;
  readonly offsets: Int32Array;
  readonly order: Int32Array;
}

/** The text tokens in the order of their ids. */
function* tokenBytes(tokenizer: Tokenizer, vocabularySize: number): Generator<void, TokenBytes> {
  const ids: number[] = [];
  const offsets = [0];
  let bytes = new Uint8Array(vocabularySize * 8);
  let used = 0;
  for (let id = 0; id < vocabularySize; id++) {
    if (id % TOKENS_PER_STEP === 0) yield;
    const own = bytesOfToken(tokenizer, id);
    if (!own) continue;
    if (used + own.length > bytes.length) {
      const grown = new Uint8Array(bytes.length * 2 + own.length);
      grown.set(bytes);
      bytes = grown;
    }
    bytes.set(own, used);
    used += own.length;
    ids.push(id);
    offsets.push(used);
  }
  const order = Int32Array.from(ids.keys());
  return {
    ids: Int32Array.from(ids),
    bytes: bytes.slice(0, used),
    offsets: Int32Array.from(offsets),
    order,
  };
}

/** Radix sort of the tokens [begin, end), whose first `depth` bytes are equal. The sort is stable. */
function* sortByBytes(tokens: TokenBytes, begin: number, end: number, depth: number): Generator<void, void> {
  if (end - begin > TOKENS_PER_STEP) yield;
  const { bytes, offsets, order } = tokens;
  if (end - begin < FEW_TOKENS) {
    const textOf = (token: number) => bytes.subarray(offsets[token]! + depth, offsets[token + 1]!);
    order.subarray(begin, end).sort((a, b) => Buffer.compare(textOf(a), textOf(b)) || a - b);
    return;
  }
  const keyOf = (token: number): number => {
    const at = offsets[token]! + depth;
    return at < offsets[token + 1]! ? bytes[at]! + 1 : 0;
  };
  const starts = new Int32Array(258);
  for (let index = begin; index < end; index++) starts[keyOf(order[index]!) + 1]!++;
  for (let key = 0; key < 257; key++) starts[key + 1]! += starts[key]!;
  const sorted = new Int32Array(end - begin);
  const next = starts.slice();
  for (let index = begin; index < end; index++) {
    const token = order[index]!;
    sorted[next[keyOf(token)]!++] = token;
  }
  order.set(sorted, begin);
  for (let key = 1; key < 257; key++) {
    yield* sortByBytes(tokens, begin + starts[key]!, begin + starts[key + 1]!, depth + 1);
  }
}
