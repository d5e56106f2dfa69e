import type { TranscribedSegment, TranscribeSegmentsOptions } from '@markbase/gemma';
import { Command } from 'commander';
import { checkpointFolder } from '../checkpoint-folder.js';
import { homePath } from '../home-path.js';
import { withInterrupt } from '../interrupt.js';
import { addDeviceFlags, type DeviceFlags, integer, real } from '../options.js';
import { printJson, printLines } from '../output.js';
import { startProgress, writeFindings } from '../progress.js';
import { standardInput } from '../prompt-input.js';
import { withDevice } from '../with-device.js';

interface TranscribeFlags extends DeviceFlags {
  readonly model?: string;
  readonly prompt?: string;
  readonly maxTokens?: number;
  readonly maxSeconds: number;
  readonly truncated: boolean;
  readonly json: boolean;
}

const MAX_SECONDS = 30;

/** `markbase transcribe`: transcribes a recording. */
export function transcribeCommand(): Command {
  const command = new Command('transcribe')
    .description(
      'Transcribe a recording (WAV, AIFF, FLAC, MP3, Ogg, WebM; with ffmpeg M4A, MP4 and others). It is split at quiet places; each segment is printed with its times ' +
        'as soon as it is transcribed.',
    )
    .argument('<file>', 'the recording; - reads standard input')
    .option(
      '--model <dir>',
      'checkpoint folder, org/name on the hub, or a name of "markbase list" (default: the demo model)',
    )
    .option(
      '--prompt <text>',
      'instruction for the model, for each segment (default: to transcribe the segment)',
    )
    .option(
      '--max-tokens <n>',
      'maximum number of tokens in the text of a segment (default: 512)',
      integer(1),
    )
    .option('--max-seconds <n>', 'maximum length of a segment in seconds', real(1, MAX_SECONDS), MAX_SECONDS)
    .option('--truncated', 'accept a truncated file as far as it goes', false)
    .option('--json', 'print the complete result as JSON', false)
    .action((file: string, flags: TranscribeFlags) => withInterrupt((signal) => run(file, flags, signal)));
  return addDeviceFlags(command, 'fast');
}

async function run(file: string, flags: TranscribeFlags, signal: AbortSignal): Promise<void> {
  const { AudioModel } = await import('@markbase/audio');
  const { mixtureOfExperts: feedForward } = await import('@markbase/moe');
  const { loadTextModel } = await import('@markbase/text');
  const { TRANSCRIPTION_INSTRUCTION, TRANSCRIPTION_MAX_TOKENS, transcribeSegments } = await import(
    '@markbase/gemma'
  );
  const { precision } = flags;
  await withDevice(flags, async (device) => {
    const folder = await checkpointFolder(flags.model, signal);
    using progress = startProgress('listening');
    progress.say(`loading ${folder}`);
    // A model without an audio encoder is refused before its decoder is loaded.
    using audio = await AudioModel.load(folder, device, { precision, signal });
    using text = await loadTextModel(folder, device, { precision, feedForward, signal });
    progress.finish();
    writeFindings(text.checkpoint);
    const source = file === '-' ? await standardInput() : homePath(file);
    progress.say('listening');
    const options: TranscribeSegmentsOptions = {
      instruction: flags.prompt ?? TRANSCRIPTION_INSTRUCTION,
      maxTokens: flags.maxTokens ?? TRANSCRIPTION_MAX_TOKENS,
      maxSeconds: flags.maxSeconds,
      truncated: flags.truncated ? 'accept' : 'refuse',
      onProgress: ({ bytes, totalBytes }) => progress.update(bytes, totalBytes ?? bytes),
      signal,
    };
    const start = performance.now();
    const segments: TranscribedSegment[] = [];
    for await (const segment of transcribeSegments(text, audio, source, options)) {
      segments.push(segment);
      progress.finish();
      if (!flags.json) printLines([segmentLine(segment)]);
    }
    if (flags.json) printJson(resultOf(segments, (performance.now() - start) / 1000));
  });
}

function segmentLine({ startSeconds, endSeconds, text, isComplete }: TranscribedSegment): string {
  return `[${clock(startSeconds)} - ${clock(endSeconds)}] ${text}${isComplete ? '' : ' …'}`;
}

function resultOf(segments: readonly TranscribedSegment[], workSeconds: number) {
  const audioSeconds = segments.at(-1)?.endSeconds ?? 0;
  return {
    text: segments.map(({ text }) => text).join(' '),
    segments,
    audioSeconds,
    workSeconds,
    realTimeFactor: audioSeconds > 0 ? workSeconds / audioSeconds : 0,
  };
}

/** Hours are only shown if there are any: 1:02:03.4, 02:03.4. */
function clock(seconds: number): string {
  const tenths = Math.round(seconds * 10);
  const two = (value: number) => String(value).padStart(2, '0');
  const [hours, minutes] = [Math.floor(tenths / 36_000), Math.floor(tenths / 600) % 60];
  const rest = `${two(minutes)}:${two(Math.floor(tenths / 10) % 60)}.${tenths % 10}`;
  return hours > 0 ? `${hours}:${rest}` : rest;
}
