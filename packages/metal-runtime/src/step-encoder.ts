import { types } from 'node:util';
import { NonFiniteError } from '@markbase/core';
import { MAX_TOP_LOGPROBS } from '../families/sample/node.js';
import { BLOCK_TOKENS, blocksOf, type CacheLimits, encodeTables, type Span } from './cache-tables.js';
import { check } from './check.js';
import { encodeSampling, topLogprobsOf } from './encode-sampling.js';
import type { NativePort, NativeStep } from './native.js';
import { plainArray } from './plain-array.js';
import type { StepArray } from './recorder/family.js';
import type { ByteValues, InputValues, StepInput, StepResult } from './step.js';

const ROW_ARRAYS = [
  'tokens',
  'positions',
  'slots',
  'layerTokens',
  'visibleEnd',
  'softIndex',
  'outputRows',
] as const;

const INT32_LIMIT = 2 ** 31;

/** Limits of a program's steps. */
export interface StepLimits {
  /** Names the program in errors. */
  readonly label: string;
  readonly maxRows: number;
  readonly maxOutputs: number;
  readonly inputs: readonly NativePort[];
  readonly outputs: readonly NativePort[];
  /** Number of positions in a full-attention cache. */
  readonly contextTokens: number;
  /** The caches of full and of sliding layers; null if the program has none. */
  readonly caches: readonly (CacheLimits | null)[];
  /** Width V of the sampled logits; 0 if the program does not sample. */
  readonly logitsWidth: number;
  /** Number of rows in the smallest embedding table. */
  readonly vocabulary: number;
  /** Arrays that a step must have. */
  readonly needs: ReadonlySet<StepArray>;
  /** Kernels find a row's neighbours by position, so the rows of a segment must be adjacent. */
  readonly hasSegments: boolean;
}

/** Checks a step once, when it enters the runtime, and lays it out for the addon. */
export class StepEncoder {
  readonly #limits: StepLimits;

  constructor(limits: StepLimits) {
    this.#limits = limits;
  }

  encode(given: StepInput, read: readonly string[]): NativeStep {
    const step = ownStep(given);
    const { maxRows, maxOutputs, logitsWidth } = this.#limits;
    for (const name of this.#limits.needs) check(step[name] !== undefined, name, 'an Int32Array', undefined);
    const rows = step.tokens?.length ?? step.positions?.length ?? step.rows ?? 0;
    const outputRows = step.outputRows ?? new Int32Array(0);
    const outputs = outputRows.length;
    const counted = step.tokens ? 'tokens' : step.positions ? 'positions' : 'rows';
    check(Number.isInteger(rows) && rows >= 1 && rows <= maxRows, counted, `1 to ${maxRows} rows`, rows);
    check(step.rows === undefined || step.rows === rows, 'rows', `${rows}, as in ${counted}`, step.rows);
    check(outputs <= maxOutputs, 'outputRows', `at most ${maxOutputs} rows`, outputs);
    const areRows = outputRows.every((row) => row >= 0 && row < rows);
    // Arrays as long as the step are only copied if they are invalid.
    check(areRows, 'outputRows', `rows below ${rows}`, areRows || [...outputRows]);
    const perRow = (
      name: 'positions' | 'slots' | 'layerTokens' | 'visibleEnd' | 'softIndex',
      fallback: Int32Array,
    ) => {
      const array = step[name] ?? fallback;
      check(array.length === rows, name, `${rows} numbers`, `${array.length} numbers`);
      return array;
    };
    const { contextTokens, vocabulary, caches } = this.#limits;
    const zeros = new Int32Array(rows);
    const tokens = within('tokens', step.tokens ?? zeros, 0, vocabulary);
    const positions = within('positions', perRow('positions', zeros), 0, contextTokens);
    const slots = within('slots', perRow('slots', zeros), 0, this.#slotCount(step));
    const visibleEnd = perRow('visibleEnd', positions);
    const spans = spansOf(slots, positions);
    const areSeen = seeOwnSlot(visibleEnd, positions, slots, spans);
    check(
      areSeen,
      'visibleEnd',
      "its row's position, or a later one that the step adds to the same slot",
      areSeen || [...visibleEnd],
    );
    if (!step.tables) this.#checkWindows(spans);
    if (this.#limits.hasSegments) checkSegments(positions, visibleEnd);
    const inputs = this.#inputs(step, rows, outputs);
    const softRows = inputs.reduce((most, { port, data }) => {
      const { rowSet, width } = this.#limits.inputs[port]!;
      return rowSet === 2 ? data.length / width : most;
    }, 0);
    const width = logitsWidth > 0 ? outputs : 0;
    return {
      tokens,
      positions,
      ...encodeTables(slots, spans, caches, step.tables),
      layerTokens: within('layerTokens', perRow('layerTokens', tokens), 0, vocabulary),
      visibleEnd,
      softIndex: within('softIndex', perRow('softIndex', new Int32Array(rows).fill(-1)), -1, softRows),
      outputRows,
      ...encodeSampling(step.sampling ?? [], outputs, this.#limits.logitsWidth),
      inputs,
      cancelFlag: new Int32Array(1),
      sampled: new Int32Array(width),
      logprobs: new Float32Array(width),
      topTokens: new Int32Array(width * MAX_TOP_LOGPROBS),
      topLogprobs: new Float32Array(width * MAX_TOP_LOGPROBS),
      outputs: this.#outputs([...read], rows, outputs),
    };
  }

  /** @throws NonFiniteError if a row has no valid logit; the sampler then returns -1 */
  decode(encoded: NativeStep): StepResult {
    const lost = encoded.sampled.findIndex((token) => token < 0);
    if (lost >= 0) throw new NonFiniteError({ label: `${this.#limits.label}, logits of row ${lost}` });
    const topLogprobs: { token: number; logprob: number }[][] = [];
    for (let row = 0; row < encoded.sampled.length; row++) {
      const list: { token: number; logprob: number }[] = [];
      const begin = row * MAX_TOP_LOGPROBS;
      for (let at = begin; at < begin + topLogprobsOf(encoded, row); at++)
        list.push({ token: encoded.topTokens[at]!, logprob: encoded.topLogprobs[at]! });
      topLogprobs.push(list);
    }
    const outputs = Object.fromEntries(
      encoded.outputs.map(({ port, data }) => [this.#limits.outputs[port]!.name, data]),
    );
    return { tokens: encoded.sampled, logprobs: encoded.logprobs, topLogprobs, outputs };
  }

  #inputs({ inputs: given }: OwnStep, rows: number, outputs: number): NativeStep['inputs'] {
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
      const name = `inputs.${port.name}`;
      const { data, values } = given[port.name] ?? { data: undefined };
      // Soft tokens are optional in every step: without them, no row reads any.
      if (!data && port.rowSet === 2) return [];
      const expected = (port.rowSet === 0 ? rows : outputs) * port.width;
      const fits =
        port.rowSet === 2
          ? data!.length % port.width === 0 && data!.length <= port.maxRows * port.width
          : data?.length === expected;
      const wanted =
        port.rowSet === 2 ? `rows of ${port.width}, at most ${port.maxRows}` : `${expected} numbers`;
      check(fits, name, wanted, data ? `${data.length} numbers` : undefined);
      return [{ port: index, data: data!, ...(values && { values }) }];
    });
  }

  /** Number of sequences that the step may name. */
  #slotCount({ tables }: OwnStep): number {
    if (tables) return tables.length;
    const shares = this.#limits.caches.map((cache) =>
      cache ? Math.floor(cache.blockCount / blocksOf(cache.capacityTokens)) : INT32_LIMIT,
    );
    return Math.min(...shares);
  }

  /**
   * All rows of a step are cached before any of them is attended: without a table, a sliding cache must hold the window
   * of a slot's first row in addition to everything up to its last row.
   */
  #checkWindows(spans: ReadonlyMap<number, Span>): void {
    for (const cache of this.#limits.caches) {
      if (!cache || cache.windowTokens === null) continue;
      const { windowTokens } = cache;
      const capacity = blocksOf(cache.capacityTokens) * BLOCK_TOKENS;
      for (const { first, last } of spans.values()) {
        const oldestSeen = Math.max(0, first - windowTokens + 1);
        check(
          last - oldestSeen < capacity,
          'positions',
          `rows whose window the sliding caches hold: ${windowTokens} + rows - 1 of ${capacity} positions`,
          `${last - first + 1} rows from position ${first} on`,
        );
      }
    }
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

/** The numbers of an input as the addon sees them. */
interface OwnInput {
  readonly data: Float32Array | Uint8Array | undefined;
  readonly values?: Float32Array;
}

/** What a caller gave, read once. */
type OwnStep = Omit<StepInput, 'inputs'> & { readonly inputs: Readonly<Record<string, OwnInput>> };

/**
 * What the addon will see of a step: copies of its row arrays, and the memory of its inputs. Nothing that a caller can still change, such
 * as shared memory, or objects whose properties answer differently each time, is read after it was checked.
 *
 * @throws InvalidArgumentError for what is not an array of the right type
 */
function ownStep(given: StepInput): OwnStep {
  const arrays = ROW_ARRAYS.flatMap((name) => {
    const array = given[name];
    checkType(name, array, types.isInt32Array, 'an Int32Array');
    return array === undefined ? [] : [[name, new Int32Array(plainArray(array))] as const];
  });
  const inputs = Object.entries(given.inputs ?? {}).map(([name, input]) => [
    name,
    isBytes(input) ? checkedBytes(`inputs.${name}`, input) : { data: floats(`inputs.${name}`, input) },
  ]);
  const { rows, sampling, tables } = given;
  return {
    ...(rows !== undefined && { rows }),
    ...(sampling && { sampling }),
    ...(tables && { tables: ownTables(tables) }),
    ...Object.fromEntries(arrays),
    inputs: Object.fromEntries(inputs),
  };
}

/** The tables, of which only elements are read, each once: nothing can redefine those. */
function ownTables(given: readonly Int32Array[]): Int32Array[] {
  const tables = [...given];
  for (const table of tables)
    if (!types.isInt32Array(table))
      checkType('tables', table ?? null, types.isInt32Array, 'arrays of type Int32Array');
  return tables;
}

function floats<Input extends Float32Array | undefined>(name: string, input: Input): Input {
  checkType(name, input, types.isFloat32Array, 'a Float32Array');
  return input === undefined ? input : (plainArray(input) as Input);
}

function isBytes(input: InputValues | undefined): input is ByteValues {
  return typeof input === 'object' && input !== null && 'bytes' in input;
}

function checkedBytes(
  name: string,
  { bytes, values }: ByteValues,
): { data: Uint8Array; values: Float32Array } {
  checkType(`${name}.bytes`, bytes, types.isUint8Array, 'a Uint8Array');
  const plain = floats(`${name}.values`, values);
  check(plain?.length === 256, `${name}.values`, '256 numbers', plain && `${plain.length} numbers`);
  return { data: plainArray(bytes), values: plain };
}

function spansOf(slots: Int32Array, positions: Int32Array): Map<number, Span> {
  const spans = new Map<number, Span>();
  let span: Span | undefined;
  for (let row = 0; row < slots.length; row++) {
    const slot = slots[row]!;
    const position = positions[row]!;
    // Most rows have the same slot as the row before.
    if (row === 0 || slot !== slots[row - 1]) span = spans.get(slot);
    if (!span) {
      span = { first: position, last: position };
      spans.set(slot, span);
    } else {
      span.first = Math.min(span.first, position);
      span.last = Math.max(span.last, position);
    }
  }
  return spans;
}

/** True if every row sees itself, and at most up to the last row that the step adds to its slot. */
function seeOwnSlot(
  visibleEnd: Int32Array,
  positions: Int32Array,
  slots: Int32Array,
  spans: ReadonlyMap<number, Span>,
): boolean {
  let last = 0;
  for (let row = 0; row < slots.length; row++) {
    if (row === 0 || slots[row] !== slots[row - 1]) last = spans.get(slots[row]!)!.last;
    const end = visibleEnd[row]!;
    if (end < positions[row]! || end > last) return false;
  }
  return true;
}

/** Checks that every segment consists of adjacent rows from 0 to its last one, because kernels index by them. */
function checkSegments(positions: Int32Array, visibleEnd: Int32Array): void {
  const rows = positions.length;
  let first = 0;
  for (let row = 0; row < rows; row++) {
    if (positions[row] === 0) first = row;
    const last = first + visibleEnd[row]!;
    const isLast = positions[row] === visibleEnd[row];
    const isWhole =
      positions[row] === row - first &&
      last < rows &&
      visibleEnd[row] === visibleEnd[first] &&
      isLast === (row === rows - 1 || positions[row + 1] === 0);
    if (isWhole) continue;
    const expected = 'segments of rows 0, 1, 2 ... up to their visibleEnd, side by side';
    check(false, 'positions', expected, `${positions[row]} of ${visibleEnd[row]} at row ${row}`);
  }
}

/** Checks begin <= value < end for all values. */
function within(name: string, array: Int32Array, begin: number, end: number): Int32Array {
  for (let i = 0; i < array.length; i++) {
    const value = array[i]!;
    if (value < begin || value >= end) check(false, name, `whole numbers from ${begin} to ${end - 1}`, value);
  }
  return array;
}

/** The addon reads arrays according to the expected type: it would read past the end of another type. */
function checkType(
  argument: string,
  value: unknown,
  isValid: (value: unknown) => boolean,
  expected: string,
): void {
  check(value === undefined || isValid(value), argument, expected, Object.prototype.toString.call(value));
}
