/** How the next token of a sequence is sampled. Every field has a neutral default: greedy, without penalties. */
export interface SamplingParams {
  /** 0 = greedy. */
  readonly temperature?: number;
  /** 0 = off. */
  readonly topK?: number;
  /** In (0, 1]; 1 = off. */
  readonly topP?: number;
  /** In [0, 1); 0 = off. */
  readonly minP?: number;
  /** > 0; 1 = off. Applies to tokens of the prompt and of the answer. */
  readonly repetitionPenalty?: number;
  /** 0 = off. Applies to generated tokens. */
  readonly presencePenalty?: number;
  /** 0 = off. Applies to generated tokens, per occurrence. */
  readonly frequencyPenalty?: number;
  /** An integer in [0, 2^53); the same seed yields the same random numbers. */
  readonly seed?: number;
  /** Index of the token in its sequence; together with the seed it determines the random number. */
  readonly draw?: number;
  /** Number of alternatives to report, 0 to 20. */
  readonly topLogprobs?: number;
  /** Added to the logits of single tokens before penalties: -100 to 100. */
  readonly logitBias?: ReadonlyMap<number, number>;
  /** [ceil(V / 32)] bit `id % 32` of word `id / 32` is set for allowed tokens; default: all are allowed. */
  readonly allowed?: Int32Array;
  /**
   * Tokens that occurred, with the number of times each was generated (0 = only in the prompt); needed by the
   * penalties.
   */
  readonly history?: ReadonlyMap<number, number>;
}

/**
 * The inputs of one step. Rows may belong to different sequences. A program that reads no tokens, such as a tower,
 * needs none: T is then the length of `positions`, or `rows`.
 */
export interface StepInput {
  /** T; required if there are neither tokens nor positions. */
  readonly rows?: number;
  /** [T] ids for the embedding; required by programs that embed. */
  readonly tokens?: Int32Array;
  /** [T] absolute positions in the row's sequence, 0-based; required by programs that read them; default: zeros. */
  readonly positions?: Int32Array;
  /** [T] sequence of each row, as a number from 0 on; default: zeros. */
  readonly slots?: Int32Array;
  /**
   * By slot, where the sequence's positions are in the caches: for positions 0 .. BLOCK_TOKENS - 1 and so on, a pair of
   * blocks, first of full layers, then of sliding layers; blocks before the window may be any. Default: slot s has the
   * s-th share of `capacityTokens` positions of each cache.
   */
  readonly tables?: readonly Int32Array[];
  /** [T] ids for the per-layer embedding; default: `tokens`. */
  readonly layerTokens?: Int32Array;
  /** [T] last position that each row sees in sliding layers; default: `positions`. */
  readonly visibleEnd?: Int32Array;
  /** [T] row of the soft tokens that replaces a row's embedding, or -1; default: none. */
  readonly softIndex?: Int32Array;
  /** [N] rows to return results for; default: none. */
  readonly outputRows?: Int32Array;
  /** [N] default: greedy. */
  readonly sampling?: readonly SamplingParams[];
  /** Values of `ops.input`, row-major. */
  readonly inputs?: Readonly<Record<string, InputValues>>;
}

/** Numbers of an input: directly, or as bytes with a table. */
export type InputValues = Float32Array | ByteValues;

/** Numbers encoded as bytes, with a table of the 256 possible values. */
export interface ByteValues {
  /** The values, one byte each. */
  readonly bytes: Uint8Array;
  /** [256]: the value of each byte. */
  readonly values: Float32Array;
}

/** A step whose rows are tokens of sequences. */
export type TokenStep = StepInput &
  Required<Pick<StepInput, 'tokens' | 'positions' | 'slots' | 'outputRows'>>;

/** The results of a step. */
export interface StepResult {
  /** [N] sampled tokens; empty if the program does not sample. */
  readonly tokens: Int32Array;
  /** [N] natural log-probability of each sampled token. */
  readonly logprobs: Float32Array;
  /** [N] alternatives, best first; empty lists unless requested. */
  readonly topLogprobs: readonly (readonly { token: number; logprob: number }[])[];
  /** The outputs requested with `read`, row-major. */
  readonly outputs: Readonly<Record<string, Float32Array>>;
}
