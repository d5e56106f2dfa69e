import type { AudioModel, AudioSource, ReadSegmentsOptions } from '@markbase/audio';
import { type ChatMessage, generate, type TextModel } from '@markbase/text';
import { arrangeParts } from '../media/arrange-parts.js';

/** The text of one segment of a recording. */
export interface TranscribedSegment {
  /** Start of the segment in the recording. */
  readonly startSeconds: number;
  /** End of the segment in the recording. */
  readonly endSeconds: number;
  /** What was said. */
  readonly text: string;
  /** Number of soft tokens of the sound. */
  readonly softTokens: number;
  /** Number of tokens of the whole prompt, including `softTokens`. */
  readonly promptTokens: number;
  /** Number of tokens that the model wrote. */
  readonly generatedTokens: number;
  /** False if the answer reached its maximum length. */
  readonly isComplete: boolean;
}

/** Options of `transcribeSegments`. */
export interface TranscribeSegmentsOptions extends ReadSegmentsOptions {
  /** Instruction for the model, for each segment. */
  readonly instruction: string;
  /** Maximum number of tokens in the text of a segment. */
  readonly maxTokens: number;
  /** Default 0. */
  readonly temperature?: number;
}

/**
 * Transcribes a recording segment by segment; the next segments are encoded while the model writes.
 *
 * @throws the errors of `AudioModel.encodeEach` and of `generate`
 */
export async function* transcribeSegments(
  text: TextModel,
  audio: AudioModel,
  source: AudioSource,
  { instruction, maxTokens, temperature = 0, ...reading }: TranscribeSegmentsOptions,
): AsyncGenerator<TranscribedSegment> {
  const { signal } = reading;
  for await (const { startSeconds, endSeconds, softTokens } of audio.encodeEach(source, reading)) {
    const content = arrangeParts([{ type: 'audio', softTokens }], instruction, text.checkpoint);
    const messages: ChatMessage[] = [{ role: 'user', content }];
    const answer = await generate(text, { messages, maxTokens, temperature, ...(signal && { signal }) });
    yield {
      startSeconds,
      endSeconds,
      text: answer.text.trim(),
      softTokens: softTokens.rows,
      promptTokens: answer.usage.promptTokens,
      generatedTokens: answer.usage.completionTokens,
      isComplete: answer.finishReason !== 'length',
    };
  }
}
