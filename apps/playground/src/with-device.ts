import type { Device } from '@markbase/metal-runtime';
import type { DeviceFlags } from './options.js';
import { note } from './progress.js';

/** Opens the device that the flags select, and closes it after the work. The addon is only loaded here. */
export async function withDevice<Result>(
  flags: DeviceFlags,
  work: (device: Device) => Promise<Result>,
): Promise<Result> {
  const { openDevice } = await import('@markbase/metal-runtime');
  const device = await openDevice({ kind: flags.device, threads: flags.threads });
  if (device.info.note !== null) note(`running on the ${device.info.kind}: ${device.info.note}`);
  try {
    return await work(device);
  } finally {
    device.dispose();
  }
}

/** The same with a device that plans programs for Metal without running them. */
export async function withPlanDevice<Result>(
  _flags: DeviceFlags,
  work: (device: Device) => Promise<Result>,
): Promise<Result> {
  const { openPlanDevice } = await import('@markbase/metal-runtime');
  const device = await openPlanDevice('metal');
  try {
    return await work(device);
  } finally {
    device.dispose();
  }
}
