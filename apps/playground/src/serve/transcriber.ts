import type { AudioModel } from '@markbase/audio';
import { TRANSCRIPTION_MAX_TOKENS, transcribeSegments, transcriptionInstruction } from '@markbase/gemma';
import type { Transcriber } from '@markbase/server';
import type { TextModel } from '@markbase/text';

/** Longest recording: a few kilobytes can hold days of silence, which would take a slot for as long. */
const MAX_RECORDING_SECONDS = 8 * 3600;

/** Transcribes recordings for the server's API, as `markbase transcribe` does. @param usesFfmpeg whether ffmpeg may decode them */
export function transcriberFor(model: TextModel, audio: AudioModel, usesFfmpeg: boolean): Transcriber {
  return (bytes, { language, prompt, temperature = 0, signal }) =>
    transcribeSegments(model, audio, bytes, {
      instruction: transcriptionInstruction({
        ...(language !== undefined && { language }),
        ...(prompt !== undefined && { prompt }),
      }),
      maxTokens: TRANSCRIPTION_MAX_TOKENS,
      temperature,
      maxTotalSeconds: MAX_RECORDING_SECONDS,
      ...(!usesFfmpeg && { ffmpeg: false }),
      signal,
    });
}
