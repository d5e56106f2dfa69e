import { InvalidArgumentError } from '@markbase/core';
import { expect } from 'vitest';
import { type Device, openPlanDevice } from '../src/index.js';

/** Pieces of allocated memory arrive where they belong, in any order, and only there. */
export function checkBufferPieces(device: Device): void {
  const buffer = device.allocate(5 * 8, 'pieces');
  const bytes = Uint8Array.from({ length: 24 }, (_, index) => index + 1);
  device.write(buffer, Int32Array.of(3, 0, 1), bytes);
  const all = new Uint8Array(40);
  device.read(buffer, Int32Array.of(0, 1, 2, 3, 4), all);
  const zeros = [0, 0, 0, 0, 0, 0, 0, 0];
  expect([...all]).toEqual([...bytes.subarray(8), ...zeros, ...bytes.subarray(0, 8), ...zeros]);
  const some = new Uint8Array(16);
  device.read(buffer, Int32Array.of(3, 1), some);
  expect([...some]).toEqual([...bytes.subarray(0, 8), ...bytes.subarray(16)]);
  device.read(buffer, new Int32Array(0), new Uint8Array(0));

  const read = (indices: number[], size: number) => () =>
    device.read(buffer, Int32Array.from(indices), new Uint8Array(size));
  expect(read([5], 8)).toThrow(InvalidArgumentError);
  expect(read([-1], 8)).toThrow(InvalidArgumentError);
  expect(read([0], 6)).toThrow(InvalidArgumentError);
  expect(read([0, 1], 15)).toThrow(InvalidArgumentError);
  const other = device.upload(bytes, 'not allocated');
  expect(() => device.write(other, Int32Array.of(0), bytes)).toThrow(InvalidArgumentError);
  buffer.dispose();
  expect(read([0], 8)).toThrow(/disposed/);
}

/** Planned memory has no contents. */
export async function checkPlannedPieces(): Promise<void> {
  using device = await openPlanDevice('cuda');
  const buffer = device.allocate(8, 'planned');
  for (const copy of ['read', 'write'] as const) {
    expect(() => device[copy](buffer, Int32Array.of(0), new Uint8Array(8))).toThrow(/plans programs/);
  }
}
