import { compare, type Difference, judgedSection, type VerifySection, worst } from '@markbase/loader';
import { LOGITS_OUTPUT } from '../model/decoder.js';
import type { TextModel } from '../text-model.js';
import {
  observePrompt,
  prefillLogits,
  VERIFY_SEQUENCES,
  type VerifyContext,
  withSequences,
} from './context.js';

/**
 * The same prompt in one piece, in chunks, token by token, and batched with others. In `high`, the logits must be the
 * same bits; in `fast`, the difference is reported.
 */
export async function verifyInvariance(context: VerifyContext): Promise<VerifySection[]> {
  const { reference, whole, chunked, precision, signal } = context;
  const ids = await reference.integers('text.input_ids');
  const tolerance = precision === 'high' ? 0 : null;
  const { vocabularySize } = whole.config;
  const observed = await observePrompt(whole, { ids }, [LOGITS_OUTPUT], signal);
  const rowOf = (position: number) =>
    observed[LOGITS_OUTPUT]!.subarray(position * vocabularySize, (position + 1) * vocabularySize);
  const last = rowOf(ids.length - 1);

  const prefill = (model: TextModel) => prefillLogits(model, { ids }, signal);
  return [
    judgedSection('prefill in one piece', compare(await prefill(whole), last), tolerance),
    judgedSection('prefill in chunks', compare(await prefill(chunked), last), tolerance),
    judgedSection('token by token', worst(await tokenByToken(chunked, ids, rowOf, signal)), tolerance),
    judgedSection('batched with others', worst(await batched(chunked, ids, rowOf, signal)), tolerance),
  ];
}

async function tokenByToken(
  model: TextModel,
  ids: readonly number[],
  rowOf: (position: number) => Float32Array,
  signal?: AbortSignal,
): Promise<Difference[]> {
  const options = { withLogits: true, ...(signal && { signal }) };
  return withSequences(
    model,
    1,
    async ([sequence]) => {
      const differences: Difference[] = [];
      for (const [position, token] of ids.entries()) {
        const [choice] = await model.decode([{ sequence: sequence!, token }], options);
        differences.push(compare(choice!.logits!, rowOf(position)));
      }
      return differences;
    },
    signal,
  );
}

/** Three prefixes of the prompt share their prefill steps; then all are continued in the same decode steps. */
async function batched(
  model: TextModel,
  ids: readonly number[],
  rowOf: (position: number) => Float32Array,
  signal?: AbortSignal,
): Promise<Difference[]> {
  const options = { withLogits: true, ...(signal && { signal }) };
  const steps = Math.min(8, Math.floor(ids.length / 4));
  const lengths = Array.from({ length: VERIFY_SEQUENCES }, (_, index) => {
    return Math.max(1, Math.floor(((ids.length - steps) * (index + 1)) / VERIFY_SEQUENCES));
  });
  return withSequences(
    model,
    VERIFY_SEQUENCES,
    async (sequences) => {
      const jobs = sequences.map((sequence, index) => ({
        sequence,
        rows: model.layOut({ ids: ids.slice(0, lengths[index]) }),
      }));
      const first = await model.prefill(jobs, options);
      const differences = first.map((choice, index) => compare(choice.logits!, rowOf(lengths[index]! - 1)));
      for (let step = 0; step < steps; step++) {
        const rows = sequences.map((sequence, index) => ({ sequence, token: ids[lengths[index]! + step]! }));
        const choices = await model.decode(rows, options);
        for (const [index, choice] of choices.entries()) {
          differences.push(compare(choice.logits!, rowOf(lengths[index]! + step)));
        }
      }
      return differences;
    },
    signal,
  );
}
