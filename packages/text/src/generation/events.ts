/** Why an answer ended. */
export type FinishReason = 'stop' | 'length' | 'tool-calls';

/** Tokens that an answer cost. */
export interface Usage {
  readonly promptTokens: number;
  /** Generated tokens, the stop token included. */
  readonly completionTokens: number;
  /** Generated tokens of the thinking channel, its delimiters included; part of `completionTokens`. */
  readonly reasoningTokens: number;
  /** Prompt tokens that were in the caches already; part of `promptTokens`. */
  readonly cachedTokens: number;
}

/** How long an answer took, measured from the call. */
export interface Timings {
  /** Until the first token, waiting in line included. */
  readonly firstTokenMs: number;
  readonly totalMs: number;
}

/** A call of a tool that the model made. */
export interface GeneratedToolCall {
  /** Connects the tool's result with this call. */
  readonly id: string;
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The arguments as JSON, with every digit that the model wrote; JavaScript rounds some of them in `arguments`. */
  readonly argumentsJson: string;
  /** The call as the model wrote it. */
  readonly raw: string;
}

/** What a generated token belongs to; `control` is what separates the others and ends the answer. */
export type TokenPart = 'text' | 'reasoning' | 'tool-call' | 'control';

/** One generated token; its text may be part of a character, or none. */
export interface GeneratedToken {
  readonly part: TokenPart;
  readonly token: number;
  readonly text: string;
  /** Natural log-probability. */
  readonly logprob: number;
  /** Best first. */
  readonly topLogprobs: readonly {
    readonly token: number;
    readonly text: string;
    readonly logprob: number;
  }[];
}

/** How an answer ended and what it cost. */
export interface Finish {
  readonly reason: FinishReason;
  /** The stop string that ended the answer, if one did. */
  readonly stop: string | null;
  readonly usage: Usage;
  readonly timings: Timings;
  /** Gives the same answer again. */
  readonly seed: number;
  /** What an application should know: calls of tools that could not be read, which are part of the text. */
  readonly warnings: readonly string[];
}

/** What happens while an answer is generated. Text and reasoning arrive in whole characters. */
export type GenerateEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | ({ readonly type: 'tool-call' } & GeneratedToolCall)
  /** Only with `logprobs`. */
  | ({ readonly type: 'token' } & GeneratedToken)
  | ({ readonly type: 'finish' } & Finish);

/** A whole answer. */
export interface GenerateResult {
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly GeneratedToolCall[];
  /** Ids of the answer, the stop token included. */
  readonly tokens: readonly number[];
  readonly finishReason: FinishReason;
  /** The stop string that ended the answer, if one did. */
  readonly stop: string | null;
  readonly usage: Usage;
  readonly timings: Timings;
  readonly seed: number;
  /** See `Finish`. */
  readonly warnings: readonly string[];
  /** Every token, with `logprobs`. */
  readonly logprobs?: readonly GeneratedToken[];
}
