import type { Checkpoint, Reference, VerifySection } from '@markbase/loader';
import type { Device, SoftTokens } from '@markbase/metal-runtime';
import type { Prompt } from '../engine/prompt.js';
import type { Sequence } from '../engine/sequence.js';
import type { TextModel } from '../text-model.js';

/**
 * Verifies the encoder of a medium and returns its soft tokens for the reference's medium, or null if the reference has
 * none. `verifyVision` of @markbase/vision is one.
 */
export type VerifyEncoder = (
  checkpoint: Checkpoint,
  device: Device,
  options: {
    readonly precision: 'high' | 'fast';
    readonly fusions?: false | { readonly without: readonly string[] };
    readonly signal?: AbortSignal;
  },
) => Promise<{ readonly sections: readonly VerifySection[]; readonly softTokens: SoftTokens } | null>;

/** Shared by all sections. */
export interface VerifyContext {
  readonly reference: Reference;
  readonly precision: 'high' | 'fast';
  readonly fusions?: false | { readonly without: readonly string[] };
  /** A model whose prefill computes every reference prompt in one piece. */
  readonly whole: TextModel;
  /** The same model with small chunks, so that sliding caches overwrite what left the window; three sequences. */
  readonly chunked: TextModel;
  readonly signal?: AbortSignal;
}

/** Number of sequences of `chunked`. */
export const VERIFY_SEQUENCES = 3;
/** Rows of a prefill step of `chunked`: odd, so that chunks and windows do not align. */
export const VERIFY_CHUNK_TOKENS = 7;
/** A layer with bfloat16 or 8-bit activations is off by 1e-2 to 2e-2; a wrong layer by far more. */
export const FAST_TOLERANCE = 3e-2;

/** Runs `body` with empty sequences of a model, and always releases them. */
export async function withSequences<Result>(
  model: TextModel,
  count: number,
  body: (sequences: Sequence[]) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const sequences = await model.acquire(new Array(count).fill(null), signal);
  try {
    return await body(sequences);
  } finally {
    model.release(sequences);
  }
}

/** Logits [T, V] of every row of a prompt, computed in one step, and the requested further outputs. */
export function observePrompt(
  model: TextModel,
  prompt: Prompt,
  names: readonly string[],
  signal?: AbortSignal,
): Promise<Readonly<Record<string, Float32Array>>> {
  const body = ([sequence]: Sequence[]) =>
    model.observe({ sequence: sequence!, rows: model.layOut(prompt) }, names, { ...(signal && { signal }) });
  return withSequences(model, 1, body, signal);
}

/** Logits [V] after a prompt. */
export function prefillLogits(model: TextModel, prompt: Prompt, signal?: AbortSignal): Promise<Float32Array> {
  const body = async ([sequence]: Sequence[]) => {
    const jobs = [{ sequence: sequence!, rows: model.layOut(prompt) }];
    const [choice] = await model.prefill(jobs, { withLogits: true, ...(signal && { signal }) });
    return choice!.logits!;
  };
  return withSequences(model, 1, body, signal);
}
