import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Checkpoint, estimate, openCheckpoint } from '@markbase/loader';
import { type Device, openDevice } from '@markbase/metal-runtime';
import { mixtureOfExperts } from '@markbase/moe';
import { TextModel } from '@markbase/text';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { planCheckpoint } from '../src/synth/plan-checkpoint.js';
import { textShape } from '../src/synth/shape.js';
import { writeCheckpoint } from '../src/synth/write-checkpoint.js';
import { fixture } from './run-markbase.js';

// Compares the plan of a one-token step with what the simulated GPU saw of it: launches, and bytes of weights.

/** One checkpoint per decoder and storage; "wide" ones have the head widths of released models. */
const NAMES = [
  ...['e2b-hf', 'e2b-mlx-4bit', 'e4b-hf', 'e4b-mlx-4bit', 'e4b-mlx-mixed', '12b-hf', '12b-mlx-4bit'],
  ...['26b-a4b-hf', '26b-a4b-mlx-4bit', '31b-hf', '31b-mlx-8bit'],
  ...['wide-e2b-mlx-4bit', 'wide-26b-a4b-mlx-4bit', 'wide-31b-mlx-4bit'],
].filter((name) => existsSync(join(fixture(name), 'model.safetensors')));

/** A line of METAL_SIM_REPORT, which describes a command buffer. */
interface Report {
  barriers: number;
  waits: number;
  dispatches: {
    kernel: string;
    groups: number[];
    threads: number;
    hasBarrier: boolean;
    loads: { argument: string; buffer: string; bytes: number }[];
  }[];
  reads: { buffer: string; bytes: number }[];
}

/** Buffers over files are labelled with their paths. */
const isOfWeights = ({ buffer }: { buffer: string }) => buffer.endsWith('.safetensors');

let reportFile: string;
process.env.METAL_SIM_CHECK = '1';
const device = await openDevice({ kind: 'metal-sim' }).catch(() => null);

/** The second token of a sequence: the plan of its step, and the resulting command buffers. */
async function observeToken(checkpoint: Checkpoint, gpu: Device) {
  const options = {
    precision: 'fast',
    contextTokens: 64,
    maxSequences: 1,
    feedForward: mixtureOfExperts,
  } as const;
  using model = await TextModel.load(checkpoint, gpu, options);
  const sequence = await model.createSequence();
  await model.decode([{ sequence, token: 5 }]);
  writeFileSync(reportFile, '');
  await model.decode([{ sequence, token: 6 }]);
  const lines = readFileSync(reportFile, 'utf8').trim().split('\n');
  return { plan: model.plan(1, 2), buffers: lines.map((line) => JSON.parse(line) as Report) };
}

/** Size of the tensors with the given ranks that one token uses, from their headers, in bytes. */
function tokenBytes({ config, weights }: Checkpoint, isCounted: (rank: number) => boolean): number {
  const counted = new Map([...weights.entries()].filter(([, { shape }]) => isCounted(shape.length)));
  const { dense, experts, lookups } = estimate({ config, weights: counted }).activePerToken;
  return dense + experts + lookups;
}

const sum = (items: readonly { bytes: number }[]) => items.reduce((total, { bytes }) => total + bytes, 0);

describe.runIf(device)('a step of one token on a GPU', { timeout: 300_000 }, () => {
  beforeAll(() => {
    reportFile = join(temporaryFolder(), 'report');
    process.env.METAL_SIM_REPORT = reportFile;
  });
  afterAll(() => device?.dispose());

  /** Released sizes are multiples of the outputs of a threadgroup; with fewer outputs, it loads the last row again. */
  const LIMIT = 1.01;
  const TINY_LIMIT = 1.04;

  function expectShare(share: number, limit = LIMIT) {
    expect(share).toBeGreaterThan(0.99);
    expect(share).toBeLessThanOrEqual(limit);
  }

  /** Expects a step to match its plan, and to read everything that a token needs once. */
  async function check(checkpoint: Checkpoint, limit: number) {
    const { plan, buffers } = await observeToken(checkpoint, device!);
    expect(buffers).toHaveLength(1);
    const { waits, barriers, dispatches, reads } = buffers[0]!;
    expect(waits).toBe(1);
    expect(
      dispatches.map(({ kernel, groups, threads, hasBarrier }) => ({ kernel, groups, threads, hasBarrier })),
    ).toEqual(
      plan.dispatches.map(({ kernel, groups, threads, hasBarrier }) => ({
        kernel,
        groups,
        threads,
        hasBarrier,
      })),
    );
    expect(barriers).toBe(plan.dispatches.filter(({ hasBarrier }) => hasBarrier).length);
    const loads = dispatches.flatMap((dispatch) => dispatch.loads).filter(isOfWeights);
    // The bytes of weights that a launch needs, each counted once.
    expectShare(sum(reads.filter(isOfWeights)) / tokenBytes(checkpoint, () => true));
    // All loads of matrices. Each threadgroup of a launch loads the few vectors, as it does the row of activations.
    const matrices = tokenBytes(checkpoint, (rank) => rank > 1);
    const matrixLoads = loads.filter(({ argument }) => !/gain|expert_scales/.test(argument));
    expectShare(sum(matrixLoads) / matrices, limit);
  }

  it.each(NAMES)('matches the plan: %s', async (name) => {
    await check(await openCheckpoint(fixture(name)), name.startsWith('wide') ? LIMIT : TINY_LIMIT);
  });

  it.each(['e2b', '26b-a4b', '31b'] as const)('matches the plan: a wider %s', async (variant) => {
    const shape = textShape(variant, { isTiny: true, layerCount: 6 });
    const wide = {
      ...{ ...shape, hiddenSize: 256, intermediateSize: 1024, headWidth: 64, globalHeadWidth: 128 },
      experts: shape.experts && { count: 32, topK: 4, intermediateSize: 64 },
    };
    const directory = join(temporaryFolder(), variant);
    await writeCheckpoint(directory, planCheckpoint(wide, { mode: 'affine', bits: 4, groupSize: 64 }, 1), {});
    await check(await openCheckpoint(directory), LIMIT);
  });
});
