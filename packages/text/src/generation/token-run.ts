import type { SamplingParams } from '@markbase/metal-runtime';
import type { Choice } from '../engine/choice.js';
import type { PromptRows } from '../engine/prompt.js';
import type { TextModelSettings } from '../engine/text-model-options.js';
import type { TokenSettings } from './token-options.js';

/** Why a run ended: at a stop token or stopped by the caller, or because it reached its maximum length. */
export type TokenFinish = 'stop' | 'length';

/** The part of a model that a run needs. */
interface ContextOf {
  readonly settings: Pick<TextModelSettings, 'contextTokens'>;
}

/** The state of one answer: the generated tokens, and how the next one is sampled. */
export class TokenRun {
  readonly prompt: PromptRows;
  readonly settings: TokenSettings;
  /** All tokens of the answer, including the stop token. */
  readonly tokens: number[] = [];
  /** Prompt tokens found in the caches. */
  cachedTokens = 0;
  /** Guessed tokens that are part of the answer. */
  acceptedTokens = 0;
  /** Guessed tokens that are not. */
  rejectedTokens = 0;
  /** The stop token that ended the answer, if one did. */
  stopToken: number | null = null;
  readonly #maxTokens: number;
  #history: Map<number, number> | null;
  #finish: TokenFinish | null = null;

  constructor(model: ContextOf, prompt: PromptRows, settings: TokenSettings) {
    this.prompt = prompt;
    this.settings = settings;
    this.#maxTokens = Math.min(settings.maxTokens, model.settings.contextTokens - prompt.end);
    this.#history = settings.hasPenalty ? new Map(Array.from(prompt.tokens, (id) => [id, 0])) : null;
  }

  /** A run in the same state, which goes ahead over guessed tokens; null if its constraint cannot. */
  fork(): TokenRun | null {
    const { constraint } = this.settings;
    const copy = constraint && (constraint.fork?.() ?? null);
    if (constraint && !copy) return null;
    const contextTokens = this.prompt.end + this.#maxTokens;
    const settings = { ...this.settings, constraint: copy, hasPenalty: false };
    const run = new TokenRun({ settings: { contextTokens } }, this.prompt, settings);
    for (const token of this.tokens) run.tokens.push(token);
    run.#history = this.#history && new Map(this.#history);
    return run;
  }

  /** Null while the answer continues. */
  get finish(): TokenFinish | null {
    return this.#finish;
  }

  /** Called before `sampling`; null if that answers at once, otherwise a promise for it. */
  prepare(signal?: AbortSignal): Promise<void> | null {
    return this.settings.constraint?.prepare?.(this.#remainingTokens, signal) ?? null;
  }

  /** How the next token is sampled. */
  get sampling(): SamplingParams {
    const draw = this.tokens.length;
    const allowed = this.settings.constraint?.allowed(this.#remainingTokens) ?? null;
    return {
      ...this.settings.sampling,
      draw,
      ...(this.#history && { history: this.#history }),
      ...(allowed && { allowed }),
    };
  }

  /** Takes the sampled token; `finish` then says whether it was the last. */
  accept({ token }: Pick<Choice, 'token'>): void {
    this.tokens.push(token);
    this.settings.constraint?.accept(token);
    this.#history?.set(token, (this.#history.get(token) ?? 0) + 1);
    if (this.settings.stopTokenIds.has(token)) {
      this.stopToken = token;
      this.#finish = 'stop';
    } else if (this.tokens.length >= this.#maxTokens) {
      this.#finish = 'length';
    }
  }

  /** Ends the answer after its current tokens. */
  stop(): void {
    this.#finish ??= 'stop';
  }

  get #remainingTokens(): number {
    return this.#maxTokens - this.tokens.length;
  }
}
