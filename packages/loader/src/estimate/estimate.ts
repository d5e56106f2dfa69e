import { checkOptionNames, type DType, InvalidArgumentError, type OptionNames } from '@markbase/core';
import type { ModelConfig } from '../config/model-config.js';
import { activationBytes } from './activation-bytes.js';
import { type ActiveBytes, activeBytes, isMapped } from './active-bytes.js';
import { type AdapterShape, adapterBytes } from './adapter-bytes.js';
import { cacheBytes, type KvBytes, type KvElementBytes, kvBytes, kvReadBytes } from './kv-bytes.js';
import {
  type ByteTable,
  bytesBy,
  type ModelPart,
  modelPart,
  moduleGroup,
  type SizedTensor,
} from './tensor-bytes.js';

/** What is estimated: an opened `Checkpoint`, a `RemoteCheckpoint`, or anything else with these two. */
export interface EstimateSource {
  /** The checked configuration. */
  readonly config: ModelConfig;
  /** The stored tensors by name. */
  readonly weights: { entries(): Iterable<readonly [name: string, tensor: StoredSize]> };
}

/** What a header says about a tensor. */
export interface StoredSize {
  /** Element type in the file. */
  readonly dtype: DType;
  /** Sizes of the axes. */
  readonly shape: readonly number[];
  /** Where the tensor is stored. */
  readonly range: { readonly sizeBytes: number };
}

/** How the model will be loaded; the defaults are those of the text package, except on large NVIDIA GPUs. */
export interface EstimateOptions {
  /** Most tokens of a prompt and its answer; default: what the model was trained for, but at most 8192. */
  readonly contextTokens?: number;
  /** Sequences that run at once; default 1. */
  readonly sequences?: number;
  /** Prompt tokens of one step; default 512. The text package takes 2048 on NVIDIA GPUs with at least 64 GB. */
  readonly prefillChunk?: number;
  /** fast (default): keys and values in bfloat16. high: in float32. */
  readonly precision?: 'fast' | 'high';
  /** Which parts are loaded; default: all that the checkpoint has. */
  readonly parts?: readonly ModelPart[];
  /** LoRA adapters that are loaded with it, opened with `openAdapter`; default: none. */
  readonly adapters?: readonly AdapterShape[];
  /** Memory that the model may take, in bytes; null (default) = `fit` is null. */
  readonly memoryBytes?: number | null;
}

/** Whether a model fits, and how long its context may be. */
export interface MemoryFit {
  /** Memory that the model may use. */
  readonly memoryBytes: number;
  /** True if weights, adapters and caches fit into it. */
  readonly fits: boolean;
  /** Bytes to spare; negative if memory is short. */
  readonly freeBytes: number;
  /** Longest context that fits; 0 = not even the weights fit. */
  readonly maxContextTokens: number;
}

/** Everything that the headers of a checkpoint say about its memory. */
export interface MemoryEstimate {
  /** Tensors in the files, dead ones included. */
  readonly fileBytes: number;
  /** Bytes of the weights by element type. */
  readonly bytesByDtype: ByteTable;
  /** Bytes of the weights by group of modules. */
  readonly bytesByModule: ByteTable;
  /** Bytes of the weights by part: text, vision, audio. */
  readonly bytesByPart: Readonly<Record<ModelPart, number>>;
  /** Tensors that the engine maps for the chosen parts. */
  readonly weightBytes: number;
  /** Factors of the adapters. */
  readonly adapterBytes: number;
  /** Tensors that nothing needs: dead keys and values, the copy of a tied head. */
  readonly deadBytes: number;
  /** Keys and values of all sequences, as they are allocated; 0 for a drafter, which reads its target's. */
  readonly cacheBytes: number;
  /** Buffers of a prefill step, estimated. */
  readonly activationBytes: number;
  /** weights + adapters + caches + activations. */
  readonly totalBytes: number;
  /** Bytes of the caches of keys and values. */
  readonly kv: KvBytes;
  /** Bytes that one decoding step reads: weights, and keys and values of a sequence at its full context. */
  readonly activePerToken: ActiveBytes & { readonly keysAndValues: number; readonly total: number };
  /** Comparison with a given amount of memory; null if none was given. */
  readonly fit: MemoryFit | null;
}

const DEFAULT_CONTEXT_TOKENS = 8_192;
const DEFAULT_PREFILL_CHUNK = 512;
/** The largest image goes through sliding layers in one step when its tokens see each other. */
const LARGEST_IMAGE_TOKENS = 1_120;
const ALL_PARTS: readonly ModelPart[] = ['text', 'vision', 'audio'];

const OPTIONS: OptionNames<EstimateOptions> = {
  contextTokens: true,
  sequences: true,
  prefillChunk: true,
  precision: true,
  parts: true,
  adapters: true,
  memoryBytes: true,
};

/**
 * Estimates the memory of a model from its config and the headers of its files; no tensor is read.
 *
 * @throws InvalidArgumentError for counts that are not whole numbers from 1, or a longer context than the model allows
 */
export function estimate(source: EstimateSource, options: EstimateOptions = {}): MemoryEstimate {
  checkOptionNames(options, OPTIONS);
  const { config } = source;
  const { text } = config;
  const sizes = checkedSizes(config, options);
  const parts = options.parts ?? ALL_PARTS;
  const tensors = sizedTensors(source.weights);
  const mapped = tensors.filter(({ name }) => isMapped(name, text));
  const fileBytes = total(tensors);
  const weightBytes = total(mapped.filter(({ name }) => parts.includes(modelPart(name))));
  const ownAdapterBytes = adapterBytes(options.adapters ?? []);
  const fixedBytes = weightBytes + ownAdapterBytes;
  const active = activeBytes(mapped, config);
  const keysAndValues = kvReadBytes(text, sizes.contextTokens, sizes.elementBytes);
  const variable = (contextTokens: number): number =>
    variableBytes(config, { ...sizes, contextTokens }, options.prefillChunk);
  const ownCacheBytes = caches(config, sizes);
  const totalBytes = fixedBytes + variable(sizes.contextTokens);
  const { memoryBytes = null } = options;
  return {
    fileBytes,
    bytesByDtype: bytesBy(tensors, ({ dtype }) => dtype),
    bytesByModule: bytesBy(tensors, ({ name }) => moduleGroup(name)),
    bytesByPart: { text: 0, vision: 0, audio: 0, ...bytesBy(tensors, ({ name }) => modelPart(name)) },
    weightBytes,
    adapterBytes: ownAdapterBytes,
    deadBytes: fileBytes - total(mapped),
    cacheBytes: ownCacheBytes,
    activationBytes: totalBytes - fixedBytes - ownCacheBytes,
    totalBytes,
    kv: kvBytes(text, sizes.elementBytes),
    activePerToken: {
      ...active,
      keysAndValues,
      total: active.dense + active.experts + active.lookups + keysAndValues,
    },
    fit:
      memoryBytes === null ? null : fitOf(memoryBytes, totalBytes, fixedBytes, text.maxPositions, variable),
  };
}

/** Sizes of a step and of its caches. */
interface Sizes {
  readonly contextTokens: number;
  readonly sequences: number;
  readonly maxStepTokens: number;
  readonly elementBytes: KvElementBytes;
}

function checkedSizes({ text }: ModelConfig, options: EstimateOptions): Sizes {
  const { contextTokens = Math.min(text.maxPositions, DEFAULT_CONTEXT_TOKENS), sequences = 1 } = options;
  check('contextTokens', contextTokens, text.maxPositions);
  check('sequences', sequences, 1024);
  if (options.prefillChunk !== undefined) check('prefillChunk', options.prefillChunk, 16_384);
  return {
    contextTokens,
    sequences,
    maxStepTokens: stepTokens(text.bidirectionalVision, contextTokens, options.prefillChunk),
    elementBytes: options.precision === 'high' ? 4 : 2,
  };
}

function stepTokens(seesWholeImages: boolean, contextTokens: number, chunk = DEFAULT_PREFILL_CHUNK): number {
  return Math.min(contextTokens, Math.max(chunk, seesWholeImages ? LARGEST_IMAGE_TOKENS : 0));
}

/** Bytes that depend on the context: caches and buffers. */
function variableBytes(config: ModelConfig, sizes: Sizes, chunk: number | undefined): number {
  const { contextTokens, sequences } = sizes;
  const maxStepTokens = stepTokens(config.text.bidirectionalVision, contextTokens, chunk);
  const textRows = stepTokens(false, contextTokens, chunk);
  return caches(config, { ...sizes, maxStepTokens }) + activationBytes(config.text, textRows, sequences);
}

function caches(config: ModelConfig, sizes: Sizes): number {
  return config.family === 'gemma4_assistant' ? 0 : cacheBytes(config.text, sizes);
}

function sizedTensors(weights: EstimateSource['weights']): SizedTensor[] {
  return Array.from(weights.entries(), ([name, { dtype, shape, range }]) => ({
    name,
    dtype,
    shape,
    sizeBytes: range.sizeBytes,
  }));
}

function total(tensors: readonly SizedTensor[]): number {
  return tensors.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
}

function fitOf(
  memoryBytes: number,
  totalBytes: number,
  fixedBytes: number,
  maxPositions: number,
  variable: (contextTokens: number) => number,
): MemoryFit {
  if (!(memoryBytes >= 0)) {
    throw new InvalidArgumentError({
      argument: 'memoryBytes',
      expected: 'a number of bytes',
      received: memoryBytes,
    });
  }
  // The need grows with the context, so halving the interval finds the longest one that fits.
  let fitting = 0;
  let excess = maxPositions + 1;
  while (excess - fitting > 1) {
    const middle = Math.floor((fitting + excess) / 2);
    if (fixedBytes + variable(middle) <= memoryBytes) fitting = middle;
    else excess = middle;
  }
  return {
    memoryBytes,
    fits: totalBytes <= memoryBytes,
    freeBytes: memoryBytes - totalBytes,
    maxContextTokens: fitting,
  };
}

function check(argument: string, value: number, max: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= max) return;
  throw new InvalidArgumentError({ argument, expected: `a whole number from 1 to ${max}`, received: value });
}
