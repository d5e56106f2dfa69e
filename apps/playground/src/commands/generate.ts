import { readFile } from 'node:fs/promises';
import { InvalidArgumentError } from '@markbase/core';
import type { GemmaModel } from '@markbase/gemma';
import type {
  ChatMessage,
  GenerateEvent,
  GenerateOptions,
  GenerateResult,
  SamplingOptions,
  TextModel,
  ToolDefinition,
} from '@markbase/text';
import { Command } from 'commander';
import { AnswerPrinter } from '../answer-printer.js';
import { checkpointFolder } from '../checkpoint-folder.js';
import { encodeMedia } from '../encode-media.js';
import { withInterrupt } from '../interrupt.js';
import { addDeviceFlags, type DeviceFlags, integer, real, repeated } from '../options.js';
import { printJson } from '../output.js';
import { note, startProgress, startUploadProgress, writeFindings } from '../progress.js';
import { addSpeculationFlags, type SpeculationFlags, speculationOptions } from '../speculation-flags.js';
import { withDevice } from '../with-device.js';

interface GenerateFlags extends DeviceFlags, SpeculationFlags, SamplingOptions {
  readonly model: string;
  readonly prompt: string;
  readonly adapter?: string;
  readonly system?: string;
  readonly raw: boolean;
  readonly tools?: string;
  readonly image: readonly string[];
  readonly audio: readonly string[];
  readonly video?: string;
  readonly videoFrames?: number;
  readonly imageTokens?: number;
  readonly thinking: boolean;
  readonly context?: number;
  readonly maxTokens?: number;
  readonly stop: readonly string[];
  readonly json: boolean;
}

/** Name of the only adapter. */
const ADAPTER = 'adapter';

/** `markbase generate`: answers one prompt. */
export function generateCommand(): Command {
  const command = new Command('generate')
    .description(
      'Answer a prompt. Text is streamed to standard output, reasoning to standard error. ' +
        "Sampling defaults come from the checkpoint's generation_config.json.",
    )
    .requiredOption('--model <dir>', 'checkpoint folder, or org/name on the Hugging Face hub')
    .requiredOption('--prompt <text>', "the user's message")
    .option('--adapter <dir>', 'folder of a LoRA adapter that computes the answer')
    .option('--system <text>', 'system prompt')
    .option('--raw', 'continue the prompt as plain text, without the chat template', false)
    .option('--tools <file>', 'JSON file with a list of tools that the model may call')
    .option('--image <file>', 'image before the prompt; repeatable', repeated, [])
    .option('--audio <file>', 'sound before the prompt; repeatable', repeated, [])
    .option('--video <path>', 'video before the prompt: a file, or a folder of pictures')
    .option('--video-frames <n>', 'maximum number of evenly spaced video frames (default: 32)', integer(1))
    .option(
      '--image-tokens <n>',
      'maximum number of soft tokens per image: 70, 140, 280, 560 or 1120',
      integer(1),
    )
    .option('--thinking', 'let the model think before it answers', false)
    .option('--context <n>', 'maximum number of tokens in prompt and answer together', integer(2))
    .option('--max-tokens <n>', 'maximum number of tokens in the answer', integer(1))
    .option('--temperature <t>', 'sampling temperature; 0 = always the likeliest token', real(0))
    .option('--top-k <n>', 'sample from the n likeliest tokens; 0 = off', integer(0))
    .option('--top-p <p>', 'sample from the likeliest tokens with total probability p; 1 = off', real(0, 1))
    .option('--min-p <p>', 'drop tokens less likely than p times the likeliest; 0 = off', real(0, 1))
    .option('--repetition-penalty <x>', 'make tokens that already occurred less likely; 1 = off', real(0))
    .option(
      '--presence-penalty <x>',
      'subtracted once from the logits of generated tokens; 0 = off',
      real(-100, 100),
    )
    .option(
      '--frequency-penalty <x>',
      'subtracted once per occurrence from the logits of generated tokens; 0 = off',
      real(-100, 100),
    )
    .option('--stop <text>', 'string that ends the answer; repeatable', repeated, [])
    .option('--seed <n>', 'the same seed gives the same answer', integer(0))
    .option('--json', 'print the complete answer as JSON', false)
    .action(async (flags: GenerateFlags) => {
      const request = await requestOf(flags);
      await withInterrupt((signal) => run(flags, { ...request, signal }));
    });
  return addDeviceFlags(addSpeculationFlags(command), 'fast');
}

async function run(flags: GenerateFlags, request: GenerateOptions): Promise<void> {
  const { generate, stream } = await import('@markbase/text');
  const { load } = await import('@markbase/gemma');
  const { openCheckpoint } = await import('@markbase/loader');
  await withDevice(flags, async (device) => {
    const folder = await checkpointFolder(flags.model, request.signal);
    note(`loading ${folder}`);
    const { precision, context: contextTokens } = flags;
    const uploads = startUploadProgress();
    const model = await load(folder, {
      device,
      precision,
      contextTokens,
      ...(await speculationOptions(flags, await openCheckpoint(folder), device.info.kind, request.signal)),
      ...(flags.adapter !== undefined && { adapters: { [ADAPTER]: flags.adapter } }),
      signal: request.signal,
      onProgress: flags.json
        ? false
        : ({ doneBytes, totalBytes }) => uploads.update({ arrivedBytes: doneBytes, totalBytes }),
    });
    writeFindings(model.text.checkpoint);
    const progress = startProgress('reading the prompt', (tokens) => `${tokens} tokens`);
    const options: GenerateOptions = {
      ...request,
      onPrefill: ({ doneTokens, totalTokens }) => {
        uploads.finish();
        if (doneTokens < totalTokens) progress.update(doneTokens, totalTokens);
        else progress.finish();
      },
    };
    try {
      await checkTemplate(model.text, flags);
      const answered = await withMedia(flags, model, options);
      if (flags.json) printJson(answerJson(await generate(model.text, answered)));
      else await printAnswer(stream(model.text, answered));
    } finally {
      uploads.finish();
      progress.finish();
      model.dispose();
    }
  });
}

async function printAnswer(events: AsyncIterable<GenerateEvent>): Promise<void> {
  const printer = new AnswerPrinter();
  try {
    for await (const event of events) printer.print(event);
  } finally {
    printer.end();
  }
}

/** Explains how to use a base model with this command. */
async function checkTemplate(model: TextModel, flags: GenerateFlags): Promise<void> {
  if (flags.raw || model.checkpoint.files.tokenizer === null) return;
  const { template } = await model.language();
  if (template !== null) return;
  throw new InvalidArgumentError({
    argument: '--model',
    expected: 'a checkpoint with a chat template',
    received: flags.model,
    hint: 'A base model continues plain text: add --raw',
  });
}

async function requestOf(flags: GenerateFlags): Promise<GenerateOptions> {
  const tools = flags.tools === undefined ? null : await readTools(flags.tools);
  return {
    ...conversationOf(flags, tools),
    ...(flags.adapter !== undefined && { adapter: ADAPTER }),
    maxTokens: flags.maxTokens,
    temperature: flags.temperature,
    topK: flags.topK,
    topP: flags.topP,
    minP: flags.minP,
    repetitionPenalty: flags.repetitionPenalty,
    presencePenalty: flags.presencePenalty,
    frequencyPenalty: flags.frequencyPenalty,
    stop: flags.stop,
    seed: flags.seed,
  };
}

function conversationOf(flags: GenerateFlags, tools: readonly ToolDefinition[] | null): GenerateOptions {
  if (!flags.raw) {
    const user: ChatMessage = { role: 'user', content: flags.prompt };
    const messages: ChatMessage[] =
      flags.system === undefined ? [user] : [{ role: 'system', content: flags.system }, user];
    return { messages, tools, enableThinking: flags.thinking };
  }
  for (const name of ['system', 'tools', 'thinking', 'image', 'audio', 'video'] as const) {
    const given = flags[name];
    if (!given || (Array.isArray(given) && given.length === 0)) continue;
    throw new InvalidArgumentError({
      argument: `--${name}`,
      expected: 'an option that works with --raw, which continues plain text without a chat template',
      received: given,
    });
  }
  return { prompt: flags.prompt };
}

async function readTools(path: string): Promise<ToolDefinition[]> {
  const text = await readFile(path, 'utf8');
  const fail = (received: unknown, cause?: unknown): never => {
    throw new InvalidArgumentError({
      argument: '--tools',
      expected:
        'a file with a JSON list of tools: [{"type": "function", "function": {"name": …, "parameters": …}}]',
      received,
      cause,
    });
  };
  let tools: unknown;
  try {
    tools = JSON.parse(text);
  } catch (cause) {
    return fail(text, cause);
  }
  return Array.isArray(tools) ? tools : fail(tools);
}

/** Adds the encoded media to the user's message. */
async function withMedia(
  flags: GenerateFlags,
  { text, media }: GemmaModel,
  options: GenerateOptions,
): Promise<GenerateOptions> {
  const parts = await encodeMedia(flags, text, media, options.signal);
  if (parts.length === 0) return options;
  const { arrangeParts } = await import('@markbase/gemma');
  const messages = options.messages!.map((message): ChatMessage => {
    if (message.role !== 'user') return message;
    return { ...message, content: arrangeParts(parts, flags.prompt, text.checkpoint) };
  });
  return { ...options, messages };
}

function answerJson({ text, reasoning, toolCalls, usage, finishReason, timings, ...rest }: GenerateResult) {
  return { text, reasoning, toolCalls, usage, finishReason, timings, stop: rest.stop, seed: rest.seed };
}
