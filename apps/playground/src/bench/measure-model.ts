import { openCheckpoint } from '@markbase/loader';
import { type Device, measureReadBandwidth } from '@markbase/metal-runtime';
import { mixtureOfExperts } from '@markbase/moe';
import { TextModel } from '@markbase/text';
import { randomTokens } from './random-tokens.js';
import { type Spread, spread } from './spread.js';

/** What `measureModel` measures. */
export interface Workload {
  /** Lengths of prompts whose prefill is timed. */
  readonly prompts: readonly number[];
  /** Decode steps of one measurement. */
  readonly generatedTokens: number;
  /** Numbers of sequences that decode together. */
  readonly batches: readonly number[];
  /** Measurements of each kind. */
  readonly repetitions: number;
  readonly precision: 'high' | 'fast';
  readonly signal: AbortSignal;
  /** Called before each measurement with what comes. */
  onStage(stage: string): void;
}

/** Positions that a measured decode starts behind. */
const DECODE_DEPTH = 128;
const SEED = 20_011;

/** Measures load, prefill and decode of a checkpoint with random token ids: it needs no tokenizer. */
export async function measureModel(directory: string, device: Device, workload: Workload) {
  const { signal, precision, repetitions } = workload;
  workload.onStage('loading');
  const start = performance.now();
  const checkpoint = await openCheckpoint(directory, { signal });
  const model = await TextModel.load(checkpoint, device, {
    precision,
    feedForward: mixtureOfExperts,
    contextTokens: Math.max(...workload.prompts, DECODE_DEPTH) + workload.generatedTokens + 1,
    maxSequences: Math.max(1, ...workload.batches),
    signal,
  });
  const loadMs = performance.now() - start;
  try {
    const tokens = randomTokens(checkpoint.config, SEED);
    const firstPrompt = workload.prompts[0] ?? DECODE_DEPTH;
    const firstTokenMs = 1000 * (await timePrefill(model, tokens(firstPrompt), signal));
    await timeDecode(model, { batch: 1, steps: 1, tokens, signal });
    const bytesPerToken = model.plan().weightBytes;

    const prefill = [];
    for (const promptTokens of workload.prompts) {
      workload.onStage(`prefill of ${promptTokens} tokens`);
      const times = await repeat(repetitions, () => timePrefill(model, tokens(promptTokens), signal));
      prefill.push({ promptTokens, tokensPerSecond: rates(promptTokens, times) });
    }
    const decode = [];
    for (const batch of workload.batches) {
      workload.onStage(`decode of ${batch} sequences`);
      const times = await repeat(repetitions, () =>
        timeDecode(model, { batch, steps: workload.generatedTokens, tokens, signal }),
      );
      const tokensPerSecond = rates(batch * workload.generatedTokens, times);
      decode.push({
        batch,
        depthTokens: DECODE_DEPTH,
        generatedTokens: workload.generatedTokens,
        tokensPerSecond,
      });
    }
    // Kilobytes on every platform; taken before the bandwidth is measured, which needs a large buffer.
    const peakRssBytes = process.resourceUsage().maxRSS * 1024;
    workload.onStage('read bandwidth');
    const { bytesPerSecond } = await measureReadBandwidth(device.info.threads);
    const single = decode.find(({ batch }) => batch === 1)?.tokensPerSecond.median;
    const decodeBytesPerSecond = single === undefined ? null : single * bytesPerToken;
    return {
      model: checkpoint.directory,
      device: device.info,
      precision,
      loadMs,
      firstToken: { promptTokens: firstPrompt, ms: firstTokenMs },
      prefill,
      decode,
      peakRssBytes,
      bytesPerToken,
      readBandwidthBytesPerSecond: bytesPerSecond,
      decodeBytesPerSecond,
      bandwidthFraction: decodeBytesPerSecond === null ? null : decodeBytesPerSecond / bytesPerSecond,
    };
  } finally {
    model.dispose();
  }
}

/** Seconds from a prompt to its first token, in an empty sequence. */
async function timePrefill(model: TextModel, ids: Int32Array, signal: AbortSignal): Promise<number> {
  const rows = model.layOut({ ids });
  const sequence = await model.createSequence(signal);
  try {
    const start = performance.now();
    await model.prefill([{ sequence, rows }], { signal });
    return (performance.now() - start) / 1000;
  } finally {
    model.release([sequence]);
  }
}

/** Seconds of `steps` decode steps of `batch` sequences, each step fed with what the one before has chosen. */
async function timeDecode(
  model: TextModel,
  run: { batch: number; steps: number; tokens: (count: number) => Int32Array; signal: AbortSignal },
): Promise<number> {
  const { batch, steps, tokens, signal } = run;
  const sequences = await model.acquire(new Array(batch).fill(null), signal);
  try {
    const jobs = sequences.map((sequence) => ({
      sequence,
      rows: model.layOut({ ids: tokens(DECODE_DEPTH) }),
    }));
    let choices = await model.prefill(jobs, { signal });
    const start = performance.now();
    for (let step = 0; step < steps; step += 1) {
      const rows = sequences.map((sequence, index) => ({ sequence, token: choices[index]?.token ?? 0 }));
      choices = await model.decode(rows, { signal });
    }
    return (performance.now() - start) / 1000;
  } finally {
    model.release(sequences);
  }
}

/** Runs once to record programs and to bring weights into memory, then as often as asked. */
async function repeat(count: number, measure: () => Promise<number>): Promise<number[]> {
  await measure();
  const times: number[] = [];
  for (let index = 0; index < count; index += 1) times.push(await measure());
  return times;
}

function rates(tokens: number, seconds: readonly number[]): Spread {
  return spread(seconds.map((time) => tokens / time));
}
