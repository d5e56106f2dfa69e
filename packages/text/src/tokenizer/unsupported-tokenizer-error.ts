import { MarkBaseError } from '@markbase/core';

/** tokenizer.json requires a model, normalizer, pre-tokenizer or decoder that is not supported. */
export class UnsupportedTokenizerError extends MarkBaseError {
  readonly code = 'UNSUPPORTED_TOKENIZER';
  /** Path of tokenizer.json. */
  readonly path: string;
  /** Unsupported part of tokenizer.json, such as `normalizer`. */
  readonly component: string;
  /** What would have been accepted. */
  readonly expected: string;
  /** What the file contains. */
  readonly received: string;

  constructor(fields: { path: string; component: string; expected: string; received: unknown }) {
    const received = JSON.stringify(fields.received) ?? 'nothing';
    const shown = received.length > 120 ? `${received.slice(0, 117)}...` : received;
    super(
      `${fields.path}: unsupported ${fields.component}: expected ${fields.expected}, received ${shown}. ` +
        'Use a tokenizer.json of the Gemma family (byte-pair encoding with byte fallback)',
    );
    this.path = fields.path;
    this.component = fields.component;
    this.expected = fields.expected;
    this.received = shown;
  }
}
