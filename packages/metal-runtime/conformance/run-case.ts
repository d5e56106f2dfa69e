import type { Device, Program, RecordOptions, StepInput, StepResult } from '../src/index.js';
import type { ConformanceCase, Results, Tolerance } from './conformance-case.js';

/** How a case is recorded and split. */
export interface RunOptions {
  readonly precision: RecordOptions['precision'];
  readonly fusions?: RecordOptions['fusions'];
  readonly kernelsFor?: RecordOptions['kernelsFor'];
  /** Rows per step; default: all in one. */
  readonly chunk?: number;
}

/** The results of a run. */
export interface CaseRun {
  readonly results: Results;
  /** Commands of the recorded program. */
  readonly commandCount: number;
}

/** Records a case on a device for steps of `options.chunk` rows. */
export function recordCase(device: Device, test: ConformanceCase, options: RunOptions): Program {
  const { precision, fusions, kernelsFor, chunk = test.rows.count } = options;
  const maxOutputs = Math.max(1, test.rows.outputRows?.length ?? 0);
  return device.record(
    { label: test.name, maxRows: chunk, maxOutputs, precision, fusions, ...(kernelsFor && { kernelsFor }) },
    (ops) => test.record(ops, device),
  );
}

/** Records a case on a device and runs its rows in one step or in several; results are concatenated. */
export async function runCase(device: Device, test: ConformanceCase, options: RunOptions): Promise<CaseRun> {
  const { chunk = test.rows.count } = options;
  using program = recordCase(device, test, options);
  const read = test.outputs ?? ['y'];
  const parts: Record<string, number[]>[] = [];
  for (let begin = 0; begin < test.rows.count; begin += chunk) {
    const step = cut(test, begin, Math.min(begin + chunk, test.rows.count));
    parts.push(resultsOf(await program.run(step, { read })));
  }
  const names = Object.keys(parts[0]!);
  return {
    results: Object.fromEntries(names.map((name) => [name, parts.flatMap((part) => part[name]!)])),
    commandCount: program.plan.commands.length,
  };
}

/** Rows [begin, end) of a case as a step. */
function cut(test: ConformanceCase, begin: number, end: number): StepInput {
  const { rows, inputs } = test;
  const count = end - begin;
  const slice = (array: Int32Array | undefined) => array?.slice(begin, end);
  const outputRows = [...(rows.outputRows ?? [])];
  const chosen = [...outputRows.keys()].filter((i) => outputRows[i]! >= begin && outputRows[i]! < end);
  const dataOf = (input: (typeof inputs)[string]) => {
    const { width, data } = input;
    if (input.rows === 'S') return data;
    if (input.rows === 'T') return data.slice(begin * width, end * width);
    return Float32Array.from(chosen.flatMap((i) => [...data.subarray(i * width, (i + 1) * width)]));
  };
  return {
    tokens: slice(rows.tokens) ?? new Int32Array(count),
    positions: slice(rows.positions) ?? Int32Array.from({ length: count }, (_, i) => begin + i),
    slots: slice(rows.slots) ?? new Int32Array(count),
    layerTokens: slice(rows.layerTokens),
    visibleEnd: slice(rows.visibleEnd),
    softIndex: slice(rows.softIndex),
    outputRows: Int32Array.from(chosen, (i) => outputRows[i]! - begin),
    sampling: rows.sampling && chosen.map((i) => rows.sampling![i]!),
    inputs: Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, dataOf(input)])),
  };
}

function resultsOf(result: StepResult): Record<string, number[]> {
  const outputs = Object.fromEntries(Object.entries(result.outputs).map(([name, data]) => [name, [...data]]));
  if (result.tokens.length === 0) return outputs;
  return {
    ...outputs,
    tokens: [...result.tokens],
    logprobs: [...result.logprobs],
    topTokens: result.topLogprobs.flatMap((row) => row.map((entry) => entry.token)),
    topLogprobs: result.topLogprobs.flatMap((row) => row.map((entry) => entry.logprob)),
  };
}

/** Describes the first result outside the tolerance; null if there is none. */
export function findDifference(actual: Results, expected: Results, tolerance: Tolerance): string | null {
  for (const name of Object.keys(expected)) {
    const [got, wanted] = [actual[name], expected[name]!];
    if (got?.length !== wanted.length) return `${name}: ${got?.length} numbers, expected ${wanted.length}`;
    for (let i = 0; i < wanted.length; i++) {
      const allowed = tolerance.absolute + tolerance.relative * Math.abs(wanted[i]!);
      // Written so that NaN counts as a difference.
      const isClose = got[i] === wanted[i] || Math.abs(got[i]! - wanted[i]!) <= allowed;
      if (!isClose) return `${name}[${i}]: ${got[i]}, expected ${wanted[i]} within ${allowed}`;
    }
  }
  return null;
}

/** Describes the first result with different bits; null if there is none. */
export function findChangedBits(actual: Results, expected: Results): string | null {
  for (const name of Object.keys(expected)) {
    const [got, wanted] = [actual[name], expected[name]!];
    if (got?.length !== wanted.length) return `${name}: ${got?.length} numbers, expected ${wanted.length}`;
    for (let i = 0; i < wanted.length; i++) {
      if (!Object.is(got[i], wanted[i])) return `${name}[${i}]: ${got[i]}, not ${wanted[i]}`;
    }
  }
  return null;
}

/** Selects rows of results that have `count` rows. */
export function pickRows(results: Results, count: number, rows: readonly number[] | undefined): Results {
  if (!rows) return results;
  const pick = (data: ArrayLike<number>) => {
    const width = data.length / count;
    return rows.flatMap((row) => Array.from({ length: width }, (_, i) => data[row * width + i]!));
  };
  return Object.fromEntries(Object.entries(results).map(([name, data]) => [name, pick(data)]));
}
