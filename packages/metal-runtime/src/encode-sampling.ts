import { check } from './check.js';
import type { NativeStep } from './native.js';
import { MAX_TOP_LOGPROBS } from './ops/sample.js';
import type { SamplingParams } from './step.js';

/** Numbers of one SampleParams in device/step.h. */
const SAMPLING_FIELDS = 13;
const SEED_LIMIT = 2 ** 53;

/** The sampling parameters of `outputs` rows as the addon takes them; missing ones are neutral. */
export function encodeSampling(
  sampling: readonly SamplingParams[],
  outputs: number,
): Pick<NativeStep, 'sampling' | 'historyTokens' | 'historyCounts'> {
  check(
    sampling.length === 0 || sampling.length === outputs,
    'sampling',
    `${outputs} entries or none`,
    sampling.length,
  );
  const history = historyOf(sampling);
  const encoded = new Float64Array(outputs * SAMPLING_FIELDS);
  for (let row = 0; row < outputs; row++) {
    const params = checkSampling(sampling[row] ?? {});
    const [begin, end] = history.ranges[row] ?? [0, 0];
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
        begin,
        end,
      ],
      row * SAMPLING_FIELDS,
    );
  }
  return { sampling: encoded, historyTokens: history.tokens, historyCounts: history.counts };
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
  return params;
}

/** Lays the histories of all rows end to end. */
function historyOf(sampling: readonly SamplingParams[]) {
  const size = sampling.reduce((sum, params) => sum + (params.history?.size ?? 0), 0);
  const tokens = new Int32Array(size);
  const counts = new Int32Array(size);
  const ranges: [number, number][] = [];
  let next = 0;
  for (const params of sampling) {
    const begin = next;
    for (const [token, count] of params.history ?? []) {
      tokens[next] = token;
      counts[next++] = count;
    }
    ranges.push([begin, next]);
  }
  return { tokens, counts, ranges };
}
