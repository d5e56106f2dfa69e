import type { MachineData } from './machine-data.js';

/** A language of symbols as an automaton that finds its states when they are needed. */
export interface Machine {
  readonly start: number;
  readonly data: MachineData;
  /** The state after a symbol, or -1. */
  advance(state: number, symbol: number): number;
  isEnd(state: number): boolean;
  /** Least number of symbols to an end. */
  costOf(state: number): number;
  /** The control tokens that occur, as symbols. */
  readonly controls?: readonly number[];
}
