import { InvalidArgumentError } from '@markbase/core';
import type { SamplingParams, StepInput, TokenStep } from '@markbase/metal-runtime';
import { SOFT_TOKENS_INPUT } from '../model/decoder.js';
import type { Decoder } from '../model/layer.js';
import { adapterInput } from './adapter-rows.js';
import type { PromptRows } from './prompt.js';
import type { Sequence } from './sequence.js';

/** A prompt that is being computed into a sequence. */
export interface PrefillJob {
  /** The sequence that the prompt goes into. */
  readonly sequence: Sequence;
  /** Rows from the sequence's length on are computed; earlier ones must match what the sequence holds. */
  readonly rows: PromptRows;
  /** How the token after the prompt is sampled; default: greedily. */
  readonly sampling?: SamplingParams;
}

/** Rows [begin, end) of a job that go into one step. */
export interface PrefillPart {
  readonly job: PrefillJob;
  readonly begin: number;
  readonly end: number;
}

/**
 * Selects the rows of the next step: up to `maxRows`, from the first unfinished jobs. An image whose rows see each
 * other is not split; if a single image is larger than `maxRows`, it gets a separate step.
 */
export function nextParts(jobs: readonly PrefillJob[], maxRows: number): PrefillPart[] {
  const parts: PrefillPart[] = [];
  let room = maxRows;
  for (const job of jobs) {
    const begin = job.sequence.length;
    if (begin >= job.rows.end) continue;
    if (room <= 0) break;
    const end = partEnd(job.rows, begin, room, parts.length === 0);
    if (end > begin) parts.push({ job, begin, end });
    if (end < job.rows.end) break;
    room -= end - begin;
  }
  return parts;
}

/** End of the rows from `begin` on that fit into a step with `room` rows; `isFirst`: one image may exceed it. */
export function partEnd(rows: PromptRows, begin: number, room: number, isFirst: boolean): number {
  const limit = Math.min(begin + room, rows.end);
  let end = limit;
  while (end > begin && rows.visibleEnd[end - 1 - rows.begin]! >= limit) end--;
  if (end > begin || !isFirst) return end;
  return rows.visibleEnd[begin - rows.begin]! + 1;
}

/**
 * Checks a job; from then on, its sequence belongs to the prompt's adapter.
 *
 * @throws InvalidArgumentError if the rows of a job do not continue its sequence
 */
export function beginJob({ rows, sequence }: PrefillJob): void {
  if (rows.begin <= sequence.length && sequence.length < rows.end) {
    sequence.adapter = rows.adapter;
    return;
  }
  throw new InvalidArgumentError({
    argument: 'rows',
    expected: `a prompt that begins at or before position ${sequence.length} of its sequence and ends after it`,
    received: `positions ${rows.begin} to ${rows.end - 1}`,
  });
}

/** The step that computes `parts`: slots are their indices. Each part that ends its prompt has one output row. */
export function prefillStep(
  parts: readonly PrefillPart[],
  width: number,
  decoder: Pick<Decoder, 'adapters'> = { adapters: null },
): TokenStep {
  const slices = parts.map(({ job, begin, end }, slot) => {
    const { rows } = job;
    const slice = (array: Int32Array) => array.subarray(begin - rows.begin, end - rows.begin);
    const count = end - begin;
    return {
      tokens: slice(rows.tokens),
      layerTokens: slice(rows.layerTokens),
      visibleEnd: slice(rows.visibleEnd),
      positions: Int32Array.from({ length: count }, (_, index) => begin + index),
      slots: new Int32Array(count).fill(slot),
      soft: rows.soft.slice(begin - rows.begin, end - rows.begin),
      adapters: new Array<number | undefined>(count).fill(rows.adapter),
    };
  });
  const soft = softTokens(
    slices.flatMap((slice) => slice.soft),
    width,
  );
  const ended: PrefillPart[] = [];
  const outputRows: number[] = [];
  let row = 0;
  for (const part of parts) {
    row += part.end - part.begin;
    if (part.end < part.job.rows.end) continue;
    ended.push(part);
    outputRows.push(row - 1);
  }
  return {
    tokens: concat(slices.map((slice) => slice.tokens)),
    positions: concat(slices.map((slice) => slice.positions)),
    slots: concat(slices.map((slice) => slice.slots)),
    layerTokens: concat(slices.map((slice) => slice.layerTokens)),
    visibleEnd: concat(slices.map((slice) => slice.visibleEnd)),
    outputRows: Int32Array.from(outputRows),
    sampling: ended.map((part) => part.job.sampling ?? {}),
    softIndex: soft.softIndex,
    inputs: {
      ...soft.inputs,
      ...adapterInput(
        decoder,
        slices.flatMap(({ adapters }) => adapters),
      ),
    },
  };
}

function softTokens(
  rows: readonly (Float32Array | null)[],
  width: number,
): Pick<StepInput, 'softIndex' | 'inputs'> {
  const present = rows.filter((row) => row !== null);
  if (present.length === 0) return {};
  const values = new Float32Array(present.length * width);
  for (const [index, row] of present.entries()) values.set(row, index * width);
  let next = 0;
  const softIndex = Int32Array.from(rows, (row) => (row ? next++ : -1));
  return { softIndex, inputs: { [SOFT_TOKENS_INPUT]: values } };
}

function concat(arrays: readonly Int32Array[]): Int32Array {
  if (arrays.length === 1) return arrays[0]!;
  const result = new Int32Array(arrays.reduce((sum, array) => sum + array.length, 0));
  let offset = 0;
  for (const array of arrays) {
    result.set(array, offset);
    offset += array.length;
  }
  return result;
}
