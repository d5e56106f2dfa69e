import type { Device } from '@markbase/metal-runtime';
import type { DeviceFlags } from './options.js';

/** Opens the device that the flags ask for, and closes it after the work. The addon is loaded here, not before. */
export async function withDevice<Result>(
  flags: DeviceFlags,
  work: (device: Device) => Promise<Result>,
): Promise<Result> {
  const { openDevice } = await import('@markbase/metal-runtime');
  const device = await openDevice({ kind: flags.device, threads: flags.threads });
  try {
    return await work(device);
  } finally {
    device.dispose();
  }
}
