import { ContextLengthError, InvalidArgumentError } from '@markbase/core';
import { checkSampling, type TokenStep } from '@markbase/metal-runtime';
import { checkInteger } from '../check.js';
import type { Decoder } from '../model/layer.js';
import type { DraftedRow } from '../speculation/speculation.js';
import { adaptedKey, adapterInput } from './adapter-rows.js';
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
  /** True if the step computes the same bits as a prompt with these tokens would; default true. */
  readonly matchesPrefill?: boolean;
}

/**
 * The step that adds tokens to each of several sequences, whose slots are their indices: a token that is known, and those
 * that are guessed to follow it. Every row is an output.
 *
 * @param matchesPrefill decoding uses the same kernels as prefill
 * @param decoder its programs take the adapter of each row if it has any
 * @returns the step, and a span per row that ends after the guessed tokens
 */
export function decodeStep(
  rows: readonly DraftedRow[],
  matchesPrefill: boolean,
  decoder: Pick<Decoder, 'adapters'> = { adapters: null },
): { step: TokenStep; spans: StepSpan[] } {
  const spans = rows.map(({ row: { sequence, token }, drafted }) => {
    const begin = sequence.length;
    const tokens = Int32Array.from([token, ...drafted.map((guess) => guess.token)]);
    const content = {
      keys: Array.from(tokens, (id) => adaptedKey(id, sequence.adapter)),
      visibleEnd: tokens.map((_, index) => begin + index),
      begin,
      tokens,
      layerTokens: tokens,
      soft: Array.from(tokens, () => null),
    };
    return { sequence, rows: content, begin, end: begin + tokens.length, matchesPrefill };
  });
  const perRow = spans.flatMap(({ rows: { tokens, begin }, sequence }, slot) =>
    Array.from(tokens, (token, index) => ({ token, position: begin + index, slot, sequence })),
  );
  const step = {
    tokens: Int32Array.from(perRow, ({ token }) => token),
    positions: Int32Array.from(perRow, ({ position }) => position),
    slots: Int32Array.from(perRow, ({ slot }) => slot),
    outputRows: Int32Array.from(perRow, (_, index) => index),
    sampling: rows.flatMap(({ row, drafted }) => [
      row.sampling ?? {},
      ...drafted.map(({ sampling }) => sampling),
    ]),
    inputs: adapterInput(
      decoder,
      perRow.map(({ sequence }) => sequence.adapter),
    ),
  };
  return { step, spans };
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
