import { estimate } from '@markbase/loader';
import type { TextModel } from '@markbase/text';
import { activeParameters } from './active-parameters.js';
import { memoryRate } from './memory-rate.js';
import type { RooflinePoint, RooflineReport } from './playground-types.js';

/** Number of positions in the cache before a measured decode. */
const DEPTH = 64;
const DECODE_STEPS = 24;
const PREFILL_TOKENS = 256;

/**
 * Finds out how fast the device reads its memory, and measures decode and prefill steps of a loaded model, alternating with its answers.
 *
 * A step of b sequences computes 2 · b operations per active parameter and reads the dense weights once, the experts of
 * each sequence, and each sequence's keys and values. The operations of attention itself are not counted.
 *
 * @throws the signal's reason when aborted
 */
export async function measureRoofline(model: TextModel, signal: AbortSignal): Promise<RooflineReport> {
  const { checkpoint, device, settings } = model;
  const { precision, contextTokens, maxSequences } = settings;
  const { activePerToken: bytes } = estimate(checkpoint, {
    precision,
    contextTokens: Math.min(contextTokens, DEPTH),
  });
  const expertsLimit = checkpoint.config.text.experts;
  const operations = 2 * activeParameters(checkpoint);
  const point = (name: string, rows: number, sequences: number, seconds: number): RooflinePoint => {
    const expertRows = expertsLimit ? Math.min(rows, expertsLimit.count / expertsLimit.topK) : 0;
    const stepBytes =
      bytes.dense + bytes.experts * expertRows + bytes.lookups * rows + bytes.keysAndValues * sequences;
    return {
      name,
      tokensPerSecond: rows / seconds,
      operationsPerByte: (operations * rows) / stepBytes,
      operationsPerSecond: (operations * rows) / seconds,
    };
  };
  const points: RooflinePoint[] = [];
  for (let batch = 1; batch <= Math.min(8, maxSequences); batch *= 2) {
    const name = batch === 1 ? 'decode' : `decode × ${batch}`;
    points.push(point(name, batch, batch, await decodeSeconds(model, batch, signal)));
  }
  const promptTokens = Math.min(PREFILL_TOKENS, contextTokens - 2, settings.prefillChunk);
  points.push(
    point(`prefill ${promptTokens}`, promptTokens, 1, await prefillSeconds(model, promptTokens, signal)),
  );
  return { ...(await memoryRate(device.info)), points };
}

/** Median duration of a decode step in seconds. */
async function decodeSeconds(model: TextModel, batch: number, signal: AbortSignal): Promise<number> {
  const depth = Math.min(DEPTH, Math.floor(model.settings.contextTokens / 2));
  const steps = Math.min(DECODE_STEPS, model.settings.contextTokens - depth - 1);
  const sequences = await model.acquire(new Array(batch).fill(null), signal);
  try {
    const rows = model.layOut({ ids: promptIds(model, depth) });
    let choices = await model.prefill(
      sequences.map((sequence) => ({ sequence, rows })),
      { signal },
    );
    const times: number[] = [];
    for (let step = 0; step < steps; step++) {
      const next = sequences.map((sequence, index) => ({ sequence, token: choices[index]!.token }));
      const start = performance.now();
      choices = await model.decode(next, { signal });
      times.push(performance.now() - start);
    }
    return median(times) / 1000;
  } finally {
    model.release(sequences);
  }
}

/** Median duration of a prompt in seconds. */
async function prefillSeconds(model: TextModel, tokens: number, signal: AbortSignal): Promise<number> {
  const rows = model.layOut({ ids: promptIds(model, tokens) });
  const times: number[] = [];
  for (let round = 0; round < 3; round++) {
    const sequence = await model.createSequence(signal);
    try {
      const start = performance.now();
      await model.prefill([{ sequence, rows }], { signal });
      times.push(performance.now() - start);
    } finally {
      model.release([sequence]);
    }
  }
  return median(times) / 1000;
}

/** Ids of ordinary tokens; which ones they are does not affect the time. */
function promptIds({ config }: TextModel, count: number): number[] {
  const { image, video, audio, delimiters } = config.placeholders;
  const special = new Set([image, video, audio, ...delimiters]);
  const ordinary = Array.from({ length: Math.min(config.vocabularySize, 4096) }, (_, id) => id).filter(
    (id) => !special.has(id),
  );
  return Array.from({ length: count }, (_, index) => ordinary[(index * 31 + 7) % ordinary.length]!);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
