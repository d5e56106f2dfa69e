import { Utf8Joiner } from './utf8-joiner.js';

/** The texts of tokens; a `Tokenizer` has them. */
export interface TokenTexts {
  /** Displayed text of a token that is not a byte token; '' for ids without a token. */
  decodedText(id: number): string;
  /** The byte that a byte token represents; null for all other tokens. */
  byteOf(id: number): number | null;
  /** True for control tokens. */
  isSpecial(id: number): boolean;
}

/** Turns token ids that arrive one by one into text that can be shown immediately. */
export interface TokenTextDecoder {
  /** Adds an id; returns the text that is now certain: complete characters only, possibly none. */
  push(id: number): string;
  /** Ends the text: one U+FFFD for each byte of an incomplete character. The decoder can then be reused. */
  flush(): string;
}

/**
 * Creates a streaming decoder. The concatenated results of `push` and `flush` equal those of `tokenizer.decode`. At
 * most three bytes are held back, so invalid bytes cannot stall the stream.
 *
 * @param options.skipSpecial omits control tokens; false by default
 */
export function createTextDecoder(
  tokenizer: TokenTexts,
  options: { skipSpecial?: boolean } = {},
): TokenTextDecoder {
  const joiner = new Utf8Joiner();
  const skipsSpecial = options.skipSpecial ?? false;
  return {
    push(id) {
      if (skipsSpecial && tokenizer.isSpecial(id)) return '';
      const byte = tokenizer.byteOf(id);
      return byte === null ? joiner.flush() + tokenizer.decodedText(id) : joiner.push(byte);
    },
    flush: () => joiner.flush(),
  };
}
