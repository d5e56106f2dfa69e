import { InvalidArgumentError } from '@markbase/core';
import { describe, expect, it } from 'vitest';
import type { Tokenizer } from '../tokenizer/index.js';
import { Automaton } from './automaton.js';
import { ANY_TEXT, choice, control, type Expression, literal, repeat, sequence } from './grammar.js';
import { TokenGrammar } from './grammar-constraint.js';
import { bytesOfToken, TokenTrie } from './token-trie.js';

/** Tokens 0..255 are bytes; then texts; then two control tokens and a stop token. */
const TEXTS = ['{"', '": ', 'ab', 'abc', '}', ' "ä', 'ä'];
const QUOTE = 256 + TEXTS.length;
const STOP = QUOTE + 1;
const SIZE = STOP + 1;
const tokenizer = {
  isSpecial: (id: number) => id >= QUOTE,
  tokenText: (id: number) => (id < SIZE ? 'x' : null),
  byteOf: (id: number) => (id < 256 ? id : null),
  decodedText: (id: number) => TEXTS[id - 256],
} as unknown as Tokenizer;
const vocabulary = { tokenizer, trie: await TokenTrie.create(tokenizer, SIZE) };

function allowedIds(mask: Int32Array | null): number[] {
  return Array.from({ length: SIZE }, (_, id) => id).filter((id) => (mask![id >> 5]! >>> (id & 31)) & 1);
}
const byte = (text: string) => text.charCodeAt(0);
const token = (text: string) => 256 + TEXTS.indexOf(text);

const grammarOf = (root: Expression) => new TokenGrammar(vocabulary, Automaton.build(root), [STOP]);

describe('TokenGrammar', () => {
  it('allows every token that begins a valid continuation, and the end where it is valid', async () => {
    const constraint = grammarOf(choice(literal('abcd'), literal('ab'), literal('x'))).constrain();
    expect(allowedIds(constraint.allowed(100))).toEqual([byte('a'), byte('x'), token('ab'), token('abc')]);
    constraint.accept(token('ab'));
    expect(allowedIds(constraint.allowed(100))).toEqual([byte('c'), STOP]);
    constraint.accept(byte('c'));
    expect(allowedIds(constraint.allowed(100))).toEqual([byte('d')]);
    constraint.accept(byte('d'));
    expect(allowedIds(constraint.allowed(100))).toEqual([STOP]);
    constraint.accept(STOP);
    expect(constraint.allowed(100)).toBeNull();
  });

  it('reads characters across tokens, and never allows a partial one before text', async () => {
    const constraint = grammarOf(sequence(literal('"'), repeat(ANY_TEXT, 1, 1), literal('"'))).constrain();
    constraint.accept(byte('"'));
    const inside = allowedIds(constraint.allowed(100));
    expect(inside).toEqual(expect.arrayContaining([token('ä'), token(' "ä'), 0xc3]));
    expect(inside).not.toContain(0xa4);
    constraint.accept(0xc3);
    expect(allowedIds(constraint.allowed(100))).toEqual(Array.from({ length: 64 }, (_, i) => 0x80 + i));
  });

  it('recognises control tokens only by their ids', async () => {
    const constraint = grammarOf(sequence(control(QUOTE), literal('ab'), control(QUOTE))).constrain();
    expect(allowedIds(constraint.allowed(100))).toEqual([QUOTE]);
    constraint.accept(QUOTE);
    constraint.accept(token('ab'));
    expect(allowedIds(constraint.allowed(100))).toEqual([QUOTE]);
    expect(() => constraint.accept(byte('x'))).toThrow(InvalidArgumentError);
  });

  it('ends in time: with little room left, it only allows what can still be finished', async () => {
    const grammar = grammarOf(sequence(repeat(literal('a'), 0), choice(literal('z'), literal('yyyy'))));
    expect(grammar.leastTokens).toBe(2);
    for (const most of [2, 3, 5, 9]) {
      const constraint = grammar.constrain();
      let left = most;
      let last = -1;
      for (; left > 0 && last !== STOP; left--) {
        // The worst case: a model that never chooses to end.
        const allowed = allowedIds(constraint.allowed(left));
        expect(allowed.length).toBeGreaterThan(0);
        last = allowed.includes(byte('y')) ? byte('y') : allowed[0]!;
        constraint.accept(last);
      }
      expect(last).toBe(STOP);
    }
  });

  it('stores the bytes of every token in its tree once', () => {
    const { trie } = vocabulary;
    expect([...trie.ids].sort((a, b) => a - b)).toEqual(Array.from({ length: QUOTE }, (_, id) => id));
    const path: number[] = [];
    for (let node = 0; node < trie.bytes.length; node++) {
      path.length = trie.depths[node]! - 1;
      path.push(trie.bytes[node]!);
      for (let at = trie.firstId[node]!; at < trie.firstId[node + 1]!; at++) {
        expect([...bytesOfToken(tokenizer, trie.ids[at]!)!]).toEqual(path);
      }
    }
  });
});
