import { types } from 'node:util';
import { type ByteRange, DisposedError, InvalidArgumentError } from '@markbase/core';
import { callNative, type NativeBuffer, type NativeDevice, nativeAddon } from './native.js';
import { fromNativeError } from './native-error.js';
import type { Ops } from './ops/ops.js';
import type { Program, RecordOptions } from './program.js';
import { RecordedProgram } from './recorded-program.js';
import { Recorder } from './recorder/recorder.js';

/** Memory that a device can read or write. */
export interface DeviceBuffer {
  readonly sizeBytes: number;
  /** Gives the memory back once no program uses it any more. */
  dispose(): void;
  [Symbol.dispose](): void;
}

/** Backends. `metal-sim` is the Metal backend on a simulated device. */
export type DeviceKind = 'cpu' | 'metal' | 'cuda' | 'metal-sim';

/** What a device is. */
export interface DeviceInfo {
  readonly kind: DeviceKind;
  /** Model of the processor. */
  readonly name: string;
  /** Instruction set in use, such as "avx512". */
  readonly isa: string;
  readonly threads: number;
  readonly totalMemoryBytes: number;
}

/** Options of `openDevice`. */
export interface OpenDeviceOptions {
  /** Default 'auto': the best that this machine and this build have. */
  readonly kind?: 'auto' | DeviceKind;
  /** Threads of the CPU backend, 1 to 256; default: all cores. */
  readonly threads?: number;
  /** CPU instruction set, one of `listIsas()`; default: the best, or MARKBASE_CPU_ISA. */
  readonly isa?: string;
}

/** A processor that runs recorded programs. Everything made by a device lives until it or the device is disposed. */
export interface Device extends Disposable {
  readonly info: DeviceInfo;
  /**
   * Maps a span of a file. The CPU reads it in place, on demand.
   * @throws FileAccessError when the file cannot be mapped, CorruptFileError when the span lies outside of it.
   */
  map(range: ByteRange): DeviceBuffer;
  /** Copies bytes to the device. */
  upload(bytes: Uint8Array, label: string): DeviceBuffer;
  /** Zeroed memory; pages are backed when they are first touched. @throws OutOfMemoryError */
  allocate(sizeBytes: number, label: string): DeviceBuffer;
  /** Runs `body` once to record a program, fuses and plans it, and hands it to the backend. */
  record(options: RecordOptions, body: (ops: Ops) => void): Program;
  dispose(): void;
}

const MAX_THREADS = 256;

/** Opens a device. @throws DeviceUnavailableError, NativeAddonLoadError */
export async function openDevice(options: OpenDeviceOptions = {}): Promise<Device> {
  const { kind = 'auto', threads = 0, isa = process.env.MARKBASE_CPU_ISA ?? '' } = options;
  checkThreads(threads);
  return new AddonDevice(callNative(() => nativeAddon().openDevice({ kind, threads, isa })));
}

/** CPU instruction sets that this build and this processor have, best last. */
export function listIsas(): string[] {
  return callNative(() => nativeAddon().listIsas());
}

/** Reads memory with `threads` threads as fast as they can; the roof of decoding speed. @throws OutOfMemoryError */
export async function measureReadBandwidth(threads: number): Promise<{ bytesPerSecond: number }> {
  checkThreads(threads);
  try {
    return { bytesPerSecond: await nativeAddon().measureReadBandwidth(threads) };
  } catch (error) {
    throw fromNativeError(error);
  }
}

function checkThreads(threads: number): void {
  if (Number.isInteger(threads) && threads >= 0 && threads <= MAX_THREADS) return;
  throw new InvalidArgumentError({
    argument: 'threads',
    expected: `an integer from 1 to ${MAX_THREADS}, or 0 for all cores`,
    received: threads,
  });
}

/** A buffer of the addon. */
export class AddonBuffer implements DeviceBuffer {
  readonly sizeBytes: number;
  #native: NativeBuffer | null;

  constructor(native: NativeBuffer) {
    this.#native = native;
    this.sizeBytes = native.sizeBytes;
  }

  /** The addon's object, for recording. @throws DisposedError */
  get native(): NativeBuffer {
    if (!this.#native) throw new DisposedError({ resource: 'buffer', operation: 'record' });
    return this.#native;
  }

  dispose(): void {
    this.#native?.dispose();
    this.#native = null;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}

class AddonDevice implements Device {
  readonly info: DeviceInfo;
  #native: NativeDevice | null;

  constructor(native: NativeDevice) {
    this.#native = native;
    this.info = Object.freeze({ ...native.info }) as DeviceInfo;
  }

  map(range: ByteRange): DeviceBuffer {
    const native = this.#open('map');
    return new AddonBuffer(callNative(() => native.map(range.path, range.offsetBytes, range.sizeBytes)));
  }

  upload(bytes: Uint8Array, label: string): DeviceBuffer {
    const native = this.#open('upload');
    if (!types.isUint8Array(bytes)) {
      throw new InvalidArgumentError({ argument: 'bytes', expected: 'a Uint8Array', received: typeof bytes });
    }
    return new AddonBuffer(callNative(() => native.upload(bytes, label)));
  }

  allocate(sizeBytes: number, label: string): DeviceBuffer {
    const native = this.#open('allocate');
    if (!Number.isSafeInteger(sizeBytes) || sizeBytes < 0) {
      throw new InvalidArgumentError({
        argument: 'sizeBytes',
        expected: 'a whole number >= 0',
        received: sizeBytes,
      });
    }
    return new AddonBuffer(callNative(() => native.allocate(sizeBytes, label)));
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
    const recorder = new Recorder({
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
