import { expect } from 'vitest';
import type { Device } from '../src/index.js';

/** Steps with numbers encoded as bytes, with plain numbers, and with bytes again have equal results. */
export async function checkByteInputs(device: Device): Promise<void> {
  const options = { label: 'bytes', maxRows: 1, maxOutputs: 0, precision: 'high' } as const;
  using program = device.record(options, (ops) => {
    const x = ops.input('x', 'T', { axis: 'D', size: 300 });
    ops.output('y', ops.add(x, x));
  });
  const zeros = new Int32Array(1);
  const row = { tokens: zeros, positions: zeros, slots: zeros, outputRows: new Int32Array(0) };
  const values = Float32Array.from({ length: 256 }, (_, byte) => byte / 4);
  const bytes = Uint8Array.from({ length: 300 }, (_, i) => i);
  const twice = Float32Array.from(bytes, (byte) => byte / 2);
  for (const x of [{ bytes, values }, Float32Array.from(bytes, (byte) => byte / 4), { bytes, values }]) {
    const { outputs } = await program.run({ ...row, inputs: { x } }, { read: ['y'] });
    expect(outputs.y).toEqual(twice);
  }
}
