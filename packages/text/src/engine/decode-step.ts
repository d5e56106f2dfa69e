import { ContextLengthError, InvalidArgumentError } from '@markbase/core';
import { checkSampling, type TokenStep } from '@markbase/metal-runtime';
import { checkInteger } from '../check.js';
import type { Decoder } from '../model/layer.js';
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
 * The step that adds one token to each of several sequences; slots are their indices.
 *
 * @param matchesPrefill decoding uses the same kernels as prefill
 * @param decoder its programs take the adapter of each row if it has any
 */
export function decodeStep(
  rows: readonly DecodeRow[],
  matchesPrefill: boolean,
  decoder: Pick<Decoder, 'adapters'> = { adapters: null },
): { step: TokenStep; spans: StepSpan[] } {
  const positions = Int32Array.from(rows, ({ sequence }) => sequence.length);
  const spans = rows.map(({ sequence, token }, index) => {
    const begin = positions[index]!;
    const tokens = Int32Array.of(token);
    const row = {
      keys: [adaptedKey(token, sequence.adapter)],
      visibleEnd: Int32Array.of(begin),
      begin,
      tokens,
      layerTokens: tokens,
      soft: [null],
    };
    return { sequence, rows: row, begin, end: begin + 1, matchesPrefill };
  });
  const step = {
    tokens: Int32Array.from(rows, ({ token }) => token),
    positions,
    slots: Int32Array.from(rows, (_, index) => index),
    outputRows: Int32Array.from(rows, (_, index) => index),
    sampling: rows.map(({ sampling }) => sampling ?? {}),
    inputs: adapterInput(
      decoder,
      rows.map(({ sequence }) => sequence.adapter),
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
