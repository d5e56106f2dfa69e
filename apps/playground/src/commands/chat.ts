import { Command } from 'commander';
import { type ChatSettings, ChatState } from '../chat/chat-state.js';
import { terminalChat } from '../chat/terminal-chat.js';
import { checkpointFolder } from '../checkpoint-folder.js';
import { encodeMedia, type MediaFlags } from '../encode-media.js';
import { withInterrupt } from '../interrupt.js';
import { addDeviceFlags, type DeviceFlags, integer, real } from '../options.js';
import { note, writeFindings } from '../progress.js';
import { addSpeculationFlags, type SpeculationFlags, speculationOptions } from '../speculation-flags.js';
import { withDevice } from '../with-device.js';

interface ChatFlags extends DeviceFlags, SpeculationFlags, Omit<ChatSettings, 'enableThinking'> {
  readonly model?: string;
  readonly system?: string;
  readonly context?: number;
  readonly thinking: boolean;
}

/** `markbase chat`: a conversation in the terminal. */
export function chatCommand(): Command {
  const command = new Command('chat')
    .description(
      'Chat with a model in the terminal. /help lists commands such as /image FILE and /audio FILE. ' +
        'Ctrl-C stops an answer. In a pipe, every line is a message.',
    )
    .option('--model <dir>', 'checkpoint folder, or org/name on the hub (default: the demo model)')
    .option('--system <text>', 'system prompt')
    .option('--thinking', 'let the model think before it answers', false)
    .option('--context <n>', 'maximum number of tokens in the conversation', integer(2))
    .option('--max-tokens <n>', 'maximum number of tokens in an answer', integer(1))
    .option('--temperature <t>', 'sampling temperature; 0 = always the likeliest token', real(0))
    .option('--top-k <n>', 'sample from the n likeliest tokens; 0 = off', integer(0))
    .option('--top-p <p>', 'sample from the likeliest tokens with total probability p; 1 = off', real(0, 1))
    .option('--min-p <p>', 'drop tokens less likely than p times the likeliest; 0 = off', real(0, 1))
    .option('--repetition-penalty <x>', 'make tokens that already occurred less likely; 1 = off', real(0))
    .option('--seed <n>', 'the same seed gives the same answers', integer(0))
    .action((flags: ChatFlags) => chat(flags));
  return addDeviceFlags(addSpeculationFlags(command), 'fast');
}

async function chat(flags: ChatFlags): Promise<void> {
  await withDevice(flags, async (device) => {
    // Until the model is loaded, Ctrl-C ends the program.
    const model = await withInterrupt(async (signal) => {
      const folder = await checkpointFolder(flags.model ?? (await demoModel()), signal);
      note(`loading ${folder}`);
      const { precision, context: contextTokens } = flags;
      const { load } = await import('@markbase/gemma');
      const { openCheckpoint } = await import('@markbase/loader');
      const guesses = await speculationOptions(flags, await openCheckpoint(folder), device.info.kind, signal);
      const model = await load(folder, {
        ...{ device, precision, contextTokens, onProgress: false, signal },
        ...guesses,
      });
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
      note('/help lists the commands, Ctrl-D ends the chat');
      await terminalChat(state);
    } finally {
      model.dispose();
    }
  });
}

async function demoModel(): Promise<string> {
  return (await import('@markbase/demo-model')).modelPath;
}

function settingsOf(flags: ChatFlags): ChatSettings {
  const { temperature, topK, topP, minP, repetitionPenalty, maxTokens, seed } = flags;
  return {
    temperature,
    topK,
    topP,
    minP,
    repetitionPenalty,
    maxTokens,
    seed,
    enableThinking: flags.thinking,
  };
}

/** A single medium as `generate`'s command-line flags. */
function flagsOf(kind: 'image' | 'audio' | 'video', path: string): MediaFlags {
  return {
    image: kind === 'image' ? [path] : [],
    audio: kind === 'audio' ? [path] : [],
    ...(kind === 'video' && { video: path }),
  };
}
