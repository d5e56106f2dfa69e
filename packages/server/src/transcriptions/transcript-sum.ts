import type { Transcript } from './transcriber.js';

/** Shown where the text of a segment reached its maximum length. */
const CUT_OFF = ' …';

/** The text and the token counts of the segments so far, as OpenAI's API gives them. */
export class TranscriptSum {
  text = '';
  #promptTokens = 0;
  #softTokens = 0;
  #generatedTokens = 0;

  /** Adds a segment. @returns what it adds to the text */
  push({ text, isComplete, promptTokens, softTokens, generatedTokens }: Transcript): string {
    this.#promptTokens += promptTokens;
    this.#softTokens += softTokens;
    this.#generatedTokens += generatedTokens;
    const shown = text + (isComplete ? '' : CUT_OFF);
    const delta = this.text === '' || shown === '' ? shown : ` ${shown}`;
    this.text += delta;
    return delta;
  }

  /** The body of an answer, and most of the last event of a stream. */
  whole() {
    const [input, output] = [this.#promptTokens, this.#generatedTokens];
    return {
      text: this.text,
      usage: {
        type: 'tokens',
        input_tokens: input,
        input_token_details: { text_tokens: input - this.#softTokens, audio_tokens: this.#softTokens },
        output_tokens: output,
        total_tokens: input + output,
      },
    };
  }
}
