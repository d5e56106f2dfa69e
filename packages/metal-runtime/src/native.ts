import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { NativeAddonLoadError } from '@markbase/core';
import { fromNativeError } from './native-error.js';

/** Memory of a device; created by NativeDevice only. */
export interface NativeBuffer {
  readonly sizeBytes: number;
  dispose(): void;
}

/** An operand of a command: a buffer, or a place in the program's arena. */
export type NativeOperand =
  | { buffer: NativeBuffer; isOutput: boolean }
  | { arenaOffset: number; sizeBytes: number; isOutput: boolean }
  | null;

/** A command of a program: kernel family, label for errors, numbers of its parameter struct, operands in binding order. */
export interface NativeCommand {
  family: string;
  label: string;
  attributes: Record<string, number>;
  operands: NativeOperand[];
}

/** Rows that a named input or output has: 0 all rows, 1 output rows, 2 rows of its own. */
export interface NativePort {
  name: string;
  arenaOffset: number;
  rowSet: number;
  maxRows: number;
  width: number;
  /** Elements between two rows. */
  stride: number;
}

/** A planned program, as the addon takes it. */
export interface NativeProgramDescription {
  label: string;
  maxRows: number;
  maxOutputs: number;
  arenaBytes: number;
  checkFinite: boolean;
  measuresTime: boolean;
  commands: NativeCommand[];
  inputs: NativePort[];
  outputs: NativePort[];
  /** Arena offsets of the sampler's results; null when the program does not sample. */
  sampler: { tokens: number; logprobs: number; topTokens: number; topLogprobs: number } | null;
}

/** Arrays of a step, checked before: see StepInput. Sampling is 13 numbers an output row, as in device/step.h. */
export interface NativeStep {
  tokens: Int32Array;
  layerTokens: Int32Array;
  softIndex: Int32Array;
  positions: Int32Array;
  slots: Int32Array;
  visibleEnd: Int32Array;
  outputRows: Int32Array;
  sampling: Float64Array;
  historyTokens: Int32Array;
  historyCounts: Int32Array;
  inputs: { port: number; data: Float32Array }[];
  /** [1], read while the step runs: once it is not 0, the step stops before it starts, or at its next command. */
  cancelFlag: Int32Array;
  /** Filled by the step. */
  sampled: Int32Array;
  logprobs: Float32Array;
  topTokens: Int32Array;
  topLogprobs: Float32Array;
  outputs: { port: number; data: Float32Array }[];
}

/** A program that the addon prepared. */
export interface NativeProgram {
  readonly plan: { kernel: string; phases: number }[];
  /** Seconds that each command took in all steps so far. */
  seconds(): Float64Array;
  run(step: NativeStep): Promise<void>;
  dispose(): void;
}

/** A device of the addon. */
export interface NativeDevice {
  readonly info: { kind: string; name: string; isa: string; threads: number; totalMemoryBytes: number };
  map(path: string, offsetBytes: number, sizeBytes: number): NativeBuffer;
  upload(bytes: Uint8Array, label: string): NativeBuffer;
  allocate(sizeBytes: number, label: string): NativeBuffer;
  createProgram(description: NativeProgramDescription): NativeProgram;
  dispose(): void;
}

/** Everything that the addon exports; a test compares these keys with the loaded module. */
export interface NativeAddon {
  /** Version of this contract. */
  readonly abi: number;
  /** CPU instruction sets that this build and this processor have, best last. */
  listIsas(): string[];
  /** Makes running steps of this environment stop at their next command, and later ones fail. */
  shutDown(): void;
  openDevice(options: { kind: string; threads: number; isa: string }): NativeDevice;
  /** Bytes per second that `threads` threads read from memory. */
  measureReadBandwidth(threads: number): Promise<number>;
}

const ABI = 3;

let loaded: NativeAddon | null = null;

/** Loads the addon once: the local build first, then the package of this platform. Keeps why each try failed. */
export function nativeAddon(): NativeAddon {
  if (loaded) return loaded;
  const platform = `${process.platform}-${process.arch}`;
  const require = createRequire(import.meta.url);
  const attempts: string[] = [];
  const local = fileURLToPath(new URL('../build/markbase.node', import.meta.url));
  for (const candidate of [existsSync(local) ? local : null, `@markbase/metal-runtime-${platform}`]) {
    if (candidate === null) {
      attempts.push('build/markbase.node: not built');
      continue;
    }
    try {
      const addon = require(candidate) as NativeAddon;
      if (addon.abi === ABI) {
        // The process waits for native work before it ends: let a long step not hold it up.
        process.once('exit', () => addon.shutDown());
        loaded = addon;
        return addon;
      }
      attempts.push(`${candidate}: is version ${addon.abi} of the interface, expected ${ABI}`);
    } catch (error) {
      attempts.push(`${candidate}: ${(error as Error).message.split('\n')[0]}`);
    }
  }
  const hint =
    `Install the package of this platform (npm i @markbase/metal-runtime-${platform}), or build it from a checkout ` +
    '(pnpm build; needs cmake and a C++20 compiler).';
  throw new NativeAddonLoadError({ platform, attempts, hint });
}

/** Calls into the addon and turns its errors into typed ones. */
export function callNative<Result>(call: () => Result): Result {
  try {
    return call();
  } catch (error) {
    throw fromNativeError(error);
  }
}
