import { types } from 'node:util';
import { MAX_TOP_LOGPROBS } from '../families/sample/node.js';
import { check } from './check.js';
import type { NativeStep } from './native.js';
import { plainArray } from './plain-array.js';
import type { SamplingParams } from './step.js';

/** Number of values in one SampleParams in device/step.h. */
const SAMPLING_FIELDS = 16;
const TOP_LOGPROBS_FIELD = 10;
/** Replaces the start of a mask: every token is allowed. */
const NO_MASK = 2 ** 32 - 1;
const SEED_LIMIT = 2 ** 53;
const MAX_BIAS = 100;

const FIELDS = [
  'temperature',
  'topK',
  'topP',
  'minP',
  'repetitionPenalty',
  'presencePenalty',
  'frequencyPenalty',
  'seed',
  'draw',
  'topLogprobs',
  'logitBias',
  'allowed',
  'history',
] as const satisfies readonly (keyof SamplingParams)[];

/** The same parameters in objects of our own, each property read once. */
export function ownSampling(sampling: readonly SamplingParams[]): SamplingParams[] {
  return Array.from(sampling, (given): SamplingParams => {
    const params = Object.fromEntries(FIELDS.map((name) => [name, given[name]])) as SamplingParams;
    const { allowed } = params;
    return types.isInt32Array(allowed) ? { ...params, allowed: plainArray(allowed) } : params;
  });
}

/** The sampling parameters of `outputs` rows in the addon's format; missing ones are neutral. */
export function encodeSampling(
  sampling: readonly SamplingParams[],
  outputs: number,
  vocabulary: number,
): Pick<
  NativeStep,
  'sampling' | 'historyTokens' | 'historyCounts' | 'biasTokens' | 'biasValues' | 'allowedWords'
> {
  check(
    sampling.length === 0 || sampling.length === outputs,
    'sampling',
    `${outputs} entries or none`,
    sampling.length,
  );
  const history = layEndToEnd(sampling.map((params) => params.history));
  const bias = layEndToEnd(sampling.map((params) => params.logitBias));
  const words = Math.ceil(vocabulary / 32);
  const masks = sampling.map(({ allowed }) => allowed);
  for (const mask of masks) checkMask(mask, words);
  const masked = [...masks.keys()].filter((row) => masks[row]);
  const encoded = new Float64Array(outputs * SAMPLING_FIELDS);
  for (let row = 0; row < outputs; row++) {
    const params = checkSampling(sampling[row] ?? {});
    const mask = masked.indexOf(row);
    encoded.set(
      [
        params.temperature ?? 0,
        params.topP ?? 1,
        params.minP ?? 0,
        params.repetitionPenalty ?? 1,
        params.presencePenalty ?? 0,
        params.frequencyPenalty ?? 0,
        params.topK ?? 0,
        (params.seed ?? 0) % 2 ** 32,
        Math.floor((params.seed ?? 0) / 2 ** 32),
        params.draw ?? 0,
        params.topLogprobs ?? 0,
        ...(history.ranges[row] ?? [0, 0]),
        ...(bias.ranges[row] ?? [0, 0]),
        mask < 0 ? NO_MASK : mask * words,
      ],
      row * SAMPLING_FIELDS,
    );
  }
  const allowedWords = new Int32Array(masked.length * words);
  for (const [index, row] of masked.entries()) allowedWords.set(masks[row]!, index * words);
  return {
    sampling: encoded,
    historyTokens: Int32Array.from(history.keys),
    historyCounts: Int32Array.from(history.values),
    biasTokens: Int32Array.from(bias.keys),
    biasValues: Float32Array.from(bias.values),
    allowedWords,
  };
}

/** Number of alternatives that an output row asks for. */
export function topLogprobsOf({ sampling }: Pick<NativeStep, 'sampling'>, row: number): number {
  return sampling[row * SAMPLING_FIELDS + TOP_LOGPROBS_FIELD]!;
}

/** Checks the ranges of sampling parameters. @throws InvalidArgumentError */
export function checkSampling(params: SamplingParams): SamplingParams {
  const rules: readonly [keyof SamplingParams, string, (value: number) => boolean][] = [
    ['temperature', 'a number from 0 to 100', (value) => value >= 0 && value <= 100],
    ['topP', 'a number in (0, 1]', (value) => value > 0 && value <= 1],
    ['minP', 'a number in [0, 1)', (value) => value >= 0 && value < 1],
    ['repetitionPenalty', 'a number > 0, at most 100', (value) => value > 0 && value <= 100],
    ['presencePenalty', 'a number from -100 to 100', (value) => Math.abs(value) <= 100],
    ['frequencyPenalty', 'a number from -100 to 100', (value) => Math.abs(value) <= 100],
    ['topK', 'a whole number >= 0', (value) => Number.isInteger(value) && value >= 0 && value < 2 ** 31],
    [
      'seed',
      'a whole number in [0, 2^53)',
      (value) => Number.isInteger(value) && value >= 0 && value < SEED_LIMIT,
    ],
    ['draw', 'a whole number >= 0', (value) => Number.isInteger(value) && value >= 0 && value < 2 ** 32],
    [
      'topLogprobs',
      `a whole number from 0 to ${MAX_TOP_LOGPROBS}`,
      (value) => Number.isInteger(value) && value >= 0 && value <= MAX_TOP_LOGPROBS,
    ],
  ];
  for (const [name, expected, isValid] of rules) {
    const value = params[name];
    if (value !== undefined) check(typeof value === 'number' && isValid(value), name, expected, value);
  }
  for (const [token, value] of params.logitBias ?? []) {
    const isValid = Number.isInteger(token) && token >= 0 && Math.abs(value) <= MAX_BIAS;
    const expected = `token ids with numbers from -${MAX_BIAS} to ${MAX_BIAS}`;
    check(isValid, 'logitBias', expected, `${token}: ${value}`);
  }
  return params;
}

function checkMask(mask: Int32Array | undefined, words: number): void {
  if (mask === undefined) return;
  check(types.isInt32Array(mask), 'allowed', 'an Int32Array', Object.prototype.toString.call(mask));
  check(mask.length === words, 'allowed', `${words} words of 32 tokens`, `${mask.length} words`);
}

/** Concatenates the entries of all rows, and records where those of each row are. */
function layEndToEnd(maps: readonly (ReadonlyMap<number, number> | undefined)[]) {
  const keys: number[] = [];
  const values: number[] = [];
  const ranges = maps.map((map): [number, number] => {
    const begin = keys.length;
    for (const [key, value] of map ?? []) {
      keys.push(key);
      values.push(value);
    }
    return [begin, keys.length];
  });
  return { keys, values, ranges };
}
