import { describe, expect, it } from 'vitest';
import { SeededRandom } from '../../../../fixtures/seeded-random.js';
import { hashBytes } from './byte-hash.js';
import { JsonScanner } from './json-scanner.js';

/** Scans `text` from reads of at most `readBytes` bytes. */
function scanner(text: string, readBytes = 1): JsonScanner {
  const bytes = new TextEncoder().encode(text);
  return new JsonScanner(
    {
      sizeBytes: bytes.length,
      read(target, offset) {
        const piece = bytes.subarray(offset, offset + Math.min(readBytes, target.length));
        target.set(piece);
        return piece.length;
      },
    },
    'file.json',
  );
}

function randomValue(random: SeededRandom, depth: number): unknown {
  const kind = random.integer(0, depth > 4 ? 4 : 6);
  if (kind === 0) return random.pick([true, false, null]);
  if (kind === 1) return random.integer(-1e6, 1e6) / random.pick([1, 64]);
  if (kind <= 4)
    return random.pick(['', 'a"b\\', '\n\t\u0001', 'é生😀', 'x'.repeat(random.integer(0, 300)), '/', '{[']);
  const items = Array.from({ length: random.integer(0, 5) }, () => randomValue(random, depth + 1));
  return kind === 5 ? items : Object.fromEntries(items.map((item, index) => [`k"${index}`, item]));
}

describe('JsonScanner', () => {
  it.each([1, 2, 3, 7, 1000])('reads values and strings from reads of %i bytes', (readBytes) => {
    const random = new SeededRandom(readBytes);
    for (let round = 0; round < 100; round++) {
      const value = randomValue(random, 0);
      const key = String(randomValue(random, 9));
      const scan = scanner(
        `{${JSON.stringify(key)} : ${JSON.stringify(value, null, 2)},"end":42}`,
        readBytes,
      );
      scan.expect('{');
      scan.scanString();
      expect(scan.stringText()).toBe(key);
      expect(scan.stringHash).toBe(hashBytes(scan.stringSource, scan.stringBegin, scan.stringEnd));
      scan.expect(':');
      expect(scan.readValue()).toEqual(value);
      expect(scan.accept(',')).toBe(true);
      scan.scanString();
      scan.expect(':');
      expect(scan.scanInteger(99)).toBe(42);
      scan.expect('}');
      expect(scan.peek()).toBe(-1);
    }
  });

  it('keeps a string available while it scans the following bytes', () => {
    const scan = scanner(`"token"${' '.repeat(600_000)}:${' '.repeat(600_000)}7`, 100_000);
    scan.scanString();
    scan.expect(':');
    expect(scan.scanInteger(10)).toBe(7);
    expect(scan.stringText()).toBe('token');
  });

  it('reads values and strings that are larger than its window', () => {
    const value = { list: Array.from({ length: 3 }, (_, index) => `${index}é`.repeat(200_000)) };
    expect(scanner(JSON.stringify(value), 1 << 20).readValue()).toEqual(value);
    const scan = scanner(JSON.stringify(value.list[1]), 50_000);
    scan.scanString();
    expect(scan.stringText()).toBe(value.list[1]);
  });

  it('seeks backwards in the file', () => {
    const scan = scanner(`[1,${'2'.repeat(10)}]`, 3);
    scan.expect('[');
    const { offset } = scan;
    scan.skipValue();
    scan.expect(',');
    scan.offset = offset;
    expect(scan.readValue()).toBe(1);
  });

  it.each([
    '"a',
    '"\\',
    '"\\u12',
    '"\\u123x"',
    '"\\ud83d"',
    '"\\ud83d\\n"',
    '"\\ude00"',
    '"\\ud83d\\u0041"',
    '"\u0001"',
  ])('refuses the string %j', (text) => {
    expect(() => scanner(text).scanString()).toThrow(expect.objectContaining({ code: 'CORRUPT_FILE' }));
  });

  it.each(['', '[', '{"a":', ']', '+', 'nul', '[1 2]', '{"a" 1}', '"\n"', '1.2.3', '['.repeat(65)])(
    'refuses the value %j',
    (text) => {
      expect(() => scanner(text).readValue()).toThrow(expect.objectContaining({ code: 'CORRUPT_FILE' }));
    },
  );

  it.each(['-1', '101', 'x', '99999999999999999999', ''])('refuses the integer %j', (text) => {
    expect(() => scanner(text).scanInteger(100)).toThrow(expect.objectContaining({ rule: 'InvalidJson' }));
  });

  it('reports where it stopped', () => {
    const scan = scanner('  {"a" 1}', 2);
    scan.expect('{');
    scan.scanString();
    expect(() => scan.expect(':')).toThrow(expect.objectContaining({ offsetBytes: 7, path: 'file.json' }));
  });
});
