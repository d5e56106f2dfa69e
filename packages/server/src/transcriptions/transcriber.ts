/** What a request asks of a transcriber. */
export interface TranscriberOptions {
  /** Language of the speech as an ISO 639 code, such as `en`; default: any. */
  readonly language?: string;
  /** Text that tells the model about the recording: names, style, what came before. */
  readonly prompt?: string;
  /** From 0, the default, to 1. */
  readonly temperature?: number;
  /** Aborted when the client leaves or the server closes. */
  readonly signal: AbortSignal;
}

/** The text of one segment of a recording. */
export interface Transcript {
  /** What was said in the segment. */
  readonly text: string;
  /** False if the text reached its maximum length. */
  readonly isComplete: boolean;
  /** Tokens of the whole prompt, including those of the sound. */
  readonly promptTokens: number;
  /** Soft tokens of the sound. */
  readonly softTokens: number;
  /** Tokens that the model wrote for it. */
  readonly generatedTokens: number;
}

/**
 * Transcribes a sound file, segment by segment. It runs in the slot of one answer.
 *
 * @throws the errors of a decoder, such as CorruptFileError; clients see them as status 400
 */
export type Transcriber = (bytes: Uint8Array, options: TranscriberOptions) => AsyncIterable<Transcript>;
