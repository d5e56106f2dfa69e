/** The token that a step chose for one sequence. */
export interface Choice {
  readonly token: number;
  /** Natural log-probability. */
  readonly logprob: number;
  /** Best first; as many as `topLogprobs` asked for. */
  readonly topLogprobs: readonly { readonly token: number; readonly logprob: number }[];
  /** [V], when asked for: soft-capped, before penalties. */
  readonly logits?: Float32Array;
}
