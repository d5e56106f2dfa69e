import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../../../fixtures/seeded-random.js';
import { parseExactJson, stringifyExactJson } from './exact-json.js';
import { ExactNumber, pythonNumber } from './exact-number.js';

describe('parseExactJson', () => {
  it.each([
    '{"a":12345678901234567890,"b":[1e400,-0,-0.0,1.0,1E5,0.10]}',
    '12345678901234567890',
    '[1,2.5,"12345678901234567890","\\"1e400,",{"1.0":"\\\\"},9007199254740993]',
  ])('keeps the digits of %s', (text) => {
    expect(stringifyExactJson(parseExactJson(text))).toBe(text);
  });

  it('returns the same as JSON.parse if numbers are exact', () => {
    const text = '{"__proto__":{"x":1},"a":[0,1,-5,0.5,1e+21,123456789012345680000],"b":"\\\\\\"1.0"}';
    expect(parseExactJson(text)).toEqual(JSON.parse(text));
    expect(Object.keys(parseExactJson('{"__proto__":1.0}') as object)).toEqual(['__proto__']);
    expect(() => parseExactJson('{"a":01}')).toThrow(SyntaxError);
  });

  it('handles all kinds of strings between all kinds of numbers', () => {
    const random = new SeededRandom(7);
    const numbers = ['1', '1.0', '-0', '1e400', '0.1', '12345678901234567890', '1E-7'];
    const texts = ['', '\\\\', '\\"', '1.0', ',', '[', '\\u0022', 'number-', '\\\\\\"1.0'];
    for (let round = 0; round < 2000; round++) {
      const items = Array.from({ length: random.integer(0, 6) }, () =>
        random.next() < 0.5 ? random.pick(numbers) : `"${random.pick(texts)}"`,
      );
      const text = `[${items.join(',')}]`;
      const expected = items.map((item) => (item.startsWith('"') ? JSON.stringify(JSON.parse(item)) : item));
      expect(stringifyExactJson(parseExactJson(text))).toBe(`[${expected.join(',')}]`);
    }
  });

  it('reads long strings at the speed of JSON.parse: one search per string, not one step per character', () => {
    const text = `{"n":1.0,"image":"${'QUJD'.repeat(2_000_000)}"}`;
    expect((parseExactJson(text) as { n: ExactNumber }).n).toEqual(new ExactNumber('1.0'));
  });
});

describe('stringifyExactJson', () => {
  it('writes bigints, while JSON.stringify writes the closest number', () => {
    expect(stringifyExactJson({ a: 2n ** 70n, b: [new ExactNumber('1e400')], c: undefined })).toBe(
      '{"a":1180591620717411303424,"b":[1e400]}',
    );
    expect(JSON.stringify({ a: new ExactNumber('1.50') })).toBe('{"a":1.5}');
  });
});

describe('pythonNumber', () => {
  it.each([
    ['1', '1'],
    ['-0', '0'],
    ['12345678901234567890', '12345678901234567890'],
    ['1.0', '1.0'],
    ['-0.0', '-0.0'],
    ['2.50', '2.5'],
    ['1e-7', '1e-07'],
    ['1e-5', '1e-05'],
    ['0.0001', '0.0001'],
    ['1e15', '1000000000000000.0'],
    ['1e16', '1e+16'],
    ['1.5E300', '1.5e+300'],
    ['123456789012345680.0', '1.2345678901234568e+17'],
    ['100.0', '100.0'],
    // Python would round these.
    ['1e400', '1e400'],
    ['0.1234567890123456789', '0.1234567890123456789'],
  ])('prints %s as %s', (text, printed) => {
    expect(pythonNumber(new ExactNumber(text))).toBe(printed);
  });

  it('accepts numbers and bigints', () => {
    expect([pythonNumber(5), pythonNumber(0.5), pythonNumber(1e21), pythonNumber(2n ** 70n)]).toEqual([
      '5',
      '0.5',
      '1e+21',
      '1180591620717411303424',
    ]);
  });
});
