import type { AudioModel, AudioSource, ReadSegmentsOptions } from '@markbase/audio';
import { type ChatMessage, generate, type TextModel } from '@markbase/text';
import { arrangeParts } from './arrange-parts.js';

/** What was said in a stretch of a recording. */
export interface TranscribedSegment {
  readonly startSeconds: number;
  readonly endSeconds: number;
  readonly text: string;
  /** Rows of the prompt that the sound took. */
  readonly softTokens: number;
  readonly generatedTokens: number;
  /** False when the answer was cut off at its longest. */
  readonly isComplete: boolean;
}

/** How a recording is written down. */
export interface TranscribeOptions extends ReadSegmentsOptions {
  /** What the model is told to do with each segment. */
  readonly instruction: string;
  /** Most tokens of the text of one segment. */
  readonly maxTokens: number;
}

/** Writes down a recording, segment by segment; the next segments are heard while the model writes. */
export async function* transcribe(
  text: TextModel,
  audio: AudioModel,
  source: AudioSource,
  { instruction, maxTokens, ...reading }: TranscribeOptions,
): AsyncGenerator<TranscribedSegment> {
  const { signal } = reading;
  for await (const { startSeconds, endSeconds, softTokens } of audio.encodeEach(source, reading)) {
    const content = arrangeParts([{ type: 'audio', softTokens }], instruction, text.checkpoint);
    const messages: ChatMessage[] = [{ role: 'user', content }];
    const answer = await generate(text, { messages, maxTokens, temperature: 0, ...(signal && { signal }) });
    yield {
      startSeconds,
      endSeconds,
      text: answer.text.trim(),
      softTokens: softTokens.rows,
      generatedTokens: answer.usage.completionTokens,
      isComplete: answer.finishReason !== 'length',
    };
  }
}
