import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../../../fixtures/seeded-random.js';
import { loadTestTokenizer, tokenizerJson } from '../../test/test-tokenizer.js';
import type { Tokenizer } from './tokenizer.js';

function model(changes: Record<string, unknown>): Record<string, unknown> {
  return { model: { ...(tokenizerJson().model as object), ...changes } };
}

/** A vocabulary of a few tokens, with merge rules. */
function tiny(
  tokens: string[],
  merges: unknown[],
  changes: Record<string, unknown> = {},
): Record<string, unknown> {
  const vocab = Object.fromEntries(tokens.map((token, id) => [token, id]));
  return { added_tokens: [], ...model({ vocab, merges, byte_fallback: false, unk_token: null, ...changes }) };
}

function texts(tokenizer: Tokenizer, text: string): (string | null)[] {
  return [...tokenizer.encode(text)].map((id) => tokenizer.tokenText(id));
}

describe('encode', () => {
  it('merges the pair with the lowest rank first, leftmost among equals', async () => {
    const tokenizer = await loadTestTokenizer(
      tiny(
        ['a', 'b', 'c', 'ab', 'bc', 'aa', 'abc'],
        [
          ['b', 'c'],
          ['a', 'a'],
          ['a', 'b'],
          ['a', 'bc'],
        ],
      ),
    );
    expect(texts(tokenizer, 'abc')).toEqual(['abc']);
    expect(texts(tokenizer, 'aaab')).toEqual(['aa', 'ab']);
    expect(texts(tokenizer, 'aaaaa')).toEqual(['aa', 'aa', 'a']);
  });

  it('reads merge rules that are strings', async () => {
    const tokenizer = await loadTestTokenizer(tiny(['a', 'b', 'ab'], ['a b']));
    expect(texts(tokenizer, 'abab')).toEqual(['ab', 'ab']);
  });

  it('never applies a rule whose result is not in the vocabulary', async () => {
    const rules = [
      ['a', 'b'],
      ['b', 'c'],
      ['x', 'a'],
    ];
    const tokenizer = await loadTestTokenizer(tiny(['a', 'b', 'c', 'bc'], rules));
    expect(texts(tokenizer, 'abc')).toEqual(['a', 'bc']);
  });

  it('applies the later of two rules for the same pair', async () => {
    const tokens = ['a', 'b', 'c', 'ab', 'bc'];
    const rules = [
      ['a', 'b'],
      ['b', 'c'],
      ['a', 'b'],
    ];
    expect(texts(await loadTestTokenizer(tiny(tokens, rules)), 'abc')).toEqual(['a', 'bc']);
  });

  it('never turns text into a control token', async () => {
    const tokens = ['<', '>', 'e', '<e', '<e>'];
    const rules = [
      ['<', 'e'],
      ['<e', '>'],
    ];
    const special = { id: 4, content: '<e>', special: true, normalized: false };
    const tokenizer = await loadTestTokenizer({ ...tiny(tokens, rules), added_tokens: [special] });
    expect(texts(tokenizer, '<e>')).toEqual(['<e', '>']);
    expect([...tokenizer.encode('<e>', { parseSpecial: true })]).toEqual([4]);
  });

  it('encodes unknown characters as bytes', async () => {
    const tokenizer = await loadTestTokenizer();
    expect(texts(tokenizer, 'é')).toEqual(['<0xC3>', '<0xA9>']);
    expect(tokenizer.decode(tokenizer.encode('aé😀'))).toBe('aé😀');
  });

  it('fuses unknown characters if there are no byte tokens', async () => {
    const fused = await loadTestTokenizer(tiny(['?', 'a'], [], { unk_token: '?', fuse_unk: true }));
    expect(texts(fused, 'xyaz')).toEqual(['?', 'a', '?']);
    const single = await loadTestTokenizer(tiny(['?', 'a'], [], { unk_token: '?', fuse_unk: false }));
    expect(texts(single, 'xyaz')).toEqual(['?', '?', 'a', '?']);
    const none = await loadTestTokenizer(tiny(['a'], []));
    expect(texts(none, 'xyaz')).toEqual(['a']);
  });

  it('uses <unk> for characters with a missing byte token', async () => {
    const tokenizer = await loadTestTokenizer(
      tiny(['?', '<0xC3>', '<0xA9>'], [], { unk_token: '?', byte_fallback: true }),
    );
    expect(texts(tokenizer, 'éxé')).toEqual(['<0xC3>', '<0xA9>', '?', '<0xC3>', '<0xA9>']);
  });

  it('finds the longest added token, before or after normalisation', async () => {
    const added = [
      { id: 300, content: '<a>', special: false, normalized: false },
      { id: 301, content: '<a><b>', special: false, normalized: false },
      { id: 302, content: 'of the', special: false, normalized: true },
    ];
    const tokenizer = await loadTestTokenizer({
      ...tiny(['x', '▁'], []),
      added_tokens: added,
    });
    expect([...tokenizer.encode('<a>x<a><b>of the')]).toEqual([300, 0, 301, 302]);
    expect([...tokenizer.encode('of▁the')]).toEqual([302]);
    expect(tokenizer.vocabSize).toBe(303);
    expect(tokenizer.decode([300, 1, 302, 299])).toBe('<a> of the');
  });

  it('splits at digits and literals', async () => {
    const pair = ['1', '2', '12', 'a', 'a1', '-', 'a-'];
    const rules = [
      ['1', '2'],
      ['a', '1'],
      ['a', '-'],
    ];
    const digits = (individual_digits: boolean) => ({ type: 'Digits', individual_digits });
    const single = await loadTestTokenizer({ ...tiny(pair, rules), pre_tokenizer: digits(true) });
    expect(texts(single, 'a12')).toEqual(['a', '1', '2']);
    const runs = await loadTestTokenizer({ ...tiny(pair, rules), pre_tokenizer: digits(false) });
    expect(texts(runs, 'a12')).toEqual(['a', '12']);
    const expected = {
      Isolated: ['a', '-', '12'],
      Removed: ['a', '12'],
      MergedWithPrevious: ['a-', '12'],
      MergedWithNext: ['a', '-', '12'],
    };
    for (const [behavior, tokens] of Object.entries(expected)) {
      const split = { type: 'Split', pattern: { String: '-' }, behavior, invert: false };
      const pre_tokenizer = { type: 'Sequence', pretokenizers: [split, digits(false)] };
      expect(texts(await loadTestTokenizer({ ...tiny(pair, rules), pre_tokenizer }), 'a-12')).toEqual(tokens);
    }
  });

  it('encodes a whole text like its words', async () => {
    const tokens = ['a', '▁', '>', '▁a', 'a▁', '>▁', '>▁a'];
    const rules = [
      ['▁', 'a'],
      ['>', '▁a'],
      ['>', '▁'],
    ];
    const tokenizer = await loadTestTokenizer(tiny(tokens, rules));
    expect(texts(tokenizer, 'a a > a')).toEqual(['a', '▁a', '▁', '>▁a']);
  });

  it('recognises control tokens that the file does not mark', async () => {
    const tokenizer = await loadTestTokenizer({ added_tokens: [] });
    const turn = tokenizer.idOf('<|turn>')!;
    expect([...tokenizer.encode('<|turn>', { parseSpecial: true })]).toEqual([turn]);
    expect([...tokenizer.encode('<|turn>')]).not.toContain(turn);
    expect(tokenizer.isSpecial(turn)).toBe(true);
  });

  it('returns nothing for empty text', async () => {
    const tokenizer = await loadTestTokenizer();
    expect(tokenizer.encode('')).toHaveLength(0);
    expect(tokenizer.decode([])).toBe('');
  });
});

describe('decode', () => {
  it('omits control tokens on request', async () => {
    const tokenizer = await loadTestTokenizer();
    const ids = tokenizer.encode('<bos>hi<turn|>', { parseSpecial: true });
    expect(tokenizer.decode(ids)).toBe('<bos>hi<turn|>');
    expect(tokenizer.decode(ids, { skipSpecial: true })).toBe('hi');
  });

  it('keeps a leading space and ignores ids without a token', async () => {
    const tokenizer = await loadTestTokenizer();
    expect(tokenizer.decode([...tokenizer.encode(' hi'), 99_999, -1])).toBe(' hi');
    expect(tokenizer.tokenText(99_999)).toBeNull();
    expect(tokenizer.idOf('no such token')).toBeNull();
  });

  it('restores random text', async () => {
    const tokenizer = await loadTestTokenizer();
    const random = new SeededRandom(7);
    for (let round = 0; round < 500; round++) {
      const codes = Array.from({ length: random.integer(0, 40) }, () =>
        random.integer(0, random.pick([0x7f, 0x7ff, 0xd7ff, 0x10ffff])),
      );
      const text = String.fromCodePoint(...codes).replace(/\p{Cs}|▁/gu, '?');
      expect(tokenizer.decode(tokenizer.encode(text))).toBe(text);
    }
  });
});
