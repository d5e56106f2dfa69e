import type { Choice, Sequence, TextModel } from '@markbase/text';

/** Number of positions that are computed; earlier ones keep their previous contents. */
const COMPUTED_TOKENS = 128;

/**
 * Takes empty sequences and brings them to `depth` positions: the last 128 are prefilled, the earlier ones are skipped.
 * The caches hold zeros or keys of an earlier sequence there, which take just as long to read.
 *
 * @returns the sequences, and the choice of the next token of each
 */
export async function acquireAt(
  model: TextModel,
  run: { batch: number; depth: number; tokens: (count: number) => Int32Array; signal?: AbortSignal },
): Promise<{ sequences: Sequence[]; choices: Choice[] }> {
  const { batch, depth, tokens, signal } = run;
  const options = signal && { signal };
  const begin = Math.max(0, depth - COMPUTED_TOKENS);
  const sequences = await model.acquire(new Array(batch).fill(null), signal);
  try {
    for (const sequence of sequences) await model.skipTo(sequence, begin);
    const jobs = sequences.map((sequence) => {
      return { sequence, rows: model.layOut({ ids: tokens(depth - begin) }, begin) };
    });
    return { sequences, choices: await model.prefill(jobs, options) };
  } catch (error) {
    model.release(sequences);
    throw error;
  }
}
