import { describe, expect, it } from 'vitest';
import { type NativeAddon, nativeAddon } from './native.js';

describe('nativeAddon', () => {
  it('exports exactly the interface', () => {
    const expected: Record<keyof NativeAddon, true> = {
      abi: true,
      listIsas: true,
      openDevice: true,
      shutDown: true,
      measureMatmulPeak: true,
      measureReadBandwidth: true,
    };
    expect(Object.keys(nativeAddon()).sort()).toEqual(Object.keys(expected).sort());
  });

  it('lists instruction sets, including the generic one', () => {
    expect(nativeAddon().listIsas()).toContain('generic');
  });
});
