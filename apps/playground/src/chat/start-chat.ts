import type { SamplingFlags } from '../answering/answer-flags.js';
import { checkpointFolder } from '../checkpoint-folder.js';
import { encodeMedia, type MediaFlags } from '../encode-media.js';
import { withInterrupt } from '../interrupt.js';
import type { DeviceFlags } from '../options.js';
import { note, startProgress, startUploadProgress, writeFindings } from '../progress.js';
import { speculationOptions } from '../speculation-flags.js';
import { withDevice } from '../with-device.js';
import { ChatHistory } from './chat-history.js';
import { type ChatSettings, ChatState, type MediaKind } from './chat-state.js';
import { terminalChat } from './terminal-chat.js';

/** The options of a chat. */
export interface ChatFlags
  extends DeviceFlags,
    SamplingFlags,
    Partial<Pick<MediaFlags, 'image' | 'audio' | 'video'>> {
  readonly model?: string;
  /** False: messages are not remembered for the next chat. */
  readonly history?: boolean;
}

/**
 * Loads a model and chats with it in the terminal. Media of the flags go with the first message.
 *
 * @param first the first message; empty = ask for it
 */
export async function startChat(flags: ChatFlags, first = ''): Promise<void> {
  await withDevice(flags, async (device) => {
    const uploads = startUploadProgress();
    // Until the model is loaded, Ctrl-C ends the program.
    const model = await withInterrupt(async (signal) => {
      const folder = await checkpointFolder(flags.model, signal);
      const { precision, context: contextTokens } = flags;
      const { load } = await import('@markbase/gemma');
      const { openCheckpoint } = await import('@markbase/loader');
      using progress = startProgress('loading');
      progress.say(`loading ${folder}`);
      const model = await load(folder, {
        device,
        precision,
        contextTokens,
        ...(await speculationOptions(flags, await openCheckpoint(folder), device.info.kind, signal)),
        onProgress: ({ doneBytes, totalBytes }) => uploads.update({ arrivedBytes: doneBytes, totalBytes }),
        signal,
      });
      progress.finish();
      writeFindings(model.text.checkpoint);
      return model;
    });
    try {
      const { text, media } = model;
      const state = new ChatState(text, {
        system: flags.system ?? '',
        settings: settingsOf(flags),
        readMedia: (kind, path, signal) => encodeMedia(flagsOf(kind, path), text, media, signal),
      });
      await withInterrupt((signal) => attachMedia(state, flags, signal));
      note('/help lists the commands, Ctrl-D ends the chat');
      const history = flags.history === false ? null : new ChatHistory();
      await terminalChat(state, { first, history, onFirstStep: () => uploads.finish() });
    } finally {
      uploads.finish();
      model.dispose();
    }
  });
}

async function attachMedia(state: ChatState, flags: ChatFlags, signal: AbortSignal): Promise<void> {
  const { image = [], video, audio = [] } = flags;
  const files: [MediaKind, string][] = [
    ...image.map((path): [MediaKind, string] => ['image', path]),
    ...(video === undefined ? [] : [['video', video] as [MediaKind, string]]),
    ...audio.map((path): [MediaKind, string] => ['audio', path]),
  ];
  for (const [kind, path] of files) {
    state.pending.push({ name: path, parts: await state.readMedia(kind, path, signal) });
    note(`${path} will be sent with the first message`);
  }
}

function settingsOf(flags: ChatFlags): ChatSettings {
  const { temperature, topK, topP, minP, repetitionPenalty, presencePenalty, frequencyPenalty } = flags;
  const { maxTokens, seed, thinking: enableThinking } = flags;
  return {
    temperature,
    topK,
    topP,
    minP,
    repetitionPenalty,
    presencePenalty,
    frequencyPenalty,
    maxTokens,
    seed,
    enableThinking,
  };
}

/** A single medium as `generate`'s command-line flags. */
function flagsOf(kind: MediaKind, path: string): MediaFlags {
  return {
    image: kind === 'image' ? [path] : [],
    audio: kind === 'audio' ? [path] : [],
    ...(kind === 'video' && { video: path }),
  };
}
