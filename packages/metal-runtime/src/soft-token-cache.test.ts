import { describe, expect, it } from 'vitest';
import { SoftTokenCache } from './soft-token-cache.js';

const tokens = (contentKey: string, count = 4) => ({
  kind: 'audio' as const,
  rows: 1,
  width: count,
  values: new Float32Array(count),
  contentKey,
});

describe('SoftTokenCache', () => {
  it('drops the least recently used entry', () => {
    const cache = new SoftTokenCache(32);
    const [a, b, c] = [tokens('a'), tokens('b'), tokens('c')];
    cache.add(a);
    cache.add(b);
    expect(cache.get('a')).toBe(a);
    cache.add(c);
    expect([cache.get('a'), cache.get('b'), cache.get('c')]).toEqual([a, null, c]);
    expect(cache.sizeBytes).toBe(32);
  });

  it('counts a key once, and keeps nothing larger than its limit', () => {
    const cache = new SoftTokenCache(32);
    cache.add(tokens('a'));
    cache.add(tokens('a'));
    expect(cache.sizeBytes).toBe(16);
    cache.add(tokens('a', 9));
    expect([cache.get('a'), cache.sizeBytes]).toEqual([null, 0]);
    const none = new SoftTokenCache(0);
    none.add(tokens('a'));
    expect(none.get('a')).toBeNull();
  });

  it('is empty after clear', () => {
    const cache = new SoftTokenCache(100);
    cache.add(tokens('a'));
    cache.clear();
    expect([cache.get('a'), cache.sizeBytes]).toEqual([null, 0]);
  });
});
