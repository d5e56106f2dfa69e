import { InvalidArgumentError } from '@markbase/core';
import type { GemmaModel } from '@markbase/gemma';
import type { ChatMessage, GenerateOptions, GenerateResult, TextModel } from '@markbase/text';
import { checkpointFolder } from '../checkpoint-folder.js';
import { encodeMedia, readsStandardInput } from '../encode-media.js';
import { withInterrupt } from '../interrupt.js';
import { printJson } from '../output.js';
import { printAnswer } from '../printing/answer-printer.js';
import { startProgress, startUploadProgress, writeFindings } from '../progress.js';
import { readPrompt } from '../prompt-input.js';
import { speculationOptions } from '../speculation-flags.js';
import { withDevice } from '../with-device.js';
import type { AnswerFlags } from './answer-flags.js';
import { ADAPTER, requestOf } from './request.js';

/** Answers one prompt, and prints the answer. @throws errors of the flags, the loader, the device and the model */
export async function answerPrompt(given: AnswerFlags): Promise<void> {
  const prompt = await readPrompt(given.prompt, readsStandardInput(given));
  const flags = { ...given, prompt };
  const request = await requestOf(flags, prompt);
  await withInterrupt((signal) => run(flags, { ...request, signal }));
}

type Flags = AnswerFlags & { readonly prompt: string };

async function run(flags: Flags, request: GenerateOptions): Promise<void> {
  const { generate, stream } = await import('@markbase/text');
  const { load } = await import('@markbase/gemma');
  const { openCheckpoint } = await import('@markbase/loader');
  await withDevice(flags, async (device) => {
    const folder = await checkpointFolder(flags.model, request.signal);
    const { precision, context: contextTokens } = flags;
    const uploads = startUploadProgress();
    using progress = startProgress('reading the prompt', (tokens) => `${Math.round(tokens)} tokens`);
    progress.say(`loading ${folder}`);
    const model = await load(folder, {
      device,
      precision,
      contextTokens,
      ...(await speculationOptions(flags, await openCheckpoint(folder), device.info.kind, request.signal)),
      ...(flags.adapter !== undefined && { adapters: { [ADAPTER]: flags.adapter } }),
      signal: request.signal,
      onProgress: ({ doneBytes, totalBytes }) => uploads.update({ arrivedBytes: doneBytes, totalBytes }),
    }).finally(() => progress.finish());
    writeFindings(model.text.checkpoint);
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
      progress.say('preparing the first step');
      if (flags.json) printJson(answerJson(await generate(model.text, answered)));
      else await printAnswer(stream(model.text, answered));
    } finally {
      uploads.finish();
      progress.finish();
      model.dispose();
    }
  });
}

/** Explains how to use a base model with this command. */
async function checkTemplate(model: TextModel, flags: Flags): Promise<void> {
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

/** Adds the encoded media to the user's message. */
async function withMedia(
  flags: Flags,
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
