import { fileURLToPath } from 'node:url';
import type { Device } from '@markbase/metal-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { answerConstraint } from '../src/constraint/answer-constraint.js';
import { answerGrammar } from '../src/constraint/answer-grammar.js';
import { Automaton } from '../src/constraint/automaton.js';
import { TokenGrammar } from '../src/constraint/grammar-constraint.js';
import type { JsonSchema } from '../src/constraint/schema/json-schema.js';
import { TokenTrie } from '../src/constraint/token-trie.js';
import { loadTextModel, streamBatch, type TextModel, type TokenConstraint } from '../src/index.js';
import type { Tokenizer } from '../src/tokenizer/index.js';
import { openTestDevice } from './fixtures.js';
import { loadTestTokenizer } from './test-tokenizer.js';

const DIRECTORY = fileURLToPath(new URL('../../demo-model/model', import.meta.url));
const listed = (count: number) => Array.from({ length: count }, (_, index) => `value ${index * 7}`);
/** Schemas whose grammars take too long to build on the main thread. */
const LARGE: readonly [string, JsonSchema][] = [
  ['a pattern with thousands of states', { type: 'string', pattern: '^.*[a-z].{12}$' }],
  ['thousands of listed strings', { enum: listed(8000) }],
  ['long listed strings', { enum: ['x'.repeat(300_000), `${'x'.repeat(300_000)}y`, 'z'] }],
  ['a long string', { type: 'string', maxLength: 20_000 }],
  ['the letters of Unicode', { type: 'string', pattern: '^\\p{Lu}\\p{L}{1,40}$' }],
];

let tokenizer: Tokenizer;
beforeAll(async () => {
  tokenizer = await loadTestTokenizer();
});

const formatOf = (schema: JsonSchema) => ({
  mayThink: false,
  isReasoningOpen: false,
  responseFormat: { schema },
});
const contextOf = (signal?: AbortSignal) => ({
  tokenizer,
  vocabularySize: tokenizer.vocabSize,
  stopIds: [tokenizer.idOf('<turn|>')!],
  maxTokens: 1_000_000,
  ...(signal && { signal }),
});

/** The masks of an answer that always takes the last allowed token. */
async function masksOf(constraint: TokenConstraint): Promise<Int32Array[]> {
  const masks: Int32Array[] = [];
  for (let left = 1_000_000; left > 999_960; left--) {
    await constraint.prepare?.(left);
    const mask = constraint.allowed(left);
    if (!mask) break;
    masks.push(mask);
    const word = mask.findLastIndex((bits) => bits !== 0);
    constraint.accept(word * 32 + 31 - Math.clz32(mask[word]!));
  }
  return masks;
}

describe('large grammars', () => {
  it.each(LARGE)('are built in a worker thread, and allow the same tokens: %s', async (_name, schema) => {
    const context = contextOf();
    const automaton = Automaton.build(answerGrammar(tokenizer, formatOf(schema))!);
    const trie = await TokenTrie.create(tokenizer, tokenizer.vocabSize);
    const here = new TokenGrammar({ tokenizer, trie }, automaton, context.stopIds).constrain();
    let turns = 0;
    let isOver = false;
    const count = () => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const beside = await answerConstraint(context, formatOf(schema));
    isOver = true;
    expect(turns).toBeGreaterThan(3);
    const masks = await masksOf(beside!);
    expect(masks.length).toBeGreaterThan(1);
    expect(masks).toEqual(await masksOf(here));
  });

  it('are refused with the same error as small ones', async () => {
    const schema = { type: 'object', properties: { a: { type: 'string', pattern: '^.*[a-z].{300}$' } } };
    await expect(answerConstraint(contextOf(), formatOf(schema))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      argument: 'responseFormat.schema#/properties/a/pattern',
      message: expect.stringContaining('at most 20000 states, received "more"'),
    });
  });

  it('are built once for several answers with the same schema', async () => {
    const schema = { enum: listed(8001) };
    const constraints = await Promise.all(
      Array.from({ length: 3 }, () => answerConstraint(contextOf(), formatOf(schema))),
    );
    // Masks belong to a grammar: the same array means the same grammar.
    const [first, ...others] = constraints.map((constraint) => constraint!.allowed(1_000_000));
    for (const other of others) expect(other).toBe(first);
  });

  it('are abandoned with the reason of a signal, and the next one is built', async () => {
    const controller = new AbortController();
    const left = answerConstraint(contextOf(controller.signal), formatOf({ enum: listed(9000) }));
    const next = answerConstraint(contextOf(), formatOf({ enum: listed(8002) }));
    controller.abort(new RangeError('left'));
    await expect(left).rejects.toThrow('left');
    expect(await next).not.toBeNull();
  });

  it('cannot have functions', async () => {
    const schema = { enum: listed(9000), default: () => 1 } as unknown as JsonSchema;
    await expect(answerConstraint(contextOf(), formatOf(schema))).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      argument: 'responseFormat',
    });
  });
});

describe('an answer that prepares its next token', () => {
  let device: Device;
  let model: TextModel;
  beforeAll(async () => {
    device = await openTestDevice();
    model = await loadTextModel(DIRECTORY, device, { contextTokens: 256, maxSequences: 2 });
  });
  afterAll(() => {
    model.dispose();
    device.dispose();
  });

  it('skips steps while other answers continue', async () => {
    let finish = () => {};
    const other = new Promise<void>((resolve) => {
      finish = resolve;
    });
    let calls = 0;
    // The second token is prepared only after the other answer has ended.
    const constraint: TokenConstraint = {
      prepare: () => (++calls === 2 ? other : null),
      allowed: () => null,
      accept: () => {},
    };
    const order: number[] = [];
    const requests = [
      { prompt: 'Once', maxTokens: 3, temperature: 0, constraint },
      { prompt: 'Once', maxTokens: 12, temperature: 0 },
    ];
    for await (const { index, event } of streamBatch(model, requests)) {
      if (event.type !== 'finish') continue;
      order.push(index);
      if (index === 1) finish();
    }
    expect(order).toEqual([1, 0]);
    // Once for each token, and again when the second one was ready.
    expect(calls).toBe(4);
  });

  it('is abandoned when its signal is aborted', async () => {
    const controller = new AbortController();
    const constraint: TokenConstraint = {
      prepare: (remaining, signal) => {
        if (remaining > 1) return null;
        queueMicrotask(() => controller.abort(new RangeError('left')));
        return new Promise((_, reject) => {
          signal!.addEventListener('abort', () => reject(signal!.reason));
        });
      },
      allowed: () => null,
      accept: () => {},
    };
    const { signal } = controller;
    const reading = (async () => {
      for await (const _ of streamBatch(model, [{ prompt: 'Once', maxTokens: 2, constraint }], { signal }));
    })();
    await expect(reading).rejects.toThrow('left');
    expect(model.idleSequences).toBe(2);
  });
});
