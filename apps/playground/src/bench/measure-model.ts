import { readFile } from 'node:fs/promises';
import { estimate, openCheckpoint } from '@markbase/loader';
import { type Device, measureReadBandwidth, type UploadProgress } from '@markbase/metal-runtime';
import { mixtureOfExperts } from '@markbase/moe';
import { TextModel } from '@markbase/text';
import { acquireAt } from './acquire-at.js';
import { randomTokens } from './random-tokens.js';
import { type Spread, spread } from './spread.js';

/** What `measureModel` measures. */
export interface Workload {
  /** Lengths of prompts whose prefill is timed. */
  readonly prompts: readonly number[];
  /** Number of decode steps per measurement. */
  readonly generatedTokens: number;
  /** Numbers of sequences that decode together. */
  readonly batches: readonly number[];
  /** Number of positions in the cache before a measured decode; each is combined with each of `batches`. */
  readonly depths: readonly number[];
  /** Number of measurements of each kind. */
  readonly repetitions: number;
  readonly precision: 'high' | 'fast';
  readonly signal: AbortSignal;
  /** Called before each measurement with its description. */
  onStage(stage: string): void;
  /** Called with the progress of copying weights to a GPU. */
  readonly onProgress?: (progress: UploadProgress) => void;
}

const FIRST_PROMPT_TOKENS = 128;
const SEED = 20_011;

/** Measures load, prefill and decode of a checkpoint with random token ids, so it needs no tokenizer. */
export async function measureModel(directory: string, device: Device, workload: Workload) {
  const { signal, precision, repetitions, onProgress } = workload;
  workload.onStage('loading');
  const start = performance.now();
  const checkpoint = await openCheckpoint(directory, { signal });
  const model = await TextModel.load(checkpoint, device, {
    precision,
    feedForward: mixtureOfExperts,
    contextTokens: Math.max(...workload.prompts, ...workload.depths) + workload.generatedTokens + 1,
    maxSequences: Math.max(1, ...workload.batches),
    signal,
    onProgress,
  });
  const loadMs = performance.now() - start;
  try {
    const tokens = randomTokens(checkpoint.config, SEED);
    const firstPrompt = workload.prompts[0] ?? FIRST_PROMPT_TOKENS;
    const firstTokenMs = 1000 * (await timePrefill(model, tokens(firstPrompt), signal));
    const anonymousBytes = await readAnonymousBytes();
    await timeDecode(model, { batch: 1, depth: 1, steps: 1, tokens, signal });
    const bytesPerToken = model.plan().weightBytes;

    const prefill = [];
    for (const promptTokens of workload.prompts) {
      workload.onStage(`prefill of ${promptTokens} tokens`);
      const times = await repeat(repetitions, () => timePrefill(model, tokens(promptTokens), signal));
      prefill.push({ promptTokens, tokensPerSecond: rates(promptTokens, times) });
    }
    const decode = [];
    for (const depth of workload.depths) {
      const sizes = { contextTokens: depth, precision };
      const { keysAndValues } = estimate(checkpoint, sizes).activePerToken;
      for (const batch of workload.batches) {
        workload.onStage(`decode of ${batch} sequences after ${depth} tokens`);
        const steps = workload.generatedTokens;
        const times = await repeat(repetitions, () =>
          timeDecode(model, { batch, depth, steps, tokens, signal }),
        );
        const tokensPerSecond = rates(batch * steps, times);
        decode.push({
          ...{ batch, depthTokens: depth, generatedTokens: steps, tokensPerSecond },
          cacheBytesPerToken: keysAndValues,
        });
      }
    }
    // Kilobytes on every platform; read before measuring the bandwidth, which needs a large buffer.
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
      anonymousBytes,
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

/** Seconds for `steps` decode steps of `batch` sequences; each step decodes the tokens of the previous one. */
async function timeDecode(
  model: TextModel,
  run: {
    batch: number;
    depth: number;
    steps: number;
    tokens: (count: number) => Int32Array;
    signal: AbortSignal;
  },
): Promise<number> {
  const { batch, depth, steps, tokens, signal } = run;
  const { sequences, choices: first } = await acquireAt(model, { batch, depth, tokens, signal });
  let choices = first;
  try {
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

/** Runs once to record programs and to bring weights into memory, then `count` times. */
async function repeat(count: number, measure: () => Promise<number>): Promise<number[]> {
  await measure();
  const times: number[] = [];
  for (let index = 0; index < count; index += 1) times.push(await measure());
  return times;
}

/** Memory of this process that is not backed by a file; null if the system does not report it. */
async function readAnonymousBytes(): Promise<number | null> {
  const status = await readFile('/proc/self/status', 'utf8').catch(() => '');
  const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(status)?.[1];
  return kilobytes === undefined ? null : 1024 * Number(kilobytes);
}

function rates(tokens: number, seconds: readonly number[]): Spread {
  return spread(seconds.map((time) => tokens / time));
}
