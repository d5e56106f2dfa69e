import { InvalidArgumentError } from '@markbase/core';
import type { NativePort, NativeStep } from './native.js';
import { MAX_TOP_LOGPROBS } from './ops/sample.js';
import type { SamplingParams, StepInput, StepResult } from './step.js';

/** Numbers of one SampleParams in device/step.h. */
const SAMPLING_FIELDS = 13;
const SEED_LIMIT = 2 ** 53;

/** What a program can take in one step. */
export interface StepLimits {
  readonly maxRows: number;
  readonly maxOutputs: number;
  readonly inputs: readonly NativePort[];
  readonly outputs: readonly NativePort[];
  /** The program chooses tokens. */
  readonly samples: boolean;
  /** Slots that every cache of the program has. */
  readonly slotCount: number;
  /** Positions that a full-attention cache holds. */
  readonly contextTokens: number;
  /** Rows of the smallest embedding table. */
  readonly vocabulary: number;
}

/** Checks a step once, at the border, and lays it out for the addon. */
export class StepEncoder {
  readonly #limits: StepLimits;

  constructor(limits: StepLimits) {
    this.#limits = limits;
  }

  encode(step: StepInput, read: readonly string[]): NativeStep {
    const { maxRows, maxOutputs, samples } = this.#limits;
    const rows = step.tokens.length;
    const outputs = step.outputRows.length;
    check(rows >= 1 && rows <= maxRows, 'tokens', `1 to ${maxRows} rows`, rows);
    check(outputs <= maxOutputs, 'outputRows', `at most ${maxOutputs} rows`, outputs);
    check(
      step.outputRows.every((row) => row >= 0 && row < rows),
      'outputRows',
      `rows below ${rows}`,
      [...step.outputRows],
    );
    const perRow = (
      name: 'positions' | 'slots' | 'layerTokens' | 'visibleEnd' | 'softIndex',
      fallback: Int32Array,
    ) => {
      const array = step[name] ?? fallback;
      check(array.length === rows, name, `${rows} numbers`, `${array.length} numbers`);
      return array;
    };
    const { slotCount, contextTokens, vocabulary } = this.#limits;
    const positions = within('positions', perRow('positions', step.tokens), 0, contextTokens);
    const visibleEnd = perRow('visibleEnd', positions);
    check(
      visibleEnd.every((end, row) => end >= positions[row]! && end - positions[row]! < maxRows),
      'visibleEnd',
      `its row's position, or up to ${maxRows - 1} more`,
      [...visibleEnd],
    );
    const inputs = this.#inputs(step, rows, outputs);
    const softRows = inputs.reduce((most, { port, data }) => {
      const { rowSet, width } = this.#limits.inputs[port]!;
      return rowSet === 2 ? data.length / width : most;
    }, 0);
    const history = historyOf(step.sampling ?? []);
    const width = samples ? outputs : 0;
    return {
      tokens: within('tokens', step.tokens, 0, vocabulary),
      positions,
      slots: within('slots', perRow('slots', step.tokens), 0, slotCount),
      layerTokens: within('layerTokens', perRow('layerTokens', step.tokens), 0, vocabulary),
      visibleEnd,
      softIndex: within('softIndex', perRow('softIndex', new Int32Array(rows).fill(-1)), -1, softRows),
      outputRows: step.outputRows,
      sampling: encodeSampling(step.sampling ?? [], outputs, history.ranges),
      historyTokens: history.tokens,
      historyCounts: history.counts,
      inputs,
      sampled: new Int32Array(width),
      logprobs: new Float32Array(width),
      topTokens: new Int32Array(width * MAX_TOP_LOGPROBS),
      topLogprobs: new Float32Array(width * MAX_TOP_LOGPROBS),
      outputs: this.#outputs(read, rows, outputs),
    };
  }

  decode(encoded: NativeStep, step: StepInput): StepResult {
    const topLogprobs = Array.from(encoded.sampled, (_, row) => {
      const count = step.sampling?.[row]?.topLogprobs ?? 0;
      return Array.from({ length: count }, (_, i) => ({
        token: encoded.topTokens[row * MAX_TOP_LOGPROBS + i]!,
        logprob: encoded.topLogprobs[row * MAX_TOP_LOGPROBS + i]!,
      }));
    });
    const outputs = Object.fromEntries(
      encoded.outputs.map(({ port, data }) => [this.#limits.outputs[port]!.name, data]),
    );
    return { tokens: encoded.sampled, logprobs: encoded.logprobs, topLogprobs, outputs };
  }

  #inputs(step: StepInput, rows: number, outputs: number): NativeStep['inputs'] {
    const given = step.inputs ?? {};
    const ports = this.#limits.inputs;
    for (const name of Object.keys(given)) {
      check(
        ports.some((port) => port.name === name),
        'inputs',
        `names among ${ports.map((p) => p.name)}`,
        name,
      );
    }
    return ports.flatMap((port, index) => {
      const data = given[port.name];
      // Soft tokens are optional in every step: a step without them has no row that reads them.
      if (!data && port.rowSet === 2) return [];
      const expected = (port.rowSet === 0 ? rows : outputs) * port.width;
      const fits =
        port.rowSet === 2
          ? data!.length % port.width === 0 && data!.length <= port.maxRows * port.width
          : data?.length === expected;
      const wanted =
        port.rowSet === 2 ? `rows of ${port.width}, at most ${port.maxRows}` : `${expected} numbers`;
      check(fits, `inputs.${port.name}`, wanted, data ? `${data.length} numbers` : undefined);
      return [{ port: index, data: data! }];
    });
  }

  #outputs(read: readonly string[], rows: number, outputs: number): NativeStep['outputs'] {
    return read.map((name) => {
      const index = this.#limits.outputs.findIndex((port) => port.name === name);
      const names = this.#limits.outputs.map((port) => port.name).join(', ');
      check(index >= 0, 'read', `names among ${names}`, name);
      const port = this.#limits.outputs[index]!;
      return { port: index, data: new Float32Array((port.rowSet === 0 ? rows : outputs) * port.width) };
    });
  }
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

function encodeSampling(
  sampling: readonly SamplingParams[],
  outputs: number,
  ranges: readonly [number, number][],
): Float64Array {
  check(
    sampling.length === 0 || sampling.length === outputs,
    'sampling',
    `${outputs} entries or none`,
    sampling.length,
  );
  const encoded = new Float64Array(outputs * SAMPLING_FIELDS);
  for (let row = 0; row < outputs; row++) {
    const params = checkSampling(sampling[row] ?? {});
    const [begin, end] = ranges[row] ?? [0, 0];
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
  return encoded;
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

/** Checks begin <= value < end for all values. */
function within(name: string, array: Int32Array, begin: number, end: number): Int32Array {
  const wrong = array.find((value) => value < begin || value >= end);
  check(wrong === undefined, name, `whole numbers from ${begin} to ${end - 1}`, wrong);
  return array;
}

function check(condition: boolean, argument: string, expected: string, received: unknown): asserts condition {
  if (!condition) throw new InvalidArgumentError({ argument, expected, received });
}
