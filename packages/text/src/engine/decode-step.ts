import { ContextLengthError, InvalidArgumentError } from '@markbase/core';
import { checkSampling, type SamplingParams, type TokenStep } from '@markbase/metal-runtime';
import { checkInteger } from '../check.js';
import type { Decoder } from '../model/layer.js';
import type { DraftedRow } from '../speculation/speculation.js';
import { adapterInput } from './adapter-rows.js';
import type { DecodeRow } from './decode-queue.js';
import type { PromptRows } from './prompt.js';
import type { Sequence } from './sequence.js';
import type { TextModelSettings } from './text-model-options.js';

/** Positions [begin, end) that a step adds to a sequence, and what they hold. */
export interface StepSpan {
  readonly sequence: Sequence;
  readonly rows: Omit<PromptRows, 'end'>;
  readonly begin: number;
  readonly end: number;
}

/**
 * The step that adds tokens to each of several sequences, whose slots are their indices: a token that is known, and those
 * that are guessed to follow it. Every row is an output.
 *
 * @param decoder its programs take the adapter of each row if it has any
 */
export function decodeStep(
  rows: readonly DraftedRow[],
  decoder: Pick<Decoder, 'adapters'> = { adapters: null },
): TokenStep {
  const count = rows.reduce((sum, { drafted }) => sum + 1 + drafted.length, 0);
  const tokens = new Int32Array(count);
  const positions = new Int32Array(count);
  const slots = new Int32Array(count);
  const sampling: SamplingParams[] = [];
  const adapters: (number | undefined)[] = [];
  for (const [slot, { row, drafted }] of rows.entries()) {
    for (let index = 0; index <= drafted.length; index++) {
      const added = index === 0 ? row : drafted[index - 1]!;
      const at = sampling.length;
      tokens[at] = added.token;
      positions[at] = row.sequence.length + index;
      slots[at] = slot;
      sampling.push(added.sampling ?? {});
      adapters.push(row.sequence.adapter);
    }
  }
  const outputRows = Int32Array.from(tokens.keys());
  return { tokens, positions, slots, outputRows, sampling, inputs: adapterInput(decoder, adapters) };
}

/**
 * Checks the rows of a decode step.
 *
 * @throws ContextLengthError if a sequence is full; InvalidArgumentError for tokens and parameters out of range, and for
 *   two rows of the same sequence
 */
export function checkDecodeRows(
  rows: readonly DecodeRow[],
  { contextTokens, maxSequences }: TextModelSettings,
  vocabularySize: number,
): void {
  checkInteger('rows.length', rows.length, 1, maxSequences);
  if (new Set(rows.map(({ sequence }) => sequence)).size < rows.length) {
    throw new InvalidArgumentError({
      argument: 'rows',
      expected: 'one row per sequence',
      received: 'two rows of the same sequence',
    });
  }
  for (const { sequence, token, sampling } of rows) {
    checkInteger('token', token, 0, vocabularySize - 1);
    if (sampling) checkSampling(sampling);
    if (sequence.length < contextTokens) continue;
    throw new ContextLengthError({ promptTokens: sequence.length + 1, maxTokens: contextTokens });
  }
}
