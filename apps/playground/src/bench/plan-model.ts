import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { estimate, openCheckpoint } from '@markbase/loader';
import type { Device, ProgramPlan } from '@markbase/metal-runtime';
import { mixtureOfExperts } from '@markbase/moe';
import { TextModel } from '@markbase/text';
import { planCheckpoint } from '../synth/plan-checkpoint.js';
import { textShape, type VariantName } from '../synth/shape.js';
import { writeSparseCheckpoint } from '../synth/write-checkpoint.js';
import { countDispatches } from './gpu-model.js';

/** Options of `planModel`. */
export interface PlanOptions {
  readonly variant: VariantName;
  readonly isTiny: boolean;
  readonly layerCount?: number;
  readonly step: 'decode' | 'prefill';
  /** Sequences in the decode step, or tokens in the prefill step. */
  readonly rows: number;
  /** Number of positions that the step's rows see in full layers. */
  readonly positions: number;
  readonly precision: 'high' | 'fast';
  readonly signal: AbortSignal;
}

/** 4-bit codes in groups of 64, like most published checkpoints. */
const STORAGE = { mode: 'affine', bits: 4, groupSize: 64 } as const;
/** The caches only take address space, but a plan needs no long context. */
const CONTEXT_TOKENS = 32_768;

/**
 * Counts the commands of a step of a variant. The checkpoint is a sparse file without weights, so it needs neither a
 * download nor disk space. It is removed afterwards.
 */
export async function planModel(device: Device, options: PlanOptions) {
  const { variant, isTiny, layerCount, step, rows, positions, precision, signal } = options;
  const directory = await mkdtemp(join(tmpdir(), 'markbase-plan-'));
  try {
    await writeSparseCheckpoint(
      directory,
      planCheckpoint(textShape(variant, { isTiny, layerCount }), STORAGE, 1),
    );
    const checkpoint = await openCheckpoint(directory, { signal });
    const contextTokens = Math.min(CONTEXT_TOKENS, checkpoint.config.text.maxPositions);
    const model = await TextModel.load(checkpoint, device, {
      precision,
      feedForward: mixtureOfExperts,
      contextTokens,
      ...(step === 'decode' ? { maxSequences: rows } : { prefillChunk: rows }),
      signal,
    });
    try {
      const seen = Math.min(positions, contextTokens);
      const plan = model.plan(rows, seen, step);
      const { fileBytes, activePerToken } = estimate(checkpoint, { contextTokens: seen, precision });
      const { dense, experts, lookups, keysAndValues } = activePerToken;
      const bytes = {
        weights: plan.weightBytes,
        tokenTensors: dense + experts + lookups,
        checkpoint: fileBytes,
        // The rows of a prompt share the keys and values that they see.
        cache: keysAndValues * (step === 'decode' ? rows : 1),
      };
      const gpu = plan.dispatches.length > 0 && countDispatches(plan.dispatches, bytes, rows);
      return {
        ...{ variant, step, rows, positions: seen, precision, layerCount: model.config.layers.length },
        ...countCommands(plan),
        ...(gpu && { gpu }),
      };
    } finally {
      model.dispose();
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Counts of a plan: in total, by kernel, and by the scope in which a command was recorded. */
function countCommands({ commands, arenaBytes, weightBytes }: ProgramPlan) {
  const byKernel = new Map<string, number>();
  const byScope = new Map<string, number>();
  for (const { kernel, label } of commands) {
    count(byKernel, kernel);
    count(byScope, label.split(' / ')[0] ?? label);
  }
  const layers = [...byScope].filter(([scope]) => scope.startsWith('layer '));
  return {
    commandCount: commands.length,
    phaseCount: commands.reduce((sum, command) => sum + command.phases, 0),
    commandsByKernel: Object.fromEntries([...byKernel].sort(([, a], [, b]) => b - a)),
    commandsByScope: Object.fromEntries(byScope),
    commandsPerLayer: layers.reduce((sum, [, commands]) => sum + commands, 0) / Math.max(1, layers.length),
    arenaBytes,
    weightBytesPerStep: weightBytes,
  };
}

function count(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}
