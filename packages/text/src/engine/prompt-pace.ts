import { BLOCK_TOKENS } from '@markbase/metal-runtime';

/** Prompts always go on by this many rows: tokens that come in time are no use if prompts never end. */
const LEAST_ROWS = BLOCK_TOKENS;

/**
 * How many rows of prompts a step has while answers are running: as many as the device computed in time before, so that an
 * answer's next token comes within a target.
 */
export class PromptPace {
  readonly #targetMs: number | null;
  readonly #mostRows: number;
  #rows: number;
  #decodeMs = 0;
  #isAnswering = false;

  /**
   * @param targetMs between two tokens of an answer; null = steps have as many rows as they can
   * @param mostRows of a step
   */
  constructor(targetMs: number | null, mostRows: number) {
    this.#targetMs = targetMs;
    this.#mostRows = mostRows;
    this.#rows = mostRows;
  }

  /** Maximum number of rows of the next step of prompts. */
  get rows(): number {
    return this.#isAnswering ? this.#rows : this.#mostRows;
  }

  /** A step over prompts has ended. Tokens of answers come before the next one, if any answer is running. */
  prompted(rows: number, milliseconds: number): void {
    this.#isAnswering = false;
    if (this.#targetMs === null) return;
    const room = Math.max(0, this.#targetMs - this.#decodeMs);
    const inTime = Math.floor((rows * room) / Math.max(milliseconds, 0.001));
    this.#rows = Math.min(Math.max(inTime, LEAST_ROWS), this.#mostRows);
  }

  /** A step over tokens of answers has ended. */
  decoded(milliseconds: number): void {
    this.#isAnswering = true;
    this.#decodeMs = milliseconds;
  }
}
