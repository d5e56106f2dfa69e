import type { Tokenizer } from './tokenizer.js';
import { Utf8Joiner } from './utf8-joiner.js';

/** Turns token ids that arrive one by one into text that can be shown at once. */
export interface TokenTextDecoder {
  /** Adds one id; returns the text that is certain now: complete characters only, possibly none. */
  push(id: number): string;
  /** Ends the text: one U+FFFD for each byte of a character that stayed incomplete. The decoder can be used again. */
  flush(): string;
}

/**
 * Makes a streaming decoder. All that `push` and `flush` return, put together, is what `tokenizer.decode` gives.
 * At most three bytes are ever held back, so garbage cannot stall the stream.
 *
 * @param options.skipSpecial leaves control tokens out; false by default
 */
export function createTextDecoder(
  tokenizer: Tokenizer,
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
