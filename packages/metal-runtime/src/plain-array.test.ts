import { describe, expect, it } from 'vitest';
import { plainArray } from './plain-array.js';

class Lying extends Int32Array {
  override get length(): number {
    return 1000;
  }
  override get byteOffset(): number {
    return 4096;
  }
  override get [Symbol.toStringTag](): 'Int32Array' {
    return 'Float32Array' as 'Int32Array';
  }
  override every(): boolean {
    return true;
  }
}

describe('plainArray', () => {
  it('sees the actual array, whatever a subclass reports', () => {
    const memory = new ArrayBuffer(16);
    const plain = plainArray(new Lying(memory, 4, 2));
    expect([plain.length, plain.byteOffset, plain.buffer]).toEqual([2, 4, memory]);
    expect(Object.getPrototypeOf(plain)).toBe(Int32Array.prototype);
    plain[0] = 7;
    expect(new Int32Array(memory)[1]).toBe(7);
  });

  it('keeps the type and the memory of ordinary arrays', () => {
    for (const array of [new Float32Array([1, 2]), new Uint8Array([3]), Buffer.from('ab')]) {
      const plain = plainArray(array);
      expect([...plain]).toEqual([...array]);
      expect(plain.buffer).toBe(array.buffer);
    }
  });

  it('has nothing of memory that is gone', () => {
    const array = new Int32Array(2);
    structuredClone(array.buffer, { transfer: [array.buffer] });
    expect(plainArray(array)).toEqual(new Int32Array(0));
  });
});
