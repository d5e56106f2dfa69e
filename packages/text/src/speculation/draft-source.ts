import type { Program, StepInput, StepResult } from '@markbase/metal-runtime';
import type { Sequence } from '../engine/sequence.js';
import type { Draft, Future } from './draft.js';

/** What steps know of an answer whose next tokens may be guessed. The same object in all of its steps. */
export interface GuessedAnswer {
  /** The prompt and the answer so far; a predicted text may precede them, after -1. */
  readonly context: readonly number[];
  /** [D] hidden state after the final norm that gave the last token; null if the model has no assistant. */
  readonly hidden: Float32Array | null;
  /** A copy for going ahead; null if this answer cannot be guessed. */
  fork(): Future | null;
}

/** One answer for which a source guesses tokens. */
export interface DraftRequest {
  /** What is known of the answer. */
  readonly answer: GuessedAnswer;
  /** Its keys and values, without those of the last token. */
  readonly sequence: Sequence;
  /** Takes the guesses. */
  readonly draft: Draft;
}

/** Runs a program on the model's device, while the step waits for the guesses. */
export type RunProgram = (program: Program, step: StepInput, read: readonly string[]) => Promise<StepResult>;

/**
 * Guesses the next tokens of answers. Whatever it guesses, the answers are those of the model: a guess is only taken if
 * the model chooses the same token.
 */
export interface DraftSource {
  /** Names the source in measurements. */
  readonly name: string;
  /** Number of tokens that it could guess for an answer now; 0 = none. Called before every step, so it must be fast. */
  reach(answer: GuessedAnswer): number;
  /** Pushes guesses into the drafts of all requests, while they take any. */
  draft(requests: readonly DraftRequest[], run: RunProgram): void | Promise<void>;
  /** Frees what the source holds; called when the model is disposed. */
  dispose?(): void;
}
