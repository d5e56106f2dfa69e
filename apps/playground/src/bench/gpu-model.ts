import type { PlannedDispatch } from '@markbase/metal-runtime';

/** Memory bandwidth of Apple chips as Apple states it, bytes a second. */
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

/** Published costs of a dispatch that waits for those before it, and of one that does not, in milliseconds. */
const SERIAL_MS = 1.3e-3;
const CONCURRENT_MS = 0.5e-3;

/** Bytes that a step touches, beside the launches themselves. */
export interface StepBytes {
  /** Read by the step's commands: every matrix once, of an embedding table one row. */
  readonly weights: number;
  /** Of the tensors that one token uses, from the headers of the checkpoint. */
  readonly tokenTensors: number;
  /** Of all tensors of the checkpoint. */
  readonly checkpoint: number;
  /** Keys and values that the rows of the step see. */
  readonly cache: number;
}

/** The rules of the prediction, in words. */
export const GPU_MODEL =
  `ms a step = (weightBytes + cacheBytes) / stated bandwidth + ${1000 * SERIAL_MS} us for a launch that waits, ` +
  `${1000 * CONCURRENT_MS} us for one that does not; products cost nothing, activations stay in caches`;

/**
 * What a step costs a GPU, counted: the launches exactly as they are encoded, and a prediction that nobody measured. It says
 * what memory and launches alone allow, so that it is a floor: it is meant for steps of few rows.
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
    // One command buffer a step, and one wait for it: the backend has no other way to run one.
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
