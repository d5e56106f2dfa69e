import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../../../fixtures/seeded-random.js';
import { tokenizerJson, writeTokenizer } from '../../test/test-tokenizer.js';
import { loadTokenizer } from './load-tokenizer.js';

async function load(content: unknown): Promise<unknown> {
  return loadTokenizer(await writeTokenizer(content));
}

function withModel(changes: Record<string, unknown>): Record<string, unknown> {
  return tokenizerJson({ model: { ...(tokenizerJson().model as object), ...changes } });
}

const unsupported = (component: string) =>
  expect.objectContaining({ code: 'UNSUPPORTED_TOKENIZER', component });
const corrupt = expect.objectContaining({ code: 'CORRUPT_FILE' });

describe('loadTokenizer', () => {
  it('reads the same with any key order and any layout', async () => {
    const { model, ...rest } = tokenizerJson();
    const { vocab, merges, type, ...options } = model as Record<string, unknown>;
    const reordered = { model: { merges, ...options, vocab, type }, ...rest };
    const text = 'call the  weather\n\nthought 😀';
    const ids = (await loadTokenizer(await writeTokenizer(tokenizerJson()))).encode(text);
    const pretty = await writeTokenizer(JSON.stringify(reordered, null, 2));
    expect((await loadTokenizer(pretty)).encode(text)).toEqual(ids);
  });

  it('reads escapes in tokens', async () => {
    const text = JSON.stringify(withModel({ vocab: { 'é"\\/\n': 0, '😀': 1, B: 2 }, merges: [] }))
      .replace('é', '\\u00E9')
      .replace('😀', '\\ud83d\\ude00')
      .replace('"B"', '"\\u0042"');
    const tokenizer = await loadTokenizer(await writeTokenizer(text));
    expect([0, 1, 2].map((id) => tokenizer.tokenText(id))).toEqual(['é"\\/\n', '😀', 'B']);
    expect(tokenizer.idOf('😀')).toBe(1);
  });

  it.each([
    ['model.type', withModel({ type: 'WordPiece' })],
    ['model.vocab', withModel({ type: 'BPE', vocab: [['a', -1.5]] })],
    ['model', tokenizerJson({ model: { vocab: { a: 0 }, unk_token: '[UNK]' } })],
    ['model.dropout', withModel({ dropout: 0.1 })],
    ['model.end_of_word_suffix', withModel({ end_of_word_suffix: '</w>' })],
    ['model.ignore_merges', withModel({ ignore_merges: true })],
    ['normalizer', tokenizerJson({ normalizer: { type: 'NFC' } })],
    [
      'normalizer',
      tokenizerJson({ normalizer: { type: 'Replace', pattern: { Regex: ' +' }, content: '▁' } }),
    ],
    ['normalizer', tokenizerJson({ normalizer: 'NFC' })],
    ['pre_tokenizer', tokenizerJson({ pre_tokenizer: { type: 'ByteLevel' } })],
    [
      'pre_tokenizer',
      tokenizerJson({ pre_tokenizer: { type: 'Split', pattern: { String: ' ' }, behavior: '?' } }),
    ],
    ['decoder', tokenizerJson({ decoder: null })],
    ['decoder', tokenizerJson({ decoder: { type: 'ByteLevel' } })],
    ['added_tokens', tokenizerJson({ added_tokens: [{ id: 1, content: 'x', lstrip: true }] })],
    [
      'normalizers',
      tokenizerJson({
        normalizer: { type: 'Sequence', normalizers: Array.from({ length: 100 }, () => ({})) },
      }),
    ],
  ])('refuses another %s', async (component, content) => {
    await expect(load(content)).rejects.toThrow(unsupported(component));
  });

  it.each([
    ['nothing', ''],
    ['another value', '[]'],
    ['no model', '{}'],
    ['no vocabulary', '{"model":{"type":"BPE","merges":[]}}'],
    ['text after the end', `${JSON.stringify(tokenizerJson())} x`],
    ['a token twice', '{"model":{"type":"BPE","vocab":{"a":0,"a":1},"merges":[]}}'],
    ['an id twice', '{"model":{"type":"BPE","vocab":{"a":0,"b":0},"merges":[]}}'],
    ['a huge id', '{"model":{"type":"BPE","vocab":{"a":99999999999},"merges":[]}}'],
    ['a fraction', '{"model":{"type":"BPE","vocab":{"a":0.5},"merges":[]}}'],
    ['a rule of three tokens', '{"model":{"type":"BPE","vocab":{"a":0},"merges":["a a a"]}}'],
    ['a rule of one', '{"model":{"type":"BPE","vocab":{"a":0},"merges":["a"]}}'],
    ['a list of three tokens', '{"model":{"type":"BPE","vocab":{"a":0},"merges":[["a","a","a"]]}}'],
    ['half a pair', '{"model":{"type":"BPE","vocab":{"\\ud83d":0},"merges":[]}}'],
    ['a wrong escape', '{"model":{"type":"BPE","vocab":{"\\x":0},"merges":[]}}'],
    ['a control character', '{"model":{"type":"BPE","vocab":{"\n":0},"merges":[]}}'],
    ['deep nesting', `{"x":${'['.repeat(100_000)}`],
    ['an added token without text', JSON.stringify(tokenizerJson({ added_tokens: [{ id: 1 }] }))],
    ['added tokens that are not a list', JSON.stringify(tokenizerJson({ added_tokens: 'none' }))],
  ])('reports a file with %s', async (_, content) => {
    await expect(load(content)).rejects.toThrow(corrupt);
  });

  it('reports truncated and corrupt files, and never fails otherwise', async () => {
    const text = JSON.stringify(tokenizerJson());
    const random = new SeededRandom(5);
    for (let round = 0; round < 60; round++) {
      await expect(load(text.slice(0, random.integer(0, text.length - 1)))).rejects.toThrow(corrupt);
      const at = random.integer(0, text.length - 1);
      const damaged =
        text.slice(0, at) + random.pick(['"', '{', ']', ',', '\\', '9', '\u0000']) + text.slice(at + 1);
      await load(damaged).catch((error: unknown) => {
        expect(error).toMatchObject({
          code: expect.stringMatching(/^(CORRUPT_FILE|UNSUPPORTED_TOKENIZER)$/),
        });
      });
    }
  });

  it('reports a missing file', async () => {
    await expect(loadTokenizer('/no/such/tokenizer.json')).rejects.toThrow(
      expect.objectContaining({ code: 'FILE_ACCESS', path: '/no/such/tokenizer.json' }),
    );
  });

  it('stops when aborted', async () => {
    const reason = new DOMException('enough', 'AbortError');
    const path = await writeTokenizer(tokenizerJson());
    await expect(loadTokenizer(path, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  });
});
