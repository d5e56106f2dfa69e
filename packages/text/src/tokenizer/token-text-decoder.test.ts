import { beforeAll, describe, expect, it } from 'vitest';
import { SeededRandom } from '../../../../fixtures/seeded-random.js';
import { loadTestTokenizer } from '../../test/test-tokenizer.js';
import { createTextDecoder } from './token-text-decoder.js';
import type { Tokenizer } from './tokenizer.js';

let tokenizer: Tokenizer;
beforeAll(async () => {
  tokenizer = await loadTestTokenizer();
});

function idsOfBytes(...bytes: number[]): number[] {
  return bytes.map((byte) => tokenizer.idOf(`<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`)!);
}

function pieces(ids: readonly number[]): string[] {
  const decoder = createTextDecoder(tokenizer);
  return [...ids.map((id) => decoder.push(id)), decoder.flush()];
}

describe('createTextDecoder', () => {
  it('holds back bytes until a character is complete', () => {
    expect(pieces(idsOfBytes(0xf0, 0x9f, 0x98, 0x80, 0x41))).toEqual(['', '', '', '😀', 'A', '']);
  });

  it('yields one U+FFFD for each byte that does not belong to a character', () => {
    expect(pieces(idsOfBytes(0xe5, 0x8f))).toEqual(['', '', '\ufffd\ufffd']);
    expect(pieces(idsOfBytes(0xe5, 0xe4, 0xbd, 0xa0, 0xff))).toEqual(['', '\ufffd', '', '你', '\ufffd', '']);
    expect(pieces([...idsOfBytes(0xf0, 0x9f), tokenizer.idOf('a')!])).toEqual(['', '', '\ufffd\ufffda', '']);
  });

  it.each([
    ['overlong', [0xc0, 0xaf]],
    ['overlong', [0xe0, 0x9f, 0x80]],
    ['overlong', [0xf0, 0x8f, 0xbf, 0xbf]],
    ['surrogate', [0xed, 0xa0, 0x80]],
    ['above U+10FFFF', [0xf4, 0x90, 0x80, 0x80]],
    ['continuation', [0x80, 0xbf]],
    ['never valid', [0xf5, 0xfe]],
  ])('refuses %s bytes %j', (_, bytes) => {
    expect(pieces(idsOfBytes(...bytes)).join('')).toBe('\ufffd'.repeat(bytes.length));
  });

  it('can be reused after flush', () => {
    const decoder = createTextDecoder(tokenizer);
    decoder.push(idsOfBytes(0xe5)[0]!);
    expect(decoder.flush()).toBe('\ufffd');
    expect(decoder.flush()).toBe('');
    expect(decoder.push(tokenizer.idOf('a')!)).toBe('a');
  });

  it('skips control tokens on request', () => {
    const decoder = createTextDecoder(tokenizer, { skipSpecial: true });
    expect(decoder.push(tokenizer.idOf('<turn|>')!)).toBe('');
  });

  it('yields the same as decode for random ids, never half of a surrogate pair, and never stalls', () => {
    const random = new SeededRandom(43);
    for (let round = 0; round < 500; round++) {
      const ids = Array.from({ length: random.integer(1, 60) }, () =>
        random.next() < 0.7
          ? idsOfBytes(random.integer(0x70, 0xff))[0]!
          : random.integer(0, tokenizer.vocabSize),
      );
      const decoder = createTextDecoder(tokenizer);
      let text = '';
      let silent = 0;
      for (const id of ids) {
        const piece = decoder.push(id);
        expect(piece).not.toMatch(/\p{Cs}/u);
        silent = piece === '' && tokenizer.byteOf(id) !== null ? silent + 1 : 0;
        expect(silent).toBeLessThan(4);
        text += piece;
      }
      expect(text + decoder.flush()).toBe(tokenizer.decode(ids));
    }
  });
});
