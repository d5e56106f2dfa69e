/** A language of symbols as an automaton whose states are found as they are needed. */
export interface Machine {
  readonly start: number;
  /** The state after a symbol, or -1. */
  advance(state: number, symbol: number): number;
  isEnd(state: number): boolean;
  /** Least number of symbols to an end. */
  costOf(state: number): number;
  /** Control tokens that occur, as symbols. */
  readonly controls?: readonly number[];
}
