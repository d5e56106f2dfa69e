import { describe, expect, it } from 'vitest';
import { JsonShape } from './json-shape.js';
import { parseBody } from './parse-body.js';

const LONG = 'QUJD'.repeat(20_000);

function parse(text: string, textBytes = 1e6, chunkBytes = 10_007): unknown {
  const bytes = Buffer.from(text);
  const shape = new JsonShape({ depth: 100, values: 1000 });
  for (let at = 0; at < bytes.length; at += chunkBytes) shape.push(bytes.subarray(at, at + chunkBytes));
  return parseBody(bytes, shape.longStrings, textBytes);
}

describe('parseBody', () => {
  it.each<[string, string]>([
    ['a long string as the whole body', JSON.stringify(LONG)],
    ['long strings in objects and lists', JSON.stringify({ a: [LONG, { b: `${LONG}x` }], c: 1 })],
    ['a long key', `{"${LONG}" : 1, "${LONG}x": "${LONG}"}`],
    ['a long string of other characters', JSON.stringify({ a: 'é'.repeat(70_000) })],
    ['a long string with escapes', JSON.stringify([`${LONG}\n${LONG}"${LONG}`, LONG])],
    ['the name of an object property', `{"__proto__":"${LONG}"}`],
    ['no long string', '{"a":[1,"b"]}'],
  ])('returns the same as JSON.parse: %s', (_name, text) => {
    expect(parse(text)).toEqual(JSON.parse(text));
    expect(JSON.stringify(parse(text))).toBe(JSON.stringify(JSON.parse(text)));
  });

  it.each([`["${LONG}`, `["${LONG}\u0001"]`, `["${LONG}" "${LONG}"]`, `{"a":${LONG}}`])(
    'refuses invalid JSON',
    (text) => {
      expect(() => parse(text)).toThrow('not valid JSON');
    },
  );

  it('refuses a control character at any place of a long string, and nothing else of ASCII', () => {
    const printable = String.fromCharCode(...Array.from({ length: 96 }, (_, index) => 0x20 + index));
    const plain = printable.replace(/["\\]/g, '');
    for (let shift = 0; shift < 5; shift++) {
      const head = `{${' '.repeat(shift)}"a":"`;
      const content = plain.repeat(800).slice(0, 70_000 + shift);
      expect(parse(`${head}${content}"}`)).toEqual({ a: content });
      for (const at of [
        0,
        1,
        2,
        3,
        35_000,
        35_001,
        35_002,
        35_003,
        ...[4, 3, 2, 1].map((n) => content.length - n),
      ]) {
        for (const control of ['\u0000', '\u001f', '\n']) {
          const broken = content.slice(0, at) + control + content.slice(at + 1);
          expect(() => parse(`${head}${broken}"}`)).toThrow('not valid JSON');
        }
      }
    }
  });

  it('limits the text apart from long strings', () => {
    expect(parse(JSON.stringify([LONG, LONG]), 1000)).toEqual([LONG, LONG]);
    expect(() => parse(JSON.stringify([LONG, 'é'.repeat(600)]), 1000)).toThrow('limits.textBytes');
    expect(() => parse(JSON.stringify(['é'.repeat(70_000)]), 1000)).toThrow('limits.textBytes');
  });
});
