import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { DeviceUnavailableError, NativeAddonLoadError } from '@markbase/core';
import { addonAdvice, addonSystem } from './addon-advice.js';
import { fromNativeError } from './native-error.js';

/** Memory of a device; created by NativeDevice only. */
export interface NativeBuffer {
  readonly sizeBytes: number;
  dispose(): void;
}

/** An operand of a command: a buffer, or a range of the program's arena. */
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

/** Adjacent commands, from `first` on, that a backend may run as one. Merges are ordered and share no command. */
export interface NativeMerge {
  name: string;
  first: number;
  count: number;
}

/** Rows of a named input or output: 0 all rows, 1 output rows, 2 its own number of rows. */
export interface NativePort {
  name: string;
  arenaOffset: number;
  rowSet: number;
  maxRows: number;
  width: number;
  /** Elements between two rows. */
  stride: number;
}

/** A planned program in the form that the addon takes. */
export interface NativeProgramDescription {
  label: string;
  maxRows: number;
  maxOutputs: number;
  arenaBytes: number;
  checkFinite: boolean;
  measuresTime: boolean;
  commands: NativeCommand[];
  merges: NativeMerge[];
  inputs: NativePort[];
  outputs: NativePort[];
  /** Arena offsets of the sampler's results; null if the program does not sample. */
  sampler: { tokens: number; logprobs: number; topTokens: number; topLogprobs: number } | null;
}

/** Arrays of a step, already checked: see StepInput. Sampling is 16 numbers per output row, as in device/step.h. */
export interface NativeStep {
  tokens: Int32Array;
  layerTokens: Int32Array;
  softIndex: Int32Array;
  positions: Int32Array;
  /** Where the table of each row's sequence begins in `tables`; without caches, any number. */
  slots: Int32Array;
  tables: Int32Array;
  visibleEnd: Int32Array;
  outputRows: Int32Array;
  sampling: Float64Array;
  historyTokens: Int32Array;
  historyCounts: Int32Array;
  biasTokens: Int32Array;
  biasValues: Float32Array;
  allowedWords: Int32Array;
  /** With `values`, data are bytes that index these values. */
  inputs: { port: number; data: Float32Array | Uint8Array; values?: Float32Array }[];
  /** [1], read while the step runs: a value other than 0 stops the step before it starts or at its next command. */
  cancelFlag: Int32Array;
  /** Filled by the step. */
  sampled: Int32Array;
  logprobs: Float32Array;
  topTokens: Int32Array;
  topLogprobs: Float32Array;
  outputs: { port: number; data: Float32Array }[];
}

/** One launch of a kernel in a step. */
export interface NativeDispatch {
  kernel: string;
  command: number;
  groups: [number, number, number];
  threads: number;
  threadgroupBytes: number;
  hasBarrier: boolean;
  activationBytes: number;
}

/** A program that the addon prepared. */
export interface NativeProgram {
  readonly plan: { kernel: string; phases: number }[];
  /** Launches of a step, on backends that launch kernels; see Program.planStep. */
  planStep(rows: number, outputs: number, positions: number): NativeDispatch[];
  /** Seconds that each command took in all steps so far. */
  seconds(): Float64Array;
  run(step: NativeStep): Promise<void>;
  dispose(): void;
}

/** A device of the addon. */
export interface NativeDevice {
  readonly info: {
    kind: string;
    name: string;
    isa: string;
    threads: number;
    totalMemoryBytes: number;
    driver: string;
    note: string;
  };
  /** Of mapped files; zeros on devices that read them in place. */
  readonly uploads: { queuedBytes: number; arrivedBytes: number };
  map(path: string, offsetBytes: number, sizeBytes: number): NativeBuffer;
  upload(bytes: Uint8Array, label: string): NativeBuffer;
  allocate(sizeBytes: number, label: string): NativeBuffer;
  /** Copies pieces of allocated memory, at multiples of `pieceBytes`, side by side into `bytes`. No step may be running. */
  read(buffer: NativeBuffer, pieceBytes: number, indices: Int32Array, bytes: Uint8Array): void;
  /** Copies `bytes` to pieces of allocated memory. No step may be running. */
  write(buffer: NativeBuffer, pieceBytes: number, indices: Int32Array, bytes: Uint8Array): void;
  /** Throws if the device has its own memory and less than this is free. */
  requireMemory(sizeBytes: number, label: string): void;
  createProgram(description: NativeProgramDescription): NativeProgram;
  dispose(): void;
}

/** Everything that the addon exports; a test compares these keys with the loaded module. */
export interface NativeAddon {
  /** Version of this contract. */
  readonly abi: number;
  /** CPU instruction sets that this build and this processor support, best last. */
  listIsas(): string[];
  /** Stops running steps of this environment at their next command, and makes later ones fail. */
  shutDown(): void;
  openDevice(options: { kind: string; threads: number; isa: string }): NativeDevice;
  /** Bytes per second that `threads` threads read from memory. */
  measureReadBandwidth(threads: number): Promise<number>;
  /** Operations per second, two per product, that `threads` threads perform on registers; 0 = no such units. */
  measureMatmulPeak(threads: number): Promise<{ float32: number; bfloat16: number; int8: number }>;
}

const ABI = 9;

/** URL of this module, or of the file that a bundler put it into; in CommonJS there is no `import.meta`. */
const MODULE_URL = import.meta.url ?? pathToFileURL(__filename).href;
const require = createRequire(MODULE_URL);
const loaded = new Map<string, NativeAddon>();

/** Loads the addon once: the local build first, then the package of this platform. Keeps the reason of each failed attempt. */
export function nativeAddon(): NativeAddon {
  const known = loaded.get('markbase');
  if (known) return known;
  const platform = `${process.platform}-${process.arch}`;
  const attempts: string[] = [];
  // A build of another kind, such as one under a sanitizer, and no other.
  const { MARKBASE_ADDON: only } = process.env;
  for (const candidate of only ? [only] : [localBuild('markbase'), platformPackage(platform)]) {
    if (candidate === null) attempts.push('build/markbase.node: not built');
    const addon = candidate === null ? null : loadAddon('markbase', candidate, attempts);
    if (addon) return addon;
  }
  throw new NativeAddonLoadError({ platform, attempts, hint: addonAdvice(addonSystem()) });
}

/**
 * The addon whose Metal backend runs over a simulated GPU, for tests on machines without one.
 *
 * @throws DeviceUnavailableError if it was not built
 */
export function simulationAddon(): NativeAddon {
  const known = loaded.get('markbase-sim');
  if (known) return known;
  const attempts: string[] = [];
  // Another kind of build, such as one that measures coverage.
  const candidate = process.env.MARKBASE_SIM_ADDON ?? localBuild('markbase-sim');
  const addon = candidate && loadAddon('markbase-sim', candidate, attempts);
  if (addon) return addon;
  const reason =
    attempts[0] ?? 'it was not built: run "node packages/metal-sim/build.mjs" in a checkout (needs clang-19)';
  throw new DeviceUnavailableError({ device: 'metal-sim', reason });
}

function localBuild(name: string): string | null {
  const file = join(dirname(fileURLToPath(MODULE_URL)), `../build/${name}.node`);
  return existsSync(file) ? file : null;
}

/** The addon's file in the package of a platform, or the name of that package if it is not installed. */
function platformPackage(platform: string): string {
  const name = `@markbase/metal-runtime-${platform}`;
  // In a bundle, this module is not where its dependencies are; where pnpm installs, only the runtime finds them.
  for (const parent of [null, '@markbase/metal-runtime/package.json']) {
    try {
      return (parent === null ? require : createRequire(require.resolve(parent))).resolve(name);
    } catch {
      // Not installed there. Loading it below says why.
    }
  }
  return name;
}

/** Null if it cannot be loaded; the reason is added to `attempts`. */
function loadAddon(name: string, candidate: string, attempts: string[]): NativeAddon | null {
  try {
    const addon = require(candidate) as NativeAddon;
    if (addon.abi === ABI) {
      // The process waits for native work before it ends: a long step must not delay it.
      process.once('exit', () => addon.shutDown());
      loaded.set(name, addon);
      return addon;
    }
    attempts.push(`${candidate}: is version ${addon.abi} of the interface, expected ${ABI}`);
  } catch (error) {
    attempts.push(`${candidate}: ${(error as Error).message.split('\n')[0]}`);
  }
  return null;
}

/** Calls into the addon and turns its errors into typed ones. */
export function callNative<Result>(call: () => Result): Result {
  try {
    return call();
  } catch (error) {
    throw fromNativeError(error);
  }
}
