import type { SamplingOptions } from '@markbase/text';
import type { Command } from 'commander';
import { type DeviceFlags, integer, real, repeated } from '../options.js';
import { addSpeculationFlags, type SpeculationFlags } from '../speculation-flags.js';

/** Sampling and guessing options, and what goes with every question. */
export interface SamplingFlags extends SamplingOptions, SpeculationFlags {
  readonly system?: string;
  readonly thinking: boolean;
  readonly context?: number;
  readonly maxTokens?: number;
}

/** The options of commands that answer one prompt. */
export interface AnswerFlags extends DeviceFlags, SamplingFlags {
  readonly model?: string;
  readonly prompt?: string;
  readonly adapter?: string;
  readonly raw: boolean;
  readonly tools?: string;
  readonly schema?: string;
  readonly jsonObject: boolean;
  readonly image: readonly string[];
  readonly audio: readonly string[];
  readonly video?: string;
  readonly videoFrames?: number;
  readonly imageTokens?: number;
  readonly stop: readonly string[];
  readonly json: boolean;
}

/** Adds the system prompt, thinking, how tokens are sampled and guessed. */
export function addSamplingFlags(command: Command): Command {
  return addSpeculationFlags(command)
    .option('--system <text>', 'system prompt')
    .option('--thinking', 'let the model think before it answers', false)
    .option('--context <n>', 'maximum number of tokens in prompt and answer together', integer(2))
    .option('--max-tokens <n>', 'maximum number of tokens in an answer', integer(1))
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
    .option('--seed <n>', 'the same seed gives the same answer', integer(0));
}

/** Adds what only an answer to one prompt has: media, tools, formats and adapters. */
export function addAnswerFlags(command: Command): Command {
  return command
    .option('--adapter <dir>', 'folder of a LoRA adapter that computes the answer')
    .option('--tools <file>', 'JSON file with a list of tools that the model may call')
    .option('--schema <file>', 'JSON Schema that the answer satisfies; "markbase schema" checks it')
    .option('--json-object', 'the answer is a JSON object', false)
    .option('--image <file>', 'image before the prompt: a file, a URL or - ; repeatable', repeated, [])
    .option('--audio <file>', 'sound before the prompt: a file, a URL or - ; repeatable', repeated, [])
    .option('--video <path>', 'video before the prompt: a file, a folder of pictures, a URL or -')
    .option('--video-frames <n>', 'maximum number of evenly spaced video frames (default: 32)', integer(1))
    .option(
      '--image-tokens <n>',
      'maximum number of soft tokens per image: 70, 140, 280, 560 or 1120',
      integer(1),
    )
    .option('--stop <text>', 'string that ends the answer; repeatable', repeated, [])
    .option('--raw', 'continue the prompt as plain text, without the chat template', false)
    .option('--json', 'print the complete answer as JSON', false);
}
