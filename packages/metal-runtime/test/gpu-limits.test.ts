import { DeviceError } from '@markbase/core';
import { afterAll, describe, expect, it } from 'vitest';
import { type Device, type Ops, openPlanDevice, type Vector } from '../src/index.js';
import { nativeAddon } from '../src/native.js';

/** Programs that no kernel for GPUs runs: a typed error says so before anything is computed. */
describe.each(['metal', 'cuda'] as const)('what kernels for GPUs are limited to, on %s', async (kind) => {
  const device = await openPlanDevice(kind);
  afterAll(() => {
    // As at the end of a process that still has devices.
    nativeAddon().shutDown();
    device.dispose();
  });
  const gain = <A extends 'D' | 'E'>(length: number): Vector<A> => ({
    length,
    dtype: 'F32',
    data: device.allocate(4 * length, 'gain'),
  });
  const recording = (record: (ops: Ops, on: Device) => void) => () =>
    device.record({ label: 'test', maxRows: 1, maxOutputs: 0, precision: 'high' }, (ops) =>
      record(ops, device),
    );

  it('refuses more experts than a row can choose from', () => {
    const route = recording((ops) => {
      const logits = ops.input('x', 'T', { axis: 'E', size: 1025 });
      ops.output('y', ops.moeRoute(logits, gain<'E'>(1025), { topK: 2, scale: 1 }).shares);
    });
    expect(route).toThrow(DeviceError);
    expect(route).toThrow(/there is no GPU kernel for "moe_route": at most 128 of 1024 experts/);
  });

  it('refuses rows with a norm that threadgroup memory does not hold', () => {
    const linear = recording((ops, on) => {
      const x = ops.input('x', 'T', { axis: 'D', size: 7712 });
      const weight = on.allocate(7712 * 8 * 4, 'weight');
      const matrix = { kind: 'plain', dtype: 'F32', rows: 8, columns: 7712, weight } as const;
      ops.output('y', ops.linear(ops.rmsNorm(x, gain<'D'>(7712), { eps: 1e-6 }), matrix));
    });
    expect(linear).toThrow(/rows with a norm have at most 7680 elements/);
  });

  it('plans a program, and runs no step of it', async () => {
    using program = recording((ops) => {
      ops.output('y', ops.scale(ops.input('x', 'T', { axis: 'D', size: 8 }), 2));
    })();
    expect(program.profile().map(({ milliseconds }) => milliseconds)).toEqual([0]);
    const none = new Int32Array(0);
    const step = { tokens: new Int32Array(1), positions: new Int32Array(1), slots: new Int32Array(1) };
    await expect(
      program.run({ ...step, outputRows: none, inputs: { x: new Float32Array(8) } }, { read: ['y'] }),
    ).rejects.toThrow(/plans programs/);
  });
});
