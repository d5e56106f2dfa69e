import type { StepResult } from '@markbase/metal-runtime';
import { LOGITS_OUTPUT } from '../model/decoder.js';

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
}

/** The sampled token of output row `index` of a step, with its logits if they were read. */
export function choiceOf(result: StepResult, index: number, vocabularySize: number): Choice {
  const logits = result.outputs[LOGITS_OUTPUT]?.subarray(
    index * vocabularySize,
    (index + 1) * vocabularySize,
  );
  return {
    token: result.tokens[index]!,
    logprob: result.logprobs[index]!,
    topLogprobs: result.topLogprobs[index] ?? [],
    ...(logits && { logits }),
  };
}
