import { types } from 'node:util';
import {
  type ByteRange,
  checkOptionNames,
  DisposedError,
  InvalidArgumentError,
  type OptionNames,
} from '@markbase/core';
import { AddonBuffer } from './addon-buffer.js';
import { check } from './check.js';
import type { DeviceBuffer } from './device-buffer.js';
import {
  callNative,
  type NativeAddon,
  type NativeBuffer,
  type NativeDevice,
  nativeAddon,
  simulationAddon,
} from './native.js';
import { fromNativeError } from './native-error.js';
import type { Ops } from './ops.js';
import type { Program, RecordOptions } from './program.js';
import { RecordedProgram } from './recorded-program.js';
import { createRecorder } from './recorder/recorder.js';

/** Backends. `metal-sim` is the Metal backend on a simulated device. */
export type DeviceKind = 'cpu' | 'metal' | 'cuda' | 'metal-sim';

/** Properties of a device. */
export interface DeviceInfo {
  /** The backend that runs programs. */
  readonly kind: DeviceKind;
  /** Name of the processor or GPU. */
  readonly name: string;
  /** Instruction set in use, such as "avx512". */
  readonly isa: string;
  /** Threads of the processor that compute. */
  readonly threads: number;
  /** Memory of the machine, or of a GPU that has its own. */
  readonly totalMemoryBytes: number;
  /** Version of the driver, such as "CUDA 12.4"; null if there is none to report. */
  readonly driver: string | null;
  /** Why `auto` did not choose an existing GPU; null otherwise. */
  readonly note: string | null;
}

/** Progress of copying mapped files to the device's own memory, since the device was opened. */
export interface UploadCounts {
  /** Requested bytes, each range counted once, without those that could not be read. */
  readonly queuedBytes: number;
  /** How many of them have arrived in the device's memory. */
  readonly arrivedBytes: number;
}

/** Options of `openDevice`. */
export interface OpenDeviceOptions {
  /** Default 'auto': the best device that this machine and this build support. */
  readonly kind?: 'auto' | DeviceKind;
  /** Threads of the CPU backend, 1 to 256; default: all cores. */
  readonly threads?: number;
  /** CPU instruction set, one of `listIsas()`; default: the best, or MARKBASE_CPU_ISA. */
  readonly isa?: string;
}

/**
 * A processor that runs recorded programs. Everything that a device creates lives until it or the device is disposed.
 */
export interface Device extends Disposable {
  /** What the device is and what it can do. */
  readonly info: DeviceInfo;
  /**
   * Current progress of copying mapped files. Zero of zero on devices that read files in place, and after `dispose`.
   */
  readonly uploads: UploadCounts;
  /**
   * Maps a span of a file. The CPU and Metal read it in place, on demand. A CUDA device starts to copy it to its
   * memory, once; steps wait until it has arrived.
   * @throws FileAccessError if the file cannot be mapped, CorruptFileError if the span is outside the file,
   *   OutOfMemoryError
   */
  map(range: ByteRange): DeviceBuffer;
  /** Copies bytes to the device. */
  upload(bytes: Uint8Array, label: string): DeviceBuffer;
  /**
   * Allocates zeroed memory for programs. The CPU commits its pages on first use. @throws OutOfMemoryError
   */
  allocate(sizeBytes: number, label: string): DeviceBuffer;
  /**
   * Copies pieces of allocated memory to the host. No step may be running.
   *
   * @param buffer of `allocate`
   * @param indices of the pieces, each `bytes.length / indices.length` bytes long, a multiple of 4, and at a multiple of that
   * @param bytes receives the pieces side by side
   * @throws InvalidArgumentError for pieces outside the buffer; DeviceError
   */
  read(buffer: DeviceBuffer, indices: Int32Array, bytes: Uint8Array): void;
  /** Copies `bytes` to pieces of allocated memory; see `read`. */
  write(buffer: DeviceBuffer, indices: Int32Array, bytes: Uint8Array): void;
  /**
   * Checks before loading whether this much memory is free. Devices that read weights in place need none.
   * @throws OutOfMemoryError with both figures
   */
  requireMemory(sizeBytes: number, label: string): void;
  /** Runs `body` once to record a program, then fuses and plans it and passes it to the backend. */
  record(options: RecordOptions, body: (ops: Ops) => void): Program;
  /** Closes the device. Models on it must be disposed first; a second call does nothing. */
  dispose(): void;
}

const OPTIONS: OptionNames<OpenDeviceOptions> = { kind: true, threads: true, isa: true };
const MAX_THREADS = 256;
const KINDS: readonly ('auto' | DeviceKind)[] = ['auto', 'cpu', 'metal', 'cuda', 'metal-sim'];

/** Opens a device. @throws InvalidArgumentError, DeviceUnavailableError, NativeAddonLoadError */
export async function openDevice(options: OpenDeviceOptions = {}): Promise<Device> {
  checkOptionNames(options, OPTIONS);
  const { kind = 'auto', threads = 0, isa = process.env.MARKBASE_CPU_ISA ?? '' } = options;
  check((KINDS as readonly unknown[]).includes(kind), 'kind', `one of ${KINDS.join(', ')}`, kind);
  check(typeof isa === 'string', 'isa', 'the name of an instruction set', isa);
  checkThreads(threads);
  const isOfCpu = kind === 'auto' || kind === 'cpu';
  if (isOfCpu && options.isa === undefined && isa !== '') {
    const known = listIsas();
    check(known.includes(isa), 'MARKBASE_CPU_ISA', `one of ${known.join(', ')}, or an unset variable`, isa);
  }
  return new AddonDevice(callNative(() => addonFor(kind).openDevice({ kind, threads, isa })));
}

function addonFor(kind: string): NativeAddon {
  return kind === 'metal-sim' ? simulationAddon() : nativeAddon();
}

/**
 * A device that plans programs for a kind of GPU without running them; see `Program.planStep`. It works on any machine.
 * `metal-sim` plans the same as `metal`, with the simulator's addon; `cuda` plans for an H200.
 */
export async function openPlanDevice(kind: 'metal' | 'metal-sim' | 'cuda'): Promise<Device> {
  check(['metal', 'metal-sim', 'cuda'].includes(kind), 'kind', 'metal, metal-sim or cuda', kind);
  const plan = { kind: kind === 'cuda' ? 'cuda-plan' : 'metal-plan', threads: 0, isa: '' };
  return new AddonDevice(callNative(() => addonFor(kind).openDevice(plan)));
}

/** CPU instruction sets that this build and this processor support, best last. */
export function listIsas(): string[] {
  return callNative(() => nativeAddon().listIsas());
}

/** Measures how fast `threads` threads read memory; the upper limit of decoding speed. @throws OutOfMemoryError */
export async function measureReadBandwidth(threads: number): Promise<{ bytesPerSecond: number }> {
  checkThreads(threads);
  try {
    return { bytesPerSecond: await nativeAddon().measureReadBandwidth(threads) };
  } catch (error) {
    throw fromNativeError(error);
  }
}

/**
 * Operations per second, two per product, of the units that compute matrix products; 0 if the processor lacks a unit.
 */
export interface MatmulPeak {
  /** Of float32. */
  readonly float32: number;
  /** Of bfloat16, with float32 sums. */
  readonly bfloat16: number;
  /** Of 8-bit integers, with 32-bit sums. */
  readonly int8: number;
}

/**
 * Measures products of registers with `threads` threads, without loads: the upper limit of every matrix product. Counts
 * processor seconds, so that other programs do not lower the result.
 */
export async function measureMatmulPeak(threads: number): Promise<MatmulPeak> {
  checkThreads(threads);
  try {
    return await nativeAddon().measureMatmulPeak(threads);
  } catch (error) {
    throw fromNativeError(error);
  }
}

function checkBytes(argument: string, count: number): void {
  check(Number.isSafeInteger(count) && count >= 0, argument, 'a whole number >= 0', count);
}

/** The addon's buffer, and the size of a piece. */
function checkedPieces(
  native: NativeDevice,
  buffer: DeviceBuffer,
  indices: Int32Array,
  bytes: Uint8Array,
): [NativeBuffer, number] {
  if (!(buffer instanceof AddonBuffer && buffer.owner === native && buffer.isAllocated)) {
    throw new InvalidArgumentError({
      argument: 'buffer',
      expected: 'memory that `allocate` of this device returned',
      received: 'another buffer',
    });
  }
  if (indices.length === 0) return [buffer.native, 0];
  return [buffer.native, bytes.length / indices.length];
}

function checkLabel(label: string): void {
  check(typeof label === 'string', 'label', 'a text', label);
}

function checkThreads(threads: number): void {
  if (Number.isInteger(threads) && threads >= 0 && threads <= MAX_THREADS) return;
  throw new InvalidArgumentError({
    argument: 'threads',
    expected: `an integer from 1 to ${MAX_THREADS}, or 0 for all cores`,
    received: threads,
  });
}

class AddonDevice implements Device {
  readonly info: DeviceInfo;
  #native: NativeDevice | null;

  constructor(native: NativeDevice) {
    this.#native = native;
    const { driver, note, ...info } = native.info;
    this.info = Object.freeze({ ...info, driver: driver || null, note: note || null }) as DeviceInfo;
  }

  get uploads(): UploadCounts {
    return this.#native?.uploads ?? { queuedBytes: 0, arrivedBytes: 0 };
  }

  map(range: ByteRange): DeviceBuffer {
    const native = this.#open('map');
    check(typeof range?.path === 'string', 'range.path', 'a path', range?.path);
    checkBytes('range.offsetBytes', range.offsetBytes);
    checkBytes('range.sizeBytes', range.sizeBytes);
    return new AddonBuffer(
      native,
      callNative(() => native.map(range.path, range.offsetBytes, range.sizeBytes)),
    );
  }

  upload(bytes: Uint8Array, label: string): DeviceBuffer {
    const native = this.#open('upload');
    check(types.isUint8Array(bytes), 'bytes', 'a Uint8Array', typeof bytes);
    checkLabel(label);
    return new AddonBuffer(
      native,
      callNative(() => native.upload(bytes, label)),
    );
  }

  allocate(sizeBytes: number, label: string): DeviceBuffer {
    const native = this.#open('allocate');
    checkBytes('sizeBytes', sizeBytes);
    checkLabel(label);
    return new AddonBuffer(
      native,
      callNative(() => native.allocate(sizeBytes, label)),
      true,
    );
  }

  read(buffer: DeviceBuffer, indices: Int32Array, bytes: Uint8Array): void {
    const native = this.#open('read');
    const [from, pieceBytes] = checkedPieces(native, buffer, indices, bytes);
    if (pieceBytes > 0) callNative(() => native.read(from, pieceBytes, indices, bytes));
  }

  write(buffer: DeviceBuffer, indices: Int32Array, bytes: Uint8Array): void {
    const native = this.#open('write');
    const [to, pieceBytes] = checkedPieces(native, buffer, indices, bytes);
    if (pieceBytes > 0) callNative(() => native.write(to, pieceBytes, indices, bytes));
  }

  requireMemory(sizeBytes: number, label: string): void {
    const native = this.#open('requireMemory');
    checkBytes('sizeBytes', sizeBytes);
    checkLabel(label);
    callNative(() => native.requireMemory(sizeBytes, label));
  }

  record(options: RecordOptions, body: (ops: Ops) => void): Program {
    const native = this.#open('record');
    for (const name of ['maxRows', 'maxOutputs'] as const) {
      if (!Number.isInteger(options[name]) || options[name] < (name === 'maxRows' ? 1 : 0)) {
        throw new InvalidArgumentError({
          argument: name,
          expected: 'a whole number',
          received: options[name],
        });
      }
    }
    const recorder = createRecorder({
      maxRows: options.maxRows,
      maxOutputs: options.maxOutputs,
      upload: (bytes, label) => this.upload(bytes, label),
    });
    body(recorder);
    return new RecordedProgram(native, recorder.graph, options);
  }

  dispose(): void {
    this.#native?.dispose();
    this.#native = null;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }

  #open(operation: string): NativeDevice {
    if (!this.#native) throw new DisposedError({ resource: 'device', operation });
    return this.#native;
  }
}
