import type { StepResult } from '@markbase/metal-runtime';
import { HIDDEN_OUTPUT, LOGITS_OUTPUT } from '../model/decoder.js';

/** The token that a step sampled for one sequence. */
export interface Choice {
  /** Id of the chosen token. */
  readonly token: number;
  /** Natural log-probability. */
  readonly logprob: number;
  /** The likeliest tokens, best first; as many as `topLogprobs` requested. */
  readonly topLogprobs: readonly { readonly token: number; readonly logprob: number }[];
  /** [V], if requested: soft-capped, before penalties. */
  readonly logits?: Float32Array;
  /** [D] hidden state after the final norm, which the logits come from; only if the model has an assistant. */
  readonly hidden?: Float32Array;
}

/** The sampled token of output row `index` of a step, with its logits if they were read. */
export function choiceOf(result: StepResult, index: number): Choice {
  const rowOf = (values: Float32Array | undefined) => {
    const width = (values?.length ?? 0) / result.tokens.length;
    return values?.subarray(index * width, (index + 1) * width);
  };
  const logits = rowOf(result.outputs[LOGITS_OUTPUT]);
  const hidden = rowOf(result.outputs[HIDDEN_OUTPUT]);
  return {
    token: result.tokens[index]!,
    logprob: result.logprobs[index]!,
    topLogprobs: result.topLogprobs[index] ?? [],
    ...(logits && { logits }),
    ...(hidden && { hidden }),
  };
}
