import type { Choice } from '../engine/choice.js';
import type { Future } from '../speculation/draft.js';
import type { GuessedAnswer } from '../speculation/draft-source.js';
import type { TokenRun } from './token-run.js';

/** Tokens of the prompt's end that precede a predicted text, so that its beginning is found, too. */
const JOINT_TOKENS = 3;

/** What the next tokens of a run are guessed from. */
export class RunAhead implements GuessedAnswer {
  readonly context: number[];
  hidden: Float32Array | null = null;
  readonly #run: TokenRun;

  constructor(run: TokenRun) {
    const { prompt, settings } = run;
    const { prediction } = settings;
    this.#run = run;
    const tokens = Array.from(prompt.tokens);
    this.context =
      prediction.length > 0 ? [...tokens.slice(-JOINT_TOKENS), ...prediction, -1, ...tokens] : tokens;
  }

  /** Takes a token of the answer. */
  push({ token, hidden }: Pick<Choice, 'token' | 'hidden'>): void {
    this.context.push(token);
    this.hidden = hidden ?? null;
  }

  fork(): Future | null {
    return this.#run.fork();
  }
}
