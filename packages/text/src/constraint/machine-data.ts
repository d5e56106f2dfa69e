import type { Dfa } from './language/dfa.js';

/** How the characters of a text are spelled. */
export interface Spelling {
  /** Characters may be written as JSON escapes. */
  readonly hasEscapes: boolean;
  /** [128] 1 for ASCII characters that may be written unescaped. */
  readonly plain: Uint8Array;
}

/** The bytes that spell the texts of a language. */
export interface TextData {
  readonly kind: 'text';
  readonly dfa: Dfa;
  readonly spelling: Spelling;
  /** [states] least number of bytes from a state to an end. */
  readonly costs: Float64Array;
}

/** A list of texts in order, without duplicates. */
export interface ListData {
  readonly kind: 'list';
  /** The symbols of all texts, one text after the other. */
  readonly symbols: Uint32Array;
  /** [texts + 1] index of each text's first symbol. */
  readonly first: Uint32Array;
  /** The control tokens that occur, as symbols. */
  readonly controls: readonly number[];
}

/** What a machine is made of: typed arrays and plain values, which may move to another thread. */
export type MachineData = TextData | ListData;

/** The spelling in which the ASCII characters that satisfy `isPlain` are written unescaped. */
export function spellingOf(hasEscapes: boolean, isPlain: (code: number) => boolean): Spelling {
  return { hasEscapes, plain: Uint8Array.from({ length: 128 }, (_, code) => Number(isPlain(code))) };
}
