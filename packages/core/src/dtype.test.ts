import { describe, expect, it } from 'vitest';
import { dtypeBits, isDType } from './dtype.js';

describe('dtype', () => {
  it('knows the width of every type', () => {
    expect(dtypeBits('BF16')).toBe(16);
    expect(dtypeBits('F4')).toBe(4);
    expect(dtypeBits('F6_E2M3')).toBe(6);
    expect(dtypeBits('C64')).toBe(64);
    expect(dtypeBits('BOOL')).toBe(8);
  });

  it('accepts only exact spellings', () => {
    expect(isDType('F8_E4M3')).toBe(true);
    for (const name of ['bf16', 'I4', 'F5', '', 'constructor', '__proto__', 'toString']) {
      expect(isDType(name)).toBe(false);
    }
  });
});
