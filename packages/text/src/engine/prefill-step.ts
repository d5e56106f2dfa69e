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
  const count = parts.reduce((sum, { begin, end }) => sum + end - begin, 0);
  const arrays = {
    tokens: new Int32Array(count),
    positions: new Int32Array(count),
    slots: new Int32Array(count),
    layerTokens: new Int32Array(count),
    visibleEnd: new Int32Array(count),
  };
  const soft: SoftRow[] = [];
  const adapters: (number | undefined)[] = [];
  const ended: PrefillPart[] = [];
  const outputRows: number[] = [];
  let row = 0;
  for (const [slot, part] of parts.entries()) {
    const { rows } = part.job;
    const first = part.begin - rows.begin;
    const last = part.end - rows.begin;
    for (const name of ['tokens', 'layerTokens', 'visibleEnd'] as const)
      arrays[name].set(rows[name].subarray(first, last), row);
    for (let index = 0; index < last - first; index++) arrays.positions[row + index] = part.begin + index;
    arrays.slots.fill(slot, row, row + last - first);
    for (const [index, values] of rows.soft.slice(first, last).entries())
      if (values) soft.push({ row: row + index, values });
    if (decoder.adapters) adapters.push(...new Array<number | undefined>(last - first).fill(rows.adapter));
    row += last - first;
    if (part.end < rows.end) continue;
    ended.push(part);
    outputRows.push(row - 1);
  }
  const { inputs, ...softIndex } = softTokens(soft, count, width);
  return {
    ...arrays,
    outputRows: Int32Array.from(outputRows),
    sampling: ended.map((part) => part.job.sampling ?? {}),
    ...softIndex,
    inputs: { ...inputs, ...adapterInput(decoder, adapters) },
  };
}

/** A row of a step that is a soft token. */
interface SoftRow {
  readonly row: number;
  readonly values: Float32Array;
}

function softTokens(
  soft: readonly SoftRow[],
  count: number,
  width: number,
): Pick<StepInput, 'softIndex' | 'inputs'> {
  if (soft.length === 0) return {};
  const values = new Float32Array(soft.length * width);
  const softIndex = new Int32Array(count).fill(-1);
  for (const [index, each] of soft.entries()) {
    values.set(each.values, index * width);
    softIndex[each.row] = index;
  }
  return { softIndex, inputs: { [SOFT_TOKENS_INPUT]: values } };
}
