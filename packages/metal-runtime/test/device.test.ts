import { spawnSync } from 'node:child_process';
import { truncateSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import {
  CorruptFileError,
  DeviceUnavailableError,
  DisposedError,
  FileAccessError,
  InvalidArgumentError,
  NonFiniteError,
  ShapeMismatchError,
} from '@markbase/core';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import {
  type Device,
  type Matrix,
  measureReadBandwidth,
  openDevice,
  type Program,
  type StepInput,
} from '../src/index.js';
import { checkBufferPieces } from './buffer-pieces.js';

const WIDTH = 2048;
const LAYERS = 24;
let folder: string;
const scripts = fileURLToPath(new URL('./scripts/', import.meta.url));
let device: Device;

beforeAll(async () => {
  folder = temporaryFolder();
  device = await openDevice({ kind: 'cpu', threads: 2 });
});

afterAll(() => {
  device.dispose();
});

function step(rows: number, inputs: StepInput['inputs']): StepInput {
  const zeros = new Int32Array(rows);
  return { tokens: zeros, positions: zeros, slots: zeros, outputRows: new Int32Array(0), inputs };
}

function weightFile(name: string): string {
  const file = path.join(folder, name);
  writeFileSync(file, new Float32Array(WIDTH * WIDTH).fill(1 / WIDTH));
  return file;
}

/** A chain of linears over one mapped matrix, long enough to be interrupted. */
function chain(
  on: Device,
  file: string,
  options: { rows: number; layers?: number; checkFinite?: boolean },
): Program {
  const weight = on.map({ path: file, offsetBytes: 0, sizeBytes: WIDTH * WIDTH * 4 });
  const matrix: Matrix<'D', 'D'> = { kind: 'plain', dtype: 'F32', rows: WIDTH, columns: WIDTH, weight };
  const { rows, checkFinite } = options;
  return on.record(
    { label: 'chain', maxRows: rows, maxOutputs: 0, precision: 'high', checkFinite },
    (ops) => {
      let x = ops.input('x', 'T', { axis: 'D', size: WIDTH });
      for (let i = 0; i < (options.layers ?? LAYERS); i++)
        x = ops.scope(`layer ${i}`, () => ops.linear(x, matrix));
      ops.output('y', x);
    },
  );
}

describe('Device', () => {
  it('copies pieces of its memory', () => checkBufferPieces(device));

  it('computes what was recorded, and copies no file', async () => {
    using program = chain(device, weightFile('plain.bin'), { rows: 2 });
    expect(device.uploads).toEqual({ queuedBytes: 0, arrivedBytes: 0 });
    const result = await program.run(step(2, { x: new Float32Array(2 * WIDTH).fill(3) }), { read: ['y'] });
    for (const value of result.outputs.y!) expect(value).toBeCloseTo(3, 4);
  });

  it('runs concurrently requested steps one after the other', async () => {
    using program = chain(device, weightFile('queue.bin'), { rows: 1, layers: 2 });
    const results = await Promise.all(
      [1, 2, 3, 4, 5].map((value) =>
        program.run(step(1, { x: new Float32Array(WIDTH).fill(value) }), { read: ['y'] }),
      ),
    );
    expect(results.map((result) => Math.round(result.outputs.y![0]!))).toEqual([1, 2, 3, 4, 5]);
  });

  it("keeps Node's threads free while many steps wait", async () => {
    using program = chain(device, weightFile('threads.bin'), { rows: 16 });
    const input = step(16, { x: new Float32Array(16 * WIDTH).fill(1) });
    const steps = Array.from({ length: 8 }, () => program.run(input));
    const first = await Promise.race([
      readFile(path.join(folder, 'threads.bin')).then(() => 'the file'),
      steps.at(-1)!.then(() => 'the last step'),
    ]);
    expect(first).toBe('the file');
    await Promise.all(steps);
  });

  it('names the layer of the first non-finite value', async () => {
    using program = chain(device, weightFile('finite.bin'), { rows: 1, layers: 3, checkFinite: true });
    const x = new Float32Array(WIDTH).fill(1);
    await program.run(step(1, { x }));
    x[7] = Number.NaN;
    const error = await program.run(step(1, { x })).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NonFiniteError);
    expect((error as NonFiniteError).label).toBe('layer 0 / linear');
  });

  it('stops a running step when its signal aborts, and runs the next', async () => {
    using program = chain(device, weightFile('abort.bin'), { rows: 64 });
    const controller = new AbortController();
    const x = new Float32Array(64 * WIDTH).fill(1);
    const running = program.run(step(64, { x }), { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(running).rejects.toThrow('enough');
    await expect(program.run(step(64, { x }), { signal: controller.signal })).rejects.toThrow('enough');
    const result = await program.run(step(64, { x }), { read: ['y'] });
    expect(result.outputs.y![0]).toBeCloseTo(1, 4);
  });

  it('stops a step that waits for another, and lets the other finish', async () => {
    using program = chain(device, weightFile('waiting.bin'), { rows: 64 });
    const x = new Float32Array(64 * WIDTH).fill(1);
    const controller = new AbortController();
    const first = program.run(step(64, { x }), { read: ['y'] });
    const second = program.run(step(64, { x }), { signal: controller.signal });
    controller.abort();
    await expect(second).rejects.toThrow(expect.objectContaining({ name: 'AbortError' }));
    expect((await first).outputs.y![0]).toBeCloseTo(1, 4);
  });

  it('finishes a step whose program is disposed, and rejects the next', async () => {
    const program = chain(device, weightFile('dispose.bin'), { rows: 8 });
    const running = program.run(step(8, { x: new Float32Array(8 * WIDTH).fill(1) }), { read: ['y'] });
    program.dispose();
    program.dispose();
    expect((await running).outputs.y![0]).toBeCloseTo(1, 4);
    await expect(program.run(step(8, {}))).rejects.toThrow(DisposedError);
  });

  it('lets programs outlive their device and buffers', async () => {
    const own = await openDevice({ kind: 'cpu', threads: 1 });
    const program = chain(own, weightFile('outlive.bin'), { rows: 1, layers: 1 });
    own.dispose();
    const result = await program.run(step(1, { x: new Float32Array(WIDTH).fill(2) }), { read: ['y'] });
    expect(result.outputs.y![0]).toBeCloseTo(2, 4);
    expect(() => own.upload(new Uint8Array(1), 'late')).toThrow(DisposedError);
  });

  it('reports a file that is truncated while it is mapped, and continues', async () => {
    const file = weightFile('truncated.bin');
    using program = chain(device, file, { rows: 1, layers: 1 });
    const x = new Float32Array(WIDTH).fill(1);
    await program.run(step(1, { x }));
    truncateSync(file, 4096);
    const error = await program.run(step(1, { x })).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(CorruptFileError);
    expect((error as CorruptFileError).path).toBe(file);
    using other = chain(device, weightFile('other.bin'), { rows: 1, layers: 1 });
    await other.run(step(1, { x }));
    // The file at this path is valid again; the old program still has its damaged mapping.
    using restored = chain(device, weightFile('truncated.bin'), { rows: 1, layers: 1 });
    const result = await restored.run(step(1, { x }), { read: ['y'] });
    expect(result.outputs.y![0]).toBeCloseTo(1, 4);
  });

  it('gives an error instead of a token if all logits are NaN', async () => {
    using program = device.record({ label: 'sampler', maxRows: 1, maxOutputs: 1, precision: 'high' }, (ops) =>
      ops.sample(ops.input('logits', 'N', { axis: 'V', size: 50 })),
    );
    const input = (value: number): StepInput => ({
      ...step(1, { logits: new Float32Array(50).fill(value) }),
      outputRows: Int32Array.of(0),
    });
    expect((await program.run(input(1))).tokens).toEqual(Int32Array.of(0));
    const error = await program.run(input(Number.NaN)).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(NonFiniteError);
    expect((error as NonFiniteError).label).toBe('sampler, logits of row 0');
  });

  it('takes numbers encoded as bytes', async () => {
    const options = { label: 'bytes', maxRows: 2, maxOutputs: 0, precision: 'high' } as const;
    using program = device.record(options, (ops) => {
      const x = ops.input('x', 'T', { axis: 'D', size: 3 });
      ops.output('y', ops.add(x, x));
    });
    const values = Float32Array.from({ length: 256 }, (_, byte) => byte / 4);
    const run = (bytes: Uint8Array, of: Float32Array) =>
      program.run(step(2, { x: { bytes, values: of } }), { read: ['y'] });
    const { outputs } = await run(Uint8Array.of(0, 1, 2, 3, 254, 255), values);
    expect([...outputs.y!]).toEqual([0, 0.5, 1, 1.5, 127, 127.5]);
    await expect(run(new Uint8Array(5), values)).rejects.toThrow('inputs.x: expected 6 numbers');
    await expect(run(new Uint8Array(6), new Float32Array(2))).rejects.toThrow(
      'inputs.x.values: expected 256 numbers',
    );
  });

  it('rejects a weight whose buffer is smaller than its shape', () => {
    using weight = device.upload(new Uint8Array(4 * WIDTH), 'one row');
    const matrix: Matrix<'D', 'D'> = { kind: 'plain', dtype: 'F32', rows: 2, columns: WIDTH, weight };
    const record = () =>
      device.record({ label: 'small', maxRows: 1, maxOutputs: 0, precision: 'high' }, (ops) =>
        ops.output('y', ops.linear(ops.input('x', 'T', { axis: 'D', size: WIDTH }), matrix)),
      );
    expect(record).toThrow(ShapeMismatchError);
    expect(record).toThrow(`weight is ${4 * WIDTH} bytes, expected ${8 * WIDTH} bytes`);
  });

  it('measures only with a valid number of threads', async () => {
    await expect(measureReadBandwidth(-1)).rejects.toThrow(InvalidArgumentError);
  });

  it('checks a step before it runs', async () => {
    using program = chain(device, weightFile('checked.bin'), { rows: 2, layers: 1 });
    const x = new Float32Array(WIDTH);
    await expect(program.run(step(3, { x }))).rejects.toThrow('tokens: expected 1 to 2 rows, received 3');
    await expect(program.run(step(2, { x }))).rejects.toThrow('inputs.x');
    await expect(program.run(step(1, {}))).rejects.toThrow('inputs.x');
    await expect(program.run(step(1, { x, z: x }))).rejects.toThrow('inputs');
    await expect(program.run(step(1, { x }), { read: ['z'] })).rejects.toThrow('read');
    const bad = { ...step(1, { x }), positions: Int32Array.of(-1) };
    await expect(program.run(bad)).rejects.toThrow(InvalidArgumentError);
  });

  it('rejects ranges that cannot be mapped', () => {
    const file = weightFile('range.bin');
    expect(() => device.map({ path: folder, offsetBytes: 0, sizeBytes: 1 })).toThrow(
      'it is not a regular file',
    );
    expect(() => device.map({ path: file, offsetBytes: 1, sizeBytes: WIDTH * WIDTH * 4 })).toThrow(
      CorruptFileError,
    );
    expect(() => device.map({ path: `${file}.missing`, offsetBytes: 0, sizeBytes: 1 })).toThrow(
      FileAccessError,
    );
  });

  it('rejects devices and instruction sets that do not exist here', async () => {
    await expect(openDevice({ kind: 'cpu', isa: 'abacus' })).rejects.toThrow(DeviceUnavailableError);
    await expect(openDevice({ kind: 'cuda' })).rejects.toThrow(DeviceUnavailableError);
    await expect(openDevice({ threads: 1000 })).rejects.toThrow(InvalidArgumentError);
    for (const wrong of [
      { kind: 5 },
      { kind: 'gpu' },
      { kind: null },
      { isa: 7 },
      { threads: '2' },
      { threads: 1.5 },
    ]) {
      const [argument] = Object.keys(wrong);
      await expect(openDevice(wrong as never)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', argument });
    }
    vi.stubEnv('MARKBASE_CPU_ISA', 'abacus');
    await expect(openDevice({ kind: 'cpu' })).rejects.toMatchObject({ argument: 'MARKBASE_CPU_ISA' });
    (await openDevice({ kind: 'cpu', isa: 'generic' })).dispose();
    vi.unstubAllEnvs();
  });

  it('works in worker threads, each with its own device', async () => {
    const file = weightFile('worker.bin');
    const results = await Promise.all(
      [1, 2].map(
        (value) =>
          new Promise((resolve, reject) => {
            const worker = new Worker(path.join(scripts, 'worker.mjs'), {
              workerData: { file, value, width: WIDTH },
            });
            worker.once('message', resolve);
            worker.once('error', reject);
          }),
      ),
    );
    expect(results).toEqual([1, 2]);
  });

  it.each(['return', 'exit', 'terminate', 'interrupt'])('ends cleanly with a step in flight: %s', (how) => {
    const script = path.join(scripts, 'in-flight.mjs');
    const file = weightFile(`flight-${how}.bin`);
    const child = spawnSync(process.execPath, [script, how, file, String(WIDTH)], {
      encoding: 'utf8',
      timeout: 60_000,
    });
    expect(child.stderr).toBe('');
    expect(child.stdout).toContain('started');
    if (how === 'interrupt') expect(child.signal).toBe('SIGINT');
    else expect(child.status).toBe(0);
  });
});
