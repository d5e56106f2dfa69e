import { createRequire } from 'node:module';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { type DeviceKind, openDevice } from '@markbase/metal-runtime';
import type { PlaygroundState } from './playground-types.js';

const KINDS: readonly DeviceKind[] = ['metal', 'cuda', 'cpu'];

let devices: Promise<ReadonlyMap<string, number>> | null = null;

/** Memory of a device that a model can run on, in bytes; of the machine if there is no such device. */
export async function memoryOf(kind: string): Promise<number> {
  devices ??= availableDevices();
  return (await devices).get(kind) ?? totalmem();
}

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
    devices: [...(await devices).keys()],
  };
}

/** The memory of each device. Opening one is the only way to find out whether it exists. */
async function availableDevices(): Promise<ReadonlyMap<string, number>> {
  const found = new Map<string, number>();
  for (const kind of KINDS) {
    try {
      const device = await openDevice({ kind });
      found.set(kind, device.info.totalMemoryBytes);
      device.dispose();
    } catch {
      // Not available; requesting it by name reports the reason.
    }
  }
  return found;
}
