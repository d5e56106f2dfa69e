import { join } from 'node:path';
import { createWeightIndex, openSafetensors, type TensorView, writeSafetensors } from '@markbase/loader';
import { type ConvKernel, type Device, openDevice, WeightMapper } from '@markbase/metal-runtime';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { noise } from '../../test/sounds.js';
import { loadConvKernel, loadDepthwiseKernel } from './conv-kernels.js';

let device: Device;
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 1 });
});
afterAll(() => device.dispose());

/** A mapper for a file with one float32 tensor. */
async function mapperOf(name: string, shape: readonly number[], values: Float32Array) {
  const folder = temporaryFolder();
  const path = join(folder, 'model.safetensors');
  const bytes = new Uint8Array(values.buffer);
  await writeSafetensors(path, [{ name, dtype: 'F32', shape, chunks: () => [bytes] }]);
  const { tensors } = await openSafetensors(path);
  const fields = { quantization: null, tieWordEmbeddings: true, configPath: 'config.json' };
  const mapper = new WeightMapper<TensorView>(
    createWeightIndex({ tensors: tensors.values(), ...fields }),
    device,
  );
  onTestFinished(() => mapper.dispose());
  return mapper;
}

const NAME = 'audio_tower.conv.weight';
const [OUT, IN] = [4, 2];

/** [out, in, 3, 3] to [out, 3, 3, in]. */
function channelLast(values: Float32Array): Float32Array {
  return Float32Array.from(values, (_, at) => {
    const [channel, tap, out] = [at % IN, Math.floor(at / IN) % 9, Math.floor(at / (9 * IN))];
    return values[(out * IN + channel) * 9 + tap]!;
  });
}

/** The result of a program for one row of 2 steps of 4 frequencies with a kernel. */
async function convolve(kernel: ConvKernel): Promise<Float32Array> {
  const width = 2 * 4 * IN;
  using program = device.record({ label: 'conv', maxRows: 1, maxOutputs: 0, precision: 'high' }, (ops) => {
    const x = ops.input('x', 'T', { axis: 'M', size: width });
    const mask = ops.input('mask', 'T', { axis: 'M', size: 2 });
    ops.output('y', ops.conv2d(x, kernel, { times: 2, mask }));
  });
  const inputs = { x: noise(width, 9), mask: Float32Array.of(1, 1) };
  return (await program.run({ positions: Int32Array.of(0), inputs }, { read: ['y'] })).outputs.y!;
}

describe('loadConvKernel', () => {
  it('reads both layouts of the same numbers', async () => {
    const values = noise(OUT * IN * 9, 3);
    const first = await mapperOf(NAME, [OUT, IN, 3, 3], values);
    const last = await mapperOf(NAME, [OUT, 3, 3, IN], channelLast(values));
    const [a, b] = [await loadConvKernel(first, NAME, OUT, IN), await loadConvKernel(last, NAME, OUT, IN)];
    const made = await convolve(a);
    expect(await convolve(b)).toEqual(made);
    // Computed by hand at time 0, frequency 0, channel 1: the taps above and left of the corner are outside.
    const x = noise(2 * 4 * IN, 9);
    let expected = 0;
    for (const i of [1, 2]) {
      for (const j of [1, 2]) {
        for (const c of [0, 1])
          expected += values[(IN + c) * 9 + i * 3 + j]! * x[((i - 1) * 4 + j - 1) * IN + c]!;
      }
    }
    expect(made[1]).toBeCloseTo(expected, 5);
  });

  it('lists the accepted shapes', async () => {
    const mapper = await mapperOf(NAME, [OUT, 9, IN], noise(OUT * IN * 9, 3));
    await loadConvKernel(mapper, NAME, OUT, IN);
    expect(() => mapper.finish()).toThrow(/\[4,9,2\], expected BF16, F16 or F32 \[4,2,3,3\] or \[4,3,3,2\]/);
  });
});

describe('loadDepthwiseKernel', () => {
  it('reads both layouts', async () => {
    const values = noise(6 * 5, 4);
    for (const shape of [
      [6, 1, 5],
      [6, 5, 1],
    ]) {
      const mapper = await mapperOf(NAME, shape, values);
      const kernel = await loadDepthwiseKernel<'D'>(mapper, NAME, 6, 5);
      using program = device.record(
        { label: 'conv', maxRows: 1, maxOutputs: 0, precision: 'high' },
        (ops) => {
          ops.output('y', ops.causalConv(ops.input('x', 'T', { axis: 'D', size: 6 }), kernel));
        },
      );
      const step = { positions: Int32Array.of(0), inputs: { x: new Float32Array(6).fill(1) } };
      const { outputs } = await program.run(step, { read: ['y'] });
      // The last tap applies to the row itself.
      expect(outputs.y).toEqual(Float32Array.from({ length: 6 }, (_, channel) => values[channel * 5 + 4]!));
    }
  });
});
