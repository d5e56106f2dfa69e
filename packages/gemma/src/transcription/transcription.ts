import type { OptionNames } from '@markbase/core';
import type { TranscribedSegment } from './transcribe-segments.js';

/** The text of a recording. */
export interface Transcription {
  /** The text of all segments, separated by spaces. */
  readonly text: string;
  /** The segments in order; sound of up to 30 s is one. */
  readonly segments: readonly TranscribedSegment[];
}

/** Options of `GemmaModel.transcribe`. */
export interface TranscribeOptions {
  /** ISO 639 code of the spoken language, such as `en`; default: the model finds out. */
  readonly language?: string;
  /** What the model should know about the recording. */
  readonly prompt?: string;
  /** Maximum number of tokens in the text of a segment; default 512. */
  readonly maxTokens?: number;
  /** Default 0: always the likeliest token. */
  readonly temperature?: number;
  /** Called with each segment as soon as it is transcribed. */
  readonly onSegment?: (segment: TranscribedSegment) => void;
  /** Aborts the transcription, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/** The names of `TranscribeOptions`. */
export const TRANSCRIBE_OPTIONS: OptionNames<TranscribeOptions> = {
  language: true,
  prompt: true,
  maxTokens: true,
  temperature: true,
  onSegment: true,
  signal: true,
};
