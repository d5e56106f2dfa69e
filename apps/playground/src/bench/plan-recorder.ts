import type { ByteRange } from '@markbase/core';
import type {
  Device,
  DeviceBuffer,
  DeviceInfo,
  Ops,
  Program,
  ProgramPlan,
  RecordOptions,
  StepInput,
  StepResult,
} from '@markbase/metal-runtime';

/** A device that hands everything on to another one, and keeps the plans of the programs recorded on it. */
export class PlanRecorder implements Device {
  readonly #device: Device;
  readonly #isDry: boolean;
  #lastPlan: ProgramPlan | null = null;

  /** @param options.isDry programs are recorded, but their steps are not run: each chooses token 0 */
  constructor(device: Device, options: { isDry: boolean }) {
    this.#device = device;
    this.#isDry = options.isDry;
  }

  get info(): DeviceInfo {
    return this.#device.info;
  }

  /** Plan of the program that was recorded last. */
  get lastPlan(): ProgramPlan | null {
    return this.#lastPlan;
  }

  map(range: ByteRange): DeviceBuffer {
    return this.#device.map(range);
  }

  upload(bytes: Uint8Array, label: string): DeviceBuffer {
    return this.#device.upload(bytes, label);
  }

  allocate(sizeBytes: number, label: string): DeviceBuffer {
    return this.#device.allocate(sizeBytes, label);
  }

  record(options: RecordOptions, body: (ops: Ops) => void): Program {
    const program = this.#device.record(options, body);
    this.#lastPlan = program.plan;
    return this.#isDry ? dryProgram(program) : program;
  }

  /** The device that is handed on to belongs to the caller: it stays open. */
  dispose(): void {}

  [Symbol.dispose](): void {}
}

function dryProgram(program: Program): Program {
  return {
    label: program.label,
    plan: program.plan,
    run: async (step: StepInput): Promise<StepResult> => {
      const count = step.outputRows.length;
      return {
        tokens: new Int32Array(count),
        logprobs: new Float32Array(count),
        topLogprobs: [],
        outputs: {},
      };
    },
    profile: () => program.profile(),
    dispose: () => program.dispose(),
    [Symbol.dispose]: () => program.dispose(),
  };
}
