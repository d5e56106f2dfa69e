import { describe, expect, it } from 'vitest';
import { addLinesThatNeverCompiled } from '../tools/coverage-report.mjs';
import { describeFile, linesElsewhere, ranges, summarize } from '../tools/reach.mjs';

const SOURCE = `void f() {
  if (@available(macOS 27.0, *)) {
    newer();
  } else {
    older();
  }
  if (@available(macOS 15.0, *)) {
    simulated();
  }
  if (gone()) {
    // Reached only on a Mac whose GPU was unplugged.
    lost();
  }
  always();
}`;

describe('lines of a source', () => {
  it('lists blocks of newer systems, and blocks marked by a comment', () => {
    expect([...linesElsewhere(SOURCE)]).toEqual([
      [3, 'macOS 27'],
      [4, 'macOS 27'],
      [12, 'reached only on a Mac whose GPU was unplugged'],
      [13, 'reached only on a Mac whose GPU was unplugged'],
    ]);
  });

  it('counts lines that ran, were missed, or only run elsewhere', () => {
    const row = describeFile(
      'f.mm',
      SOURCE,
      new Map([
        [3, 0],
        [5, 1],
        [8, 0],
        [12, 0],
        [14, 7],
      ]),
    );
    expect(row).toMatchObject({ all: 5, reached: 2, missed: 1 });
    expect(row.text).toBe(' 40.0%  f.mm  2/5  missed 8');
    expect(row.elsewhere).toEqual([
      '  f.mm 3: macOS 27',
      '  f.mm 12: reached only on a Mac whose GPU was unplugged',
    ]);
    expect(summarize([row])).toEqual({
      line: '2 of 5 lines of 1 files (40.0 %), 2 only elsewhere, 1 missed',
      missed: 1,
    });
  });

  it('excludes functions that the compiler may run, and attributes macros to their uses', () => {
    const source =
      'constexpr int two() {\n  return 2;\n}\nint f() {\n  return two();\n}\n#define M \\\n  return 1; \\\n';
    expect([...linesElsewhere(source).keys()]).toEqual([1, 2, 3]);
    const lines = new Map([[5, 1]]);
    addLinesThatNeverCompiled(lines, source);
    expect([...lines]).toEqual([
      [5, 1],
      [2, 0],
    ]);
  });

  it('joins adjacent lines', () => expect(ranges([9, 3, 4, 5, 11])).toBe('3-5, 9, 11'));

  it('counts statements of an unused template as missed', () => {
    const lines = new Map([[2, 3]]);
    addLinesThatNeverCompiled(lines, 'template <typename T>\n  return 1;\n  return 2;\n');
    expect([...lines]).toEqual([
      [2, 3],
      [3, 0],
    ]);
  });
});
