import { existsSync } from 'node:fs';
import { openCheckpoint } from '@markbase/loader';
import { openPlanDevice, type RecordOptions } from '@markbase/metal-runtime';
import { mixtureOfExperts } from '@markbase/moe';
import { TextModel } from '@markbase/text';
import { describe, expect, it } from 'vitest';
import { fixture } from './run-markbase.js';

/** One checkpoint of each variant that exists here. */
const VARIANTS = ['e2b-mlx-4bit', 'e4b-mlx-mixed', '12b-mlx-4bit', '26b-a4b-mlx-4bit', '31b-hf'].filter(
  (name) => existsSync(fixture(name)),
);
/** Rows, positions and kind of steps: a token with a short and with a long context, several tokens, prompts. */
const STEPS = [
  [1, 100, 'decode'],
  [1, 2000, 'decode'],
  [4, 2000, 'decode'],
  [1, 2000, 'prefill'],
  [40, 2000, 'prefill'],
] as const;
/** Switches, and the names of their launches. */
const MERGES = {
  'begin-step': /^begin_step$/,
  'linear-scale-norm': /^linear_norm_/,
  'attention-linear': /^attention_linear_/,
  'norm-pair': /^rms_norm_pair$/,
} as const;

/** Kernels of all launches of the steps, and commands without their own launch, whose work another one does. */
async function planned(kind: 'metal' | 'cuda', variant: string, fusions: RecordOptions['fusions']) {
  using device = await openPlanDevice(kind);
  const checkpoint = await openCheckpoint(fixture(variant));
  const kernels = new Set<string>();
  const merged: string[] = [];
  for (const precision of ['high', 'fast'] as const) {
    const feedForward = mixtureOfExperts;
    const options = { precision, feedForward, contextTokens: 2048, maxSequences: 4, prefillChunk: 40 };
    const model = await TextModel.load(checkpoint, device, {
      ...options,
      ...(fusions !== undefined && { fusions }),
    });
    for (const [rows, positions, step] of STEPS) {
      const { commands, dispatches } = model.plan(rows, positions, step);
      const launched = new Set(dispatches.map(({ command }) => command));
      for (const { kernel } of dispatches) kernels.add(kernel);
      merged.push(...commands.filter((_, index) => !launched.has(index)).map(({ label }) => label));
    }
    model.dispose();
  }
  return { kernels: [...kernels], merged };
}

describe.each(['metal', 'cuda'] as const)('launches that do the work of several commands on %s', (kind) => {
  it.each(VARIANTS)('begin the steps of %s, and are switched off with the fusions', async (variant) => {
    const fused = await planned(kind, variant, undefined);
    expect(fused.kernels).toContain('begin_step');
    expect(fused.merged).not.toEqual([]);
    const plain = await planned(kind, variant, false);
    expect(plain.merged).toEqual([]);
    const names = Object.values(MERGES);
    expect(plain.kernels.filter((kernel) => names.some((name) => name.test(kernel)))).toEqual([]);
  });
});

describe('the switch of a merge', () => {
  it.each(Object.entries(MERGES))('%s leaves the others on', async (name, kernel) => {
    const [kind, variant] =
      name === 'norm-pair' ? (['cuda', '26b-a4b-mlx-4bit'] as const) : (['metal', 'e2b-mlx-4bit'] as const);
    const { kernels } = await planned(kind, variant, undefined);
    expect(kernels.filter((each) => kernel.test(each))).not.toEqual([]);
    const without = await planned(kind, variant, { without: [name] });
    expect(without.kernels.filter((each) => kernel.test(each))).toEqual([]);
    expect(without.merged).not.toEqual([]);
  });
});
