import { describe, expect, it } from 'vitest';
import { JsonShape } from './json-shape.js';

const measure = (text: string, limits: { depth?: number; values?: number }, pieceBytes = 1_000_000) => {
  const shape = new JsonShape({ depth: 100, values: 1000, ...limits });
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const excess = shape.push(bytes.subarray(at, at + pieceBytes));
    if (excess) return excess;
  }
  return null;
};

describe('JsonShape', () => {
  it('counts values and keys', () => {
    const text = '{"a":[1,2,{}],"b":null}';
    // An object, two keys and their values, three items, and one for the braces of the first.
    expect(measure(text, { values: 9 })).toBeNull();
    expect(measure(text, { values: 5 })).toBe('values');
  });

  it('counts levels', () => {
    expect(measure('[[[]],[[]]]', { depth: 3 })).toBeNull();
    expect(measure('[[[[]]]]', { depth: 3 })).toBe('depth');
  });

  it.each([1, 2, 3, 7, 1000])('ignores the content of strings, in pieces of %i bytes', (pieceBytes) => {
    for (const inner of ['[[[[[[', ',,,,,,,,', '\\"[[[[', '\\\\', '\\\\\\"[[[[[', '\\\\\\\\', 'é🙂[[[[']) {
      const text = `["${inner}","${inner}"]`;
      expect(measure(text, { depth: 1, values: 3 }, pieceBytes), text).toBeNull();
      expect(measure(`${text.slice(0, -1)},[[]]]`, { depth: 1 }, pieceBytes), text).toBe('depth');
    }
  });

  it('refuses a text with 5 million levels at its first bytes', () => {
    const shape = new JsonShape({ depth: 200, values: 300_000 });
    expect(shape.push(Buffer.alloc(65_536, '['))).toBe('depth');
  });
});
