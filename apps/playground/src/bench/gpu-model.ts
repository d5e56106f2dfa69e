import type { PlannedDispatch } from '@markbase/metal-runtime';

/** Memory bandwidth of Apple chips in bytes per second, as published by Apple. */
const CHIPS: Readonly<Record<string, number>> = {
  M1: 68e9,
  'M1 Max': 400e9,
  M2: 100e9,
  'M2 Max': 400e9,
  M3: 100e9,
  'M3 Max': 400e9,
  M4: 120e9,
  'M4 Max': 546e9,
  M5: 153e9,
  'M5 Max': 614e9,
};

/** Published cost of a dispatch that waits for earlier ones, and of one that does not, in milliseconds. */
const SERIAL_MS = 1.3e-3;
const CONCURRENT_MS = 0.5e-3;

/** Bytes that a step reads, besides its launches. */
export interface StepBytes {
  /** Read by the step's commands: every matrix once, one row of each embedding table. */
  readonly weights: number;
  /** Tensors that one token uses, from the checkpoint's headers. */
  readonly tokenTensors: number;
  /** All tensors of the checkpoint. */
  readonly checkpoint: number;
  /** Keys and values that the rows of the step see. */
  readonly cache: number;
}

/** The formula of the prediction, in words. */
export const GPU_MODEL =
  `ms per step = (weightBytes + cacheBytes) / published bandwidth + ${1000 * SERIAL_MS} us per launch that waits, ` +
  `${1000 * CONCURRENT_MS} us per launch that does not; arithmetic is free, activations stay in caches`;

/**
 * Counts what a step costs on a GPU: its launches exactly as they are encoded, and a predicted time, not a measured
 * one. The prediction only counts memory and launches, so it is a lower bound, meant for steps with few rows.
 */
export function countDispatches(dispatches: readonly PlannedDispatch[], bytes: StepBytes, rows: number) {
  const barriers = dispatches.filter((dispatch) => dispatch.hasBarrier).length;
  const launchMs = barriers * SERIAL_MS + (dispatches.length - barriers) * CONCURRENT_MS;
  const stepMs = (bandwidth: number) => (1000 * (bytes.weights + bytes.cache)) / bandwidth + launchMs;
  const byChip = (value: (bandwidth: number) => number) =>
    Object.fromEntries(Object.entries(CHIPS).map(([chip, rate]) => [chip, Number(value(rate).toFixed(3))]));
  return {
    dispatches: dispatches.length,
    barriers,
    // The backend always runs a step in one command buffer and waits for it once.
    commandBuffers: 1,
    waits: 1,
    weightBytes: bytes.weights,
    weightBytesPerToken: bytes.weights / rows,
    tokenTensorBytes: bytes.tokenTensors,
    checkpointBytes: bytes.checkpoint,
    cacheBytes: bytes.cache,
    activationBytes: dispatches.reduce((sum, dispatch) => sum + dispatch.activationBytes, 0),
    model: GPU_MODEL,
    bytesPerSecond: CHIPS,
    predictedMsPerStep: byChip(stepMs),
    predictedMsPerToken: byChip((rate) => stepMs(rate) / rows),
    launches: dispatches,
  };
}
