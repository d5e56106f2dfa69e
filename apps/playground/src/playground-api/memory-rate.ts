import { type DeviceInfo, measureReadBandwidth } from '@markbase/metal-runtime';
import type { RooflineReport } from './playground-types.js';

/** Bytes that GPUs read a second, as published by their maker; the first name that fits counts. */
const PUBLISHED: readonly (readonly [name: RegExp, bytesPerSecond: number])[] = [
  [/\bB200\b/, 8e12],
  [/\bH200\b/, 4.8e12],
  [/\bGH200\b/, 4e12],
  [/\bH100 PCIe\b/, 2e12],
  [/\bH100 NVL\b/, 3.9e12],
  [/\bH100\b/, 3.35e12],
  [/\bA100-SXM4-80GB\b/, 2.039e12],
  [/\bA100.*80GB\b/, 1.935e12],
  [/\bA100\b/, 1.555e12],
  [/\bL40S?\b/, 864e9],
  [/\bA40\b/, 696e9],
  [/\bL4\b/, 300e9],
  [/\bRTX 5090\b/, 1792e9],
  [/\bRTX 4090\b/, 1008e9],
  [/\bRTX 3090\b/, 936e9],
];

/** The limit that the steps of a device are compared with: its own memory's, not that of the processor beside it. */
export async function memoryRate(
  device: Pick<DeviceInfo, 'kind' | 'name' | 'threads'>,
): Promise<Pick<RooflineReport, 'readBytesPerSecond' | 'readRateSource'>> {
  if (device.kind !== 'cuda') {
    const { bytesPerSecond } = await measureReadBandwidth(device.threads);
    return { readBytesPerSecond: bytesPerSecond, readRateSource: 'measured' };
  }
  const published = PUBLISHED.find(([name]) => name.test(device.name));
  return { readBytesPerSecond: published?.[1] ?? null, readRateSource: 'published' };
}
