import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { NonFiniteError, OutOfMemoryError } from '@markbase/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { gain } from '../conformance/storage.js';
import { type Device, type Matrix, openDevice, type StepInput } from '../src/index.js';
import { checkBufferPieces, checkPlannedPieces } from './buffer-pieces.js';
import { checkByteInputs } from './byte-inputs.js';
import { openCuda } from './cuda-host.js';

const WIDTH = 64;
let folder: string;
const device = await openCuda();

beforeAll(() => {
  folder = temporaryFolder();
});
afterAll(() => device?.dispose());

function step(inputs: StepInput['inputs'], more: Partial<StepInput> = {}): StepInput {
  const zeros = new Int32Array(1);
  return { tokens: zeros, positions: zeros, slots: zeros, outputRows: new Int32Array(0), inputs, ...more };
}

/** Two products with one matrix, which begins at an odd offset of a file. */
function chain(on: Device, options: { checkFinite?: boolean; profile?: boolean } = {}) {
  const file = path.join(folder, 'weights.bin');
  const weight = new Float32Array(WIDTH * WIDTH).fill(1 / WIDTH);
  writeFileSync(file, Buffer.concat([Buffer.alloc(2), Buffer.from(weight.buffer)]));
  const matrix: Matrix<'D', 'D'> = {
    kind: 'plain',
    dtype: 'F32',
    rows: WIDTH,
    columns: WIDTH,
    weight: on.map({ path: file, offsetBytes: 2, sizeBytes: weight.byteLength }),
  };
  return on.record({ label: 'chain', maxRows: 1, maxOutputs: 0, precision: 'high', ...options }, (ops) => {
    const x = ops.input('x', 'T', { axis: 'D', size: WIDTH });
    const first = ops.scope('layer 0', () => ops.linear(x, matrix));
    ops.output(
      'y',
      ops.scope('layer 1', () => ops.linear(first, matrix)),
    );
  });
}

describe.runIf(device)('the CUDA backend', { timeout: 180_000 }, () => {
  it('describes itself', () => {
    expect(device!.info).toMatchObject({ kind: 'cuda', note: null });
    expect(device!.info.isa).toMatch(/^sm_\d+$/);
    expect(device!.info.driver).toMatch(/^CUDA \d+\.\d+$/);
  });

  it('counts the bytes of files being copied, each range once', async () => {
    using other = (await openCuda())!;
    expect(other.uploads).toEqual({ queuedBytes: 0, arrivedBytes: 0 });
    const file = path.join(folder, 'large.bin');
    const sizeBytes = 9 * 2 ** 20 + 5;
    writeFileSync(file, Buffer.alloc(sizeBytes));
    const buffers = [0, 0, 1].map((offsetBytes) =>
      other.map({ path: file, offsetBytes, sizeBytes: sizeBytes - offsetBytes }),
    );
    const queuedBytes = 2 * sizeBytes - 1;
    const seen: number[] = [];
    while (seen.at(-1) !== queuedBytes) {
      expect(other.uploads.queuedBytes).toBe(queuedBytes);
      seen.push(other.uploads.arrivedBytes);
      await setImmediate();
    }
    expect(seen).toEqual(seen.toSorted((a, b) => a - b));
    // Arrived bytes stay counted after the buffers are disposed.
    for (const buffer of buffers) buffer.dispose();
    expect(other.uploads).toEqual({ queuedBytes, arrivedBytes: queuedBytes });
    other.dispose();
    expect(other.uploads).toEqual({ queuedBytes: 0, arrivedBytes: 0 });
  });

  it('runs steps in the order in which they were started, several in flight', async () => {
    using program = chain(device!);
    const runs = Array.from({ length: 6 }, (_, i) =>
      program.run(step({ x: new Float32Array(WIDTH).fill(i) }), { read: ['y'] }),
    );
    const results = await Promise.all(runs);
    expect(results.map(({ outputs }) => Math.round(outputs.y![WIDTH - 1]!))).toEqual([0, 1, 2, 3, 4, 5]);
  });

  it('takes numbers encoded as bytes, along with plain numbers', () => checkByteInputs(device!));

  it('copies pieces of its memory', async () => {
    checkBufferPieces(device!);
    await checkPlannedPieces();
  });

  it('names the command that wrote the first non-finite number', async () => {
    using program = chain(device!, { checkFinite: true });
    const x = new Float32Array(WIDTH).fill(1);
    await program.run(step({ x }));
    x[7] = Number.NaN;
    const error = await program.run(step({ x })).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NonFiniteError);
    expect((error as NonFiniteError).label).toBe('layer 0 / linear');
  });

  it('runs two norms as one, though an output of the program reuses the memory between them', () => {
    const gains = gain(1, WIDTH, 'F32').upload<'D'>(device!);
    const options = { label: 'norms', maxRows: 1, maxOutputs: 0, precision: 'fast' } as const;
    using program = device!.record(options, (ops) => {
      const [a, b] = ['a', 'b'].map((name) => ops.input(name, 'T', { axis: 'D', size: WIDTH }));
      const sum = ops.add(ops.rmsNorm(a!, gains, { eps: 1e-6 }), ops.rmsNorm(b!, gains, { eps: 1e-6 }));
      for (const name of ['x', 'y', 'z']) ops.output(name, ops.geglu(sum, sum));
    });
    const kernels = program.planStep({ rows: 1, outputs: 0, positions: 1 }).map(({ kernel }) => kernel);
    expect(kernels).toEqual(['rms_norm_pair', 'elementwise', 'elementwise', 'elementwise']);
  });

  it('measures every command on request', async () => {
    using program = chain(device!, { profile: true });
    await program.run(step({ x: new Float32Array(WIDTH) }));
    expect(program.profile().map(({ label }) => label)).toEqual(['layer 0 / linear', 'layer 1 / linear']);
  });

  it('stops a step whose signal aborts, and finishes one whose program is disposed', async () => {
    const program = chain(device!);
    const x = new Float32Array(WIDTH).fill(1);
    const controller = new AbortController();
    const stopped = program.run(step({ x }), { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(stopped).rejects.toThrow('enough');
    const running = program.run(step({ x }), { read: ['y'] });
    program.dispose();
    expect((await running).outputs.y![0]).toBeCloseTo(1, 4);
  });

  it('reports insufficient memory with both figures before anything is loaded', () => {
    device!.requireMemory(1, 'weights');
    const ask = () => device!.requireMemory(2 ** 50, 'weights');
    expect(ask).toThrow(OutOfMemoryError);
    expect(ask).toThrow(/weights needs 1125899906842624 bytes; the GPU has \d+ bytes free of \d+/);
  });
});

it('says why no CUDA device is available', async () => {
  const { MARKBASE_LIBCUDA } = process.env;
  process.env.MARKBASE_LIBCUDA = path.join(folder, 'libcuda.so.1');
  try {
    const attempt = openDevice({ kind: 'cuda' });
    if (process.platform === 'linux') await expect(attempt).rejects.toThrow('install the NVIDIA driver');
    else await expect(attempt).rejects.toThrow('this build has the backends');
    // A missing driver does not concern callers that accept any device.
    using other = await openDevice();
    expect(other.info.note).toBeNull();
  } finally {
    if (MARKBASE_LIBCUDA === undefined) delete process.env.MARKBASE_LIBCUDA;
    else process.env.MARKBASE_LIBCUDA = MARKBASE_LIBCUDA;
  }
});
