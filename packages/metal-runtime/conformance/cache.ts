import { BLOCK_TOKENS, type Device, type KvCache } from '../src/index.js';

/** Caches for `slots` sequences of up to `capacity` positions, in whole blocks; `contents`: the same bytes for both. */
export function testCache(
  device: Device,
  shape: Pick<KvCache, 'kvHeadCount' | 'headWidth' | 'windowTokens' | 'dtype'>,
  slots: number,
  capacity: number,
  contents?: Uint8Array,
): KvCache {
  const blockCount = slots * Math.ceil(capacity / BLOCK_TOKENS);
  const rowBytes = shape.kvHeadCount * shape.headWidth * (shape.dtype === 'F32' ? 4 : 2);
  const bytes = blockCount * BLOCK_TOKENS * rowBytes;
  const buffer = (label: string) =>
    contents ? device.upload(contents, label) : device.allocate(bytes, label);
  return { ...shape, keys: buffer('keys'), values: buffer('values'), blockCount, capacityTokens: capacity };
}
