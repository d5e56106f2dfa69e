import { truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { CorruptFileError, DisposedError, FileAccessError, NonFiniteError } from '@markbase/core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openMetal } from '../../../fixtures/open-metal.js';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { type Device, type Matrix, openDevice, openPlanDevice, type StepInput } from '../src/index.js';
import { checkBufferPieces } from './buffer-pieces.js';
import { checkByteInputs } from './byte-inputs.js';

const WIDTH = 64;
let folder: string;

const opened = await openMetal(openDevice);

function step(rows: number, inputs: StepInput['inputs'], more: Partial<StepInput> = {}): StepInput {
  const zeros = new Int32Array(rows);
  return { tokens: zeros, positions: zeros, slots: zeros, outputRows: new Int32Array(0), inputs, ...more };
}

/** Bytes before the weight in its file: it begins at an address that is not aligned for vector loads. */
const ODD_OFFSET = 2;

function weightFile(name: string): string {
  const file = path.join(folder, name);
  const weight = new Float32Array(WIDTH * WIDTH).fill(1 / WIDTH);
  writeFileSync(file, Buffer.concat([Buffer.alloc(ODD_OFFSET), Buffer.from(weight.buffer)]));
  return file;
}

function chain(device: Device, file: string, options: { checkFinite?: boolean; profile?: boolean } = {}) {
  const weight = device.map({ path: file, offsetBytes: ODD_OFFSET, sizeBytes: WIDTH * WIDTH * 4 });
  const matrix: Matrix<'D', 'D'> = { kind: 'plain', dtype: 'F32', rows: WIDTH, columns: WIDTH, weight };
  return device.record(
    { label: 'chain', maxRows: 4, maxOutputs: 0, precision: 'high', ...options },
    (ops) => {
      const x = ops.input('x', 'T', { axis: 'D', size: WIDTH });
      const first = ops.scope('layer 0', () => ops.linear(x, matrix));
      ops.output(
        'y',
        ops.scope('layer 1', () => ops.linear(first, matrix)),
      );
    },
  );
}

describe.runIf(opened)('the Metal backend', { timeout: 180_000 }, () => {
  const device = opened!;
  beforeAll(() => {
    folder = temporaryFolder();
  });
  afterAll(() => device.dispose());

  it('runs a program over a mapped file, at any even offset', async () => {
    using program = chain(device, weightFile('run.bin'));
    const x = new Float32Array(2 * WIDTH).fill(1);
    const { outputs } = await program.run(step(2, { x }), { read: ['y'] });
    expect(outputs.y).toHaveLength(2 * WIDTH);
    for (const y of outputs.y!) expect(y).toBeCloseTo(1, 5);
  });

  it('takes numbers encoded as bytes, along with plain numbers', () => checkByteInputs(device));

  it('copies pieces of its memory', () => checkBufferPieces(device));

  it('multiplies with codes that begin inside a word of a mapped file', async () => {
    const file = path.join(folder, 'codes.bin');
    // Every weight is code 3 times a scale of 1/64 in bfloat16; one group per row.
    const codes = Buffer.alloc((WIDTH * WIDTH) / 2, 0x33);
    const scales = Buffer.from(new Uint16Array(WIDTH).fill(0x3c80).buffer);
    writeFileSync(file, Buffer.concat([Buffer.alloc(ODD_OFFSET), codes, scales]));
    const matrix: Matrix<'D', 'D'> = {
      kind: 'affine',
      bits: 4,
      groupSize: 64,
      rows: WIDTH,
      columns: WIDTH,
      weight: device.map({ path: file, offsetBytes: ODD_OFFSET, sizeBytes: codes.length }),
      scaleDtype: 'BF16',
      scales: device.map({
        path: file,
        offsetBytes: ODD_OFFSET + codes.length,
        sizeBytes: scales.length,
      }),
      biases: device.upload(new Uint8Array(scales.length), 'biases'),
    };
    using program = device.record({ label: 'codes', maxRows: 1, maxOutputs: 0, precision: 'high' }, (ops) =>
      ops.output('y', ops.linear(ops.input('x', 'T', { axis: 'D', size: WIDTH }), matrix)),
    );
    const { outputs } = await program.run(step(1, { x: new Float32Array(WIDTH).fill(1) }), { read: ['y'] });
    for (const y of outputs.y!) expect(y).toBeCloseTo(3, 5);
  });

  it('runs steps in the order in which they were started, several in flight', async () => {
    using program = chain(device, weightFile('order.bin'));
    const runs = Array.from({ length: 6 }, (_, i) =>
      program.run(step(1, { x: new Float32Array(WIDTH).fill(i) }), { read: ['y'] }),
    );
    const results = await Promise.all(runs);
    results.forEach(({ outputs }, i) => {
      expect(outputs.y![0]).toBeCloseTo(i, 4);
    });
  });

  it('names the command that wrote the first non-finite number', async () => {
    using program = chain(device, weightFile('finite.bin'), { checkFinite: true });
    const x = new Float32Array(WIDTH).fill(1);
    await program.run(step(1, { x }));
    x[7] = Number.NaN;
    const error = await program.run(step(1, { x })).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NonFiniteError);
    expect((error as NonFiniteError).label).toBe('layer 0 / linear');
  });

  it('measures every command on request', async () => {
    using program = chain(device, weightFile('profile.bin'), { profile: true });
    await program.run(step(1, { x: new Float32Array(WIDTH) }));
    const profile = program.profile();
    expect(profile.map(({ label }) => label)).toEqual(['layer 0 / linear', 'layer 1 / linear']);
    for (const { milliseconds } of profile) expect(milliseconds).toBeGreaterThanOrEqual(0);
  });

  it('stops a step whose signal aborts, and runs the next', async () => {
    using program = chain(device, weightFile('abort.bin'));
    const controller = new AbortController();
    const x = new Float32Array(WIDTH).fill(1);
    const running = program.run(step(1, { x }), { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(running).rejects.toThrow('enough');
    const { outputs } = await program.run(step(1, { x }), { read: ['y'] });
    expect(outputs.y![0]).toBeCloseTo(1, 4);
  });

  it('finishes a step whose program is disposed, and rejects the next', async () => {
    const program = chain(device, weightFile('dispose.bin'));
    const running = program.run(step(1, { x: new Float32Array(WIDTH).fill(1) }), { read: ['y'] });
    program.dispose();
    expect((await running).outputs.y![0]).toBeCloseTo(1, 4);
    await expect(program.run(step(1, {}))).rejects.toThrow(DisposedError);
  });

  it('reports a file that becomes shorter, and continues with others', async () => {
    const file = weightFile('truncated.bin');
    using program = chain(device, file);
    const x = new Float32Array(WIDTH).fill(1);
    await program.run(step(1, { x }));
    truncateSync(file, 100);
    const error = await program.run(step(1, { x })).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CorruptFileError);
    expect((error as CorruptFileError).path).toBe(file);
    using other = chain(device, weightFile('other.bin'));
    await other.run(step(1, { x }));
  });

  it('rejects files that cannot be mapped', () => {
    const range = (file: string, sizeBytes: number) => ({ path: file, offsetBytes: 0, sizeBytes });
    expect(() => device.map(range(folder, 1))).toThrow('it is not a regular file');
    expect(() => device.map(range(path.join(folder, 'missing'), 1))).toThrow(FileAccessError);
    expect(() => device.map(range(weightFile('short.bin'), 2 ** 20))).toThrow(CorruptFileError);
  });

  it('gives an error instead of a token if all logits are NaN', async () => {
    using program = device.record({ label: 'sampler', maxRows: 1, maxOutputs: 1, precision: 'high' }, (ops) =>
      ops.sample(ops.input('logits', 'N', { axis: 'V', size: 50 })),
    );
    const input = (value: number) =>
      step(
        1,
        { logits: new Float32Array(50).fill(value) },
        { outputRows: Int32Array.of(0), sampling: [{ topLogprobs: 3 }] },
      );
    expect((await program.run(input(1))).tokens).toEqual(Int32Array.of(0));
    await expect(program.run(input(Number.NaN))).rejects.toThrow(NonFiniteError);
  });

  it('plans the launches that it encodes', () => {
    using program = chain(device, weightFile('plan.bin'));
    const launches = program.planStep({ rows: 1, outputs: 0, positions: 1 });
    expect(launches.map(({ kernel, hasBarrier }) => [kernel, hasBarrier])).toEqual([
      ['linear_rows1_f32', false],
      ['linear_rows1_f32', true],
    ]);
    expect(program.planStep({ rows: 4, outputs: 0, positions: 4 })[0]!.kernel).toBe('linear_rows4_f32');
  });
});

describe('a device that plans for Metal', () => {
  it('counts launches on any machine, and runs nothing', async () => {
    using device = await openPlanDevice('metal');
    const matrix: Matrix<'D', 'D'> = {
      kind: 'plain',
      dtype: 'BF16',
      rows: WIDTH,
      columns: WIDTH,
      weight: device.allocate(WIDTH * WIDTH * 2, 'weight'),
    };
    using program = device.record(
      { label: 'planned', maxRows: 8, maxOutputs: 0, precision: 'high' },
      (ops) => {
        const x = ops.input('x', 'T', { axis: 'D', size: WIDTH });
        ops.output('a', ops.linear(x, matrix));
        ops.output('b', ops.scale(x, 2));
      },
    );
    const launches = program.planStep({ rows: 8, outputs: 0, positions: 8 });
    // Neither reads what the other writes: no barrier between them.
    expect(launches.map(({ kernel, hasBarrier }) => [kernel, hasBarrier])).toEqual([
      ['linear_rows8_bf16', false],
      ['elementwise', false],
    ]);
    await expect(program.run(step(1, { x: new Float32Array(WIDTH) }))).rejects.toThrow('plans programs');
  });
});
