import { describe, expect, it } from 'vitest';
import { withJsonEntries } from './json-entries.js';

describe('withJsonEntries', () => {
  it('keeps the spelling of numbers', () => {
    const text = '{"cap": 30.0, "eps": 1e-06, "count": 35, "list": [0.5, -2.0]}';
    const edited = withJsonEntries(text, { added: 4 });
    for (const kept of ['"cap": 30.0', '"eps": 1e-06', '"count": 35', '0.5', '-2.0', '"added": 4']) {
      expect(edited).toContain(kept);
    }
    expect(JSON.parse(edited)).toEqual({ ...JSON.parse(text), added: 4 });
  });

  it('does not change text that looks like a number or like its own marker', () => {
    const value = { '1.5': 'a "2.0" b', mark: '#3.0#', backslash: '\\"4.0' };
    expect(JSON.parse(withJsonEntries(JSON.stringify(value), { x: 1 }))).toEqual({ ...value, x: 1 });
  });

  it('replaces an existing entry', () => {
    expect(JSON.parse(withJsonEntries('{"a": null, "b": 1.0}', { a: { c: 2 } }))).toEqual({
      a: { c: 2 },
      b: 1,
    });
  });
});
