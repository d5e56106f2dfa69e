import type { StepInput, StepResult } from './step.js';

/** Options for recording a program. */
export interface RecordOptions {
  /** Names the program in errors and plans. */
  readonly label: string;
  /** Maximum number of rows T in a step. */
  readonly maxRows: number;
  /** Maximum number of output rows N. */
  readonly maxOutputs: number;
  /** 'high': float32 everywhere. 'fast': reduced precision where the backend benefits from it. */
  readonly precision: 'high' | 'fast';
  /**
   * Selects the kernels of products, and of attention if the backend has two: kernels that read weights and keys in
   * order, for a few rows, or kernels that work on tiles. They add in different orders; a row has the same bits
   * regardless of the other rows in its step. Default: by `maxRows`. On NVIDIA GPUs, which promise equal bits only in
   * `high`, it selects kernels of attention; those of products in `fast` follow from the rows of each step.
   */
  readonly kernelsFor?: 'few-rows' | 'many-rows';
  /**
   * Fusions to disable, or false to disable all: then no launch of a GPU does the work of two commands either. Default: none
   * disabled.
   */
  readonly fusions?: false | { without: readonly string[] };
  /** Checks for NaN and infinity after every command; a step then fails with NonFiniteError. Slow. */
  readonly checkFinite?: boolean;
  /**
   * Measures the time of every command for `Program.profile`. Costs two clock reads per command, on Metal a command
   * buffer per command.
   */
  readonly profile?: boolean;
}

/** A recorded program: kernels, buffers and offsets are fixed; a step only supplies what changes. */
export interface Program extends Disposable {
  /** Name in messages and measurements. */
  readonly label: string;
  /**
   * Runs one step: one native call, one wait. Steps of a device run one after the other. An aborted step stops at its
   * next command; the caches then hold some of its rows.
   * @throws InvalidArgumentError, NonFiniteError (checkFinite), CorruptFileError (a mapped file shrank), DisposedError,
   *   the signal's reason
   */
  run(step: StepInput, options?: { read?: readonly string[]; signal?: AbortSignal }): Promise<StepResult>;
  /** What the program was lowered to. */
  readonly plan: ProgramPlan;
  /**
   * The launches of a step with `rows` rows and `outputs` output rows whose last position is `positions` - 1, exactly
   * as encoded; empty on backends that do not launch kernels.
   */
  planStep(size: { rows: number; outputs: number; positions: number }): readonly PlannedDispatch[];
  /**
   * Milliseconds that each command took in all steps so far, by the GPU's own clock if it ran there; zeros unless
   * recorded with `profile`.
   */
  profile(): { readonly label: string; readonly kernel: string; readonly milliseconds: number }[];
  /** Frees the program; weights and caches stay. */
  dispose(): void;
}

/** One launch of a kernel in a step. */
export interface PlannedDispatch {
  /** Name of the kernel. */
  readonly kernel: string;
  /** Index of its command in `ProgramPlan.commands`, and the label of that command. */
  readonly command: number;
  /** The command that it belongs to. */
  readonly label: string;
  /** Number of threadgroups. */
  readonly groups: readonly [number, number, number];
  /** Threads per threadgroup. */
  readonly threads: number;
  /** Threadgroup memory in bytes. */
  readonly threadgroupBytes: number;
  /** True if it waits for earlier launches; launches without a barrier run concurrently. */
  readonly hasBarrier: boolean;
  /** Bytes of the activations that it reads or writes, each counted once, however many threadgroups load them. */
  readonly activationBytes: number;
}

/** What a program was lowered to. */
export interface ProgramPlan {
  /** The commands in the order of execution. */
  readonly commands: readonly {
    /** Name of the operation and what it computes. */
    readonly label: string;
    /** The kernel that runs it. */
    readonly kernel: string;
    /** Phases of the kernel, with a barrier between them. */
    readonly phases: number;
    /** Weight bytes that this command reads; the sum is `ProgramPlan.weightBytes`. */
    readonly weightBytes: number;
  }[];
  /** Planned memory for activations. */
  readonly arenaBytes: number;
  /** Weight bytes that a step reads: every matrix once, one row of each embedding table. */
  readonly weightBytes: number;
}
