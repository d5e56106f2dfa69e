/** Why an answer ended. */
export type FinishReason = 'stop' | 'length' | 'tool-calls';

/** Token counts of an answer. */
export interface Usage {
  /** Tokens of the prompt, including soft tokens. */
  readonly promptTokens: number;
  /** Generated tokens, including the stop token. */
  readonly completionTokens: number;
  /** Generated tokens of the thinking channel, including its delimiters; part of `completionTokens`. */
  readonly reasoningTokens: number;
  /** Prompt tokens found in the caches; part of `promptTokens`. */
  readonly cachedTokens: number;
  /** Tokens that were guessed and turned out right; part of `completionTokens`. */
  readonly acceptedTokens: number;
  /** Tokens that were guessed and turned out wrong. */
  readonly rejectedTokens: number;
}

/** Duration of an answer, measured from the call. */
export interface Timings {
  /** Time to the first token, including the time spent waiting. */
  readonly firstTokenMs: number;
  /** Time to the end of the answer. */
  readonly totalMs: number;
}

/** A tool call made by the model. */
export interface GeneratedToolCall {
  /** Links the tool's result to this call. */
  readonly id: string;
  /** Name of the tool. */
  readonly name: string;
  /** The arguments; numbers may be rounded. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The arguments as JSON, with all digits that the model wrote; numbers in `arguments` may be rounded. */
  readonly argumentsJson: string;
  /** The call as the model wrote it. */
  readonly raw: string;
}

/** What a generated token belongs to; `control` tokens separate the other parts and end the answer. */
export type TokenPart = 'text' | 'reasoning' | 'tool-call' | 'control';

/** One generated token. Its text may be part of a character, or empty. */
export interface GeneratedToken {
  /** What the token belongs to. */
  readonly part: TokenPart;
  /** Id of the token. */
  readonly token: number;
  /** Its text. */
  readonly text: string;
  /** Natural log-probability. */
  readonly logprob: number;
  /** The likeliest tokens, best first. */
  readonly topLogprobs: readonly {
    /** Id of the token. */
    readonly token: number;
    /** Its text. */
    readonly text: string;
    /** Natural log-probability. */
    readonly logprob: number;
  }[];
}

/** How an answer ended, and its cost. */
export interface Finish {
  /** Why the answer ended. */
  readonly reason: FinishReason;
  /** The stop string that ended the answer, if one did. */
  readonly stop: string | null;
  /** Token counts. */
  readonly usage: Usage;
  /** How long it took. */
  readonly timings: Timings;
  /** Seed that reproduces the answer. */
  readonly seed: number;
  /** Warnings for the application: tool calls that could not be read, which are part of the text. */
  readonly warnings: readonly string[];
}

/** An event during generation. Text and reasoning arrive in whole characters. */
export type GenerateEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | ({ readonly type: 'tool-call' } & GeneratedToolCall)
  /** Only with `logprobs`. */
  | ({ readonly type: 'token' } & GeneratedToken)
  | ({ readonly type: 'finish' } & Finish);

/** A complete answer. */
export interface GenerateResult {
  /** The answer, without reasoning and tool calls. */
  readonly text: string;
  /** Text of the thinking channel; empty if the model did not think. */
  readonly reasoning: string;
  /** Tool calls in the order in which the model made them. */
  readonly toolCalls: readonly GeneratedToolCall[];
  /** Ids of the answer, including the stop token. */
  readonly tokens: readonly number[];
  /** Why the answer ended. */
  readonly finishReason: FinishReason;
  /** The stop string that ended the answer, if one did. */
  readonly stop: string | null;
  /** Token counts. */
  readonly usage: Usage;
  /** How long it took. */
  readonly timings: Timings;
  /** Seed that reproduces the answer. */
  readonly seed: number;
  /** See `Finish`. */
  readonly warnings: readonly string[];
  /** Every token; only with `logprobs`. */
  readonly logprobs?: readonly GeneratedToken[];
}
