import { createRequire } from 'node:module';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { type DeviceKind, openDevice } from '@markbase/metal-runtime';
import type { PlaygroundState } from './playground-types.js';

const KINDS: readonly DeviceKind[] = ['metal', 'cuda', 'cpu'];

let devices: Promise<string[]> | null = null;

/** This machine, and the devices that a model can run on. */
export async function machineOf(): Promise<Pick<PlaygroundState, 'version' | 'machine' | 'devices'>> {
  devices ??= availableDevices();
  const { version } = createRequire(import.meta.url)('../package.json') as { version: string };
  return {
    version,
    machine: {
      platform: `${process.platform}-${process.arch}`,
      processor: cpus()[0]?.model.trim() ?? 'unknown',
      threads: availableParallelism(),
      totalMemoryBytes: totalmem(),
    },
    devices: await devices,
  };
}

/** Opening a device is the only way to find out whether it exists. */
async function availableDevices(): Promise<string[]> {
  const found: string[] = [];
  for (const kind of KINDS) {
    try {
      (await openDevice({ kind })).dispose();
      found.push(kind);
    } catch {
      // Not available; requesting it by name reports the reason.
    }
  }
  return found;
}
