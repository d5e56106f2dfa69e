/** How the next token of a sequence is chosen. Every field has a neutral default: greedy, nothing penalised. */
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
  /** Same seed, same numbers: an integer in [0, 2^53). */
  readonly seed?: number;
  /** Index of the token in its sequence; with the seed it fixes the random number. */
  readonly draw?: number;
  /** Alternatives to report, 0 to 20. */
  readonly topLogprobs?: number;
  /** Added to the logits of single tokens, before penalties: -100 to 100. */
  readonly logitBias?: ReadonlyMap<number, number>;
  /** [ceil(V / 32)] bit `id % 32` of word `id / 32` is set where a token may be chosen; default: all may. */
  readonly allowed?: Int32Array;
  /** Tokens that occurred and how often each was generated (0 = in the prompt only); needed by the penalties. */
  readonly history?: ReadonlyMap<number, number>;
}

/**
 * What changes from step to step. Rows may belong to different sequences. A program that reads no tokens, such as a tower,
 * needs none: T is then the length of `positions`, or `rows`.
 */
export interface StepInput {
  /** T; needed when neither tokens nor positions tell it. */
  readonly rows?: number;
  /** [T] ids for the embedding; needed by programs that embed. */
  readonly tokens?: Int32Array;
  /** [T] absolute positions in the row's sequence, 0-based; needed by programs that read them; default: zeros. */
  readonly positions?: Int32Array;
  /** [T] sequence slots; default: zeros. */
  readonly slots?: Int32Array;
  /** [T] ids for the per-layer embedding; default: `tokens`. */
  readonly layerTokens?: Int32Array;
  /** [T] last position that each row sees in sliding layers; default: `positions`. */
  readonly visibleEnd?: Int32Array;
  /** [T] row of the soft tokens that replaces a row's embedding, or -1; default: none. */
  readonly softIndex?: Int32Array;
  /** [N] rows whose results are wanted; default: none. */
  readonly outputRows?: Int32Array;
  /** [N] default: greedy. */
  readonly sampling?: readonly SamplingParams[];
  /** Values of `ops.input`, row-major. */
  readonly inputs?: Readonly<Record<string, InputValues>>;
}

/** Numbers of an input: themselves, or bytes that stand for them. */
export type InputValues = Float32Array | ByteValues;

/** Numbers of which there are 256. */
export interface ByteValues {
  readonly bytes: Uint8Array;
  /** [256]: what each byte stands for. */
  readonly values: Float32Array;
}

/** A step of rows that are tokens of sequences. */
export type TokenStep = StepInput &
  Required<Pick<StepInput, 'tokens' | 'positions' | 'slots' | 'outputRows'>>;

/** What a step gives back. */
export interface StepResult {
  /** [N] chosen tokens; empty when the program does not sample. */
  readonly tokens: Int32Array;
  /** [N] natural log-probability of each chosen token. */
  readonly logprobs: Float32Array;
  /** [N] alternatives, best first; empty lists unless asked for. */
  readonly topLogprobs: readonly (readonly { token: number; logprob: number }[])[];
  /** The outputs asked for with `read`, row-major. */
  readonly outputs: Readonly<Record<string, Float32Array>>;
}
