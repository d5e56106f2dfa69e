import { InvalidConfigError } from '@markbase/core';
import type { ModelConfig } from '../config/model-config.js';
import { readMatrixRows } from '../quantization/read-matrix-rows.js';
import type { WeightIndex } from './weight-index.js';

const EMBEDDING = 'language_model.embed_tokens';
const HEAD = 'lm_head';
/** Relative difference that two formats of the same matrix may have. */
const FORMAT_TOLERANCE = 0.2;
const ROWS_AT_ONCE = 256;

/**
 * True if a checkpoint has an output head with other values than the embedding. Heads in the format of the embedding must
 * be equal, others nearly so, because both may be rounded.
 *
 * @param sampleRows number of evenly spaced rows to compare; null = all
 */
export async function hasSeparateHead(
  weights: Pick<WeightIndex, 'hasModule' | 'stored'>,
  { text }: ModelConfig,
  sampleRows: number | null,
  signal?: AbortSignal,
): Promise<boolean> {
  if (!weights.hasModule(HEAD)) return false;
  const size = { rows: text.vocabSize, columns: text.hiddenSize };
  const [embedding, head] = [weights.stored(EMBEDDING, size), weights.stored(HEAD, size)];
  const step = sampleRows === null ? ROWS_AT_ONCE : Math.max(1, Math.floor(size.rows / sampleRows));
  const tolerance = embedding.kind === head.kind ? 0 : FORMAT_TOLERANCE;
  for (let begin = 0; begin < size.rows; begin += step) {
    signal?.throwIfAborted();
    const end = sampleRows === null ? Math.min(begin + step, size.rows) : begin + 1;
    const [a, b] = [await readMatrixRows(embedding, begin, end), await readMatrixRows(head, begin, end)];
    if (relativeDifference(a, b) > tolerance) return true;
  }
  return false;
}

/** The error for a head that would be ignored although it changes answers. */
export function separateHeadError(configPath: string): InvalidConfigError {
  return new InvalidConfigError({
    path: configPath,
    key: 'tie_word_embeddings',
    expected: `false, because lm_head.weight differs from ${EMBEDDING}.weight; to use the embedding as the head, remove lm_head.weight`,
    received: true,
  });
}

/** Root of the mean square of a - b, relative to that of a. */
function relativeDifference(a: Float32Array, b: Float32Array): number {
  let difference = 0;
  let size = 0;
  for (const [index, value] of a.entries()) {
    difference += (value - b[index]!) ** 2;
    size += value ** 2;
  }
  return difference === 0 ? 0 : Math.sqrt(difference / size);
}
