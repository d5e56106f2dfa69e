import { describe, expect, it } from 'vitest';
import type { PromptRows } from './prompt.js';
import { Sequence } from './sequence.js';

const LIMITS = { contextTokens: 100, smallestCapacityTokens: 12, windowTokens: 8 };

function rowsOf(keys: (number | string)[], visibleEnd = keys.map((_, index) => index)): PromptRows {
  const tokens = Int32Array.from(keys, (key) => Number(key) || 0);
  return {
    begin: 0,
    end: keys.length,
    tokens,
    layerTokens: tokens,
    visibleEnd: Int32Array.from(visibleEnd),
    keys,
    soft: keys.map(() => null),
  };
}

function filled(keys: (number | string)[], visibleEnd?: number[]): Sequence {
  const sequence = new Sequence(0, LIMITS);
  const rows = rowsOf(keys, visibleEnd);
  sequence.markWritten(rows.end);
  for (const [index, key] of keys.entries()) sequence.push(key, rows.visibleEnd[index]!);
  return sequence;
}

const range = (length: number) => Array.from({ length }, (_, index) => index + 1);

describe('Sequence', () => {
  it('reuses the longest common prefix and leaves one token to compute', () => {
    expect(filled([1, 2, 3]).reusablePrefix(rowsOf([1, 2, 9, 9]))).toBe(2);
    expect(filled([1, 2, 3]).reusablePrefix(rowsOf([1, 2, 3, 4]))).toBe(3);
    expect(filled([1, 2, 3]).reusablePrefix(rowsOf([1, 2, 3]))).toBe(2);
    expect(filled([1, 2, 3]).reusablePrefix(rowsOf([7, 2, 3]))).toBe(0);
  });

  it('reuses only rows that prompts computed, up to the first other row', () => {
    const exact = { reuse: 'exact' as const };
    const sequence = filled([1, 2, 3]);
    sequence.push(4, 3, false);
    sequence.push(5, 4);
    const rows = rowsOf([1, 2, 3, 4, 5, 6]);
    expect(sequence.reusablePrefix(rows)).toBe(5);
    expect(sequence.reusablePrefix({ ...rows, ...exact })).toBe(3);
    const copy = new Sequence(1, LIMITS);
    copy.adopt(sequence, 2);
    copy.push(3, 2);
    expect(copy.reusablePrefix({ ...rows, ...exact })).toBe(3);
    sequence.truncate(3);
    sequence.push(4, 3);
    expect(sequence.reusablePrefix({ ...rows, ...exact })).toBe(4);
  });

  it('distinguishes images with the same placeholders', () => {
    const first = filled([1, 'image:a:0', 'image:a:1', 2]);
    expect(first.reusablePrefix(rowsOf([1, 'image:b:0', 'image:b:1', 2]))).toBe(1);
    expect(first.reusablePrefix(rowsOf([1, 'image:a:0', 'image:a:1', 2, 3]))).toBe(4);
  });

  it('never ends a prefix inside an image whose rows see each other', () => {
    const ends = [0, 3, 3, 3, 4];
    const old = filled([1, 'a:0', 'a:1', 'b:0', 2], ends);
    expect(old.reusablePrefix(rowsOf([1, 'a:0', 'a:1', 'c:0', 2], ends))).toBe(1);
    // The same rows, but here the image ends earlier, so its rows saw less.
    expect(old.reusablePrefix(rowsOf([1, 'a:0', 'a:1', 7, 2], [0, 2, 2, 3, 4]))).toBe(1);
    // The last row is computed in any case, so an image at the end is computed as a whole.
    expect(old.reusablePrefix(rowsOf([1, 'a:0', 'a:1', 'b:0'], [0, 3, 3, 3]))).toBe(1);
  });

  it('refuses a prefix whose window was overwritten', () => {
    // 20 positions written, 12 kept: 8 to 19. A token at n sees n - 7 to n.
    const sequence = filled(range(20));
    expect(sequence.reusablePrefix(rowsOf([...range(15), 99]))).toBe(15);
    expect(sequence.reusablePrefix(rowsOf([...range(14), 99]))).toBe(0);
    expect(() => sequence.truncate(14)).toThrow(/whose previous 7 positions/);
    sequence.truncate(15);
    expect(sequence.length).toBe(15);
  });

  it('remembers that a failed step may have overwritten positions', () => {
    const sequence = filled(range(12));
    sequence.markWritten(20);
    expect(sequence.length).toBe(12);
    expect(sequence.reusablePrefix(rowsOf([...range(12), 99]))).toBe(0);
    sequence.truncate(0);
    expect(sequence.length).toBe(0);
  });
});
