import { types } from 'node:util';
import { MAX_TOP_LOGPROBS } from '../families/sample/node.js';
import { check } from './check.js';
import type { NativeStep } from './native.js';
import { plainArray } from './plain-array.js';
import type { SamplingParams } from './step.js';

/** Number of values in one SampleParams in device/step.h. */
const SAMPLING_FIELDS = 16;
const SEED_FIELD = 7;
const TOP_LOGPROBS_FIELD = 10;
const HISTORY_FIELD = 11;
const BIAS_FIELD = 13;
const MASK_FIELD = 15;
/** Replaces the start of a mask: every token is allowed. */
const NO_MASK = 2 ** 32 - 1;
const SEED_LIMIT = 2 ** 53;
const MAX_BIAS = 100;

/** A parameter that is a number: its place in SampleParams, its neutral value, and its range. */
interface Rule {
  readonly name: keyof SamplingParams;
  readonly field: number;
  readonly neutral: number;
  readonly expected: string;
  isValid(value: number): boolean;
}

const RULES: readonly Rule[] = [
  {
    ...{ name: 'temperature', field: 0, neutral: 0, expected: 'a number from 0 to 100' },
    isValid: (value) => value >= 0 && value <= 100,
  },
  {
    ...{ name: 'topP', field: 1, neutral: 1, expected: 'a number in (0, 1]' },
    isValid: (value) => value > 0 && value <= 1,
  },
  {
    ...{ name: 'minP', field: 2, neutral: 0, expected: 'a number in [0, 1)' },
    isValid: (value) => value >= 0 && value < 1,
  },
  {
    ...{ name: 'repetitionPenalty', field: 3, neutral: 1, expected: 'a number > 0, at most 100' },
    isValid: (value) => value > 0 && value <= 100,
  },
  {
    ...{ name: 'presencePenalty', field: 4, neutral: 0, expected: 'a number from -100 to 100' },
    isValid: (value) => Math.abs(value) <= 100,
  },
  {
    ...{ name: 'frequencyPenalty', field: 5, neutral: 0, expected: 'a number from -100 to 100' },
    isValid: (value) => Math.abs(value) <= 100,
  },
  {
    ...{ name: 'topK', field: 6, neutral: 0, expected: 'a whole number >= 0' },
    isValid: (value) => Number.isInteger(value) && value >= 0 && value < 2 ** 31,
  },
  {
    ...{ name: 'seed', field: SEED_FIELD, neutral: 0, expected: 'a whole number in [0, 2^53)' },
    isValid: (value) => Number.isInteger(value) && value >= 0 && value < SEED_LIMIT,
  },
  {
    ...{ name: 'draw', field: 9, neutral: 0, expected: 'a whole number >= 0' },
    isValid: (value) => Number.isInteger(value) && value >= 0 && value < 2 ** 32,
  },
  {
    ...{ name: 'topLogprobs', field: TOP_LOGPROBS_FIELD, neutral: 0 },
    expected: `a whole number from 0 to ${MAX_TOP_LOGPROBS}`,
    isValid: (value) => Number.isInteger(value) && value >= 0 && value <= MAX_TOP_LOGPROBS,
  },
];

/**
 * The sampling parameters of `outputs` rows in the addon's format; missing ones are neutral. Each property is read once, so that nothing
 * changes after its check.
 *
 * @throws InvalidArgumentError for values out of range
 */
export function encodeSampling(
  sampling: readonly SamplingParams[],
  outputs: number,
  vocabulary: number,
): Pick<
  NativeStep,
  'sampling' | 'historyTokens' | 'historyCounts' | 'biasTokens' | 'biasValues' | 'allowedWords'
> {
  const given = sampling.length;
  check(given === 0 || given === outputs, 'sampling', `${outputs} entries or none`, given);
  const encoded = new Float64Array(outputs * SAMPLING_FIELDS);
  const history: PairList = { keys: [], values: [] };
  const bias: PairList = { keys: [], values: [] };
  const words = Math.ceil(vocabulary / 32);
  const masks: Int32Array[] = [];
  for (let row = 0; row < outputs; row++) {
    const params = given === 0 ? undefined : sampling[row];
    const at = row * SAMPLING_FIELDS;
    for (const rule of RULES) encoded[at + rule.field] = checkedValue(rule, params);
    const seed = encoded[at + SEED_FIELD]!;
    encoded[at + SEED_FIELD] = seed % 2 ** 32;
    encoded[at + SEED_FIELD + 1] = Math.floor(seed / 2 ** 32);
    encoded[at + HISTORY_FIELD] = history.keys.length;
    append(history, params?.history);
    encoded[at + HISTORY_FIELD + 1] = history.keys.length;
    encoded[at + BIAS_FIELD] = bias.keys.length;
    append(bias, params?.logitBias, checkBias);
    encoded[at + BIAS_FIELD + 1] = bias.keys.length;
    const mask = params?.allowed;
    encoded[at + MASK_FIELD] = mask === undefined ? NO_MASK : masks.length * words;
    if (mask !== undefined) masks.push(checkedMask(mask, words));
  }
  const allowedWords = new Int32Array(masks.length * words);
  for (const [index, mask] of masks.entries()) allowedWords.set(mask, index * words);
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
  for (const rule of RULES) checkedValue(rule, params);
  for (const [token, value] of params.logitBias ?? []) checkBias(token, value);
  return params;
}

function checkedValue(
  { name, neutral, expected, isValid }: Rule,
  params: SamplingParams | undefined,
): number {
  const value = params?.[name];
  if (value === undefined) return neutral;
  check(typeof value === 'number' && isValid(value), name, expected, value);
  return value;
}

function checkBias(token: number, value: number): void {
  const isValid = Number.isInteger(token) && token >= 0 && Math.abs(value) <= MAX_BIAS;
  if (isValid) return;
  const expected = `token ids with numbers from -${MAX_BIAS} to ${MAX_BIAS}`;
  check(false, 'logitBias', expected, `${token}: ${value}`);
}

function checkedMask(mask: Int32Array, words: number): Int32Array {
  check(types.isInt32Array(mask), 'allowed', 'an Int32Array', Object.prototype.toString.call(mask));
  const plain = plainArray(mask);
  check(plain.length === words, 'allowed', `${words} words of 32 tokens`, `${plain.length} words`);
  return plain;
}

/** Entries of the maps of all rows, one after the other. */
interface PairList {
  readonly keys: number[];
  readonly values: number[];
}

function append(
  { keys, values }: PairList,
  map: ReadonlyMap<number, number> | undefined,
  checkPair?: (key: number, value: number) => void,
): void {
  if (map === undefined) return;
  for (const [key, value] of map) {
    checkPair?.(key, value);
    keys.push(key);
    values.push(value);
  }
}
