import type { StepInput, StepResult } from './step.js';

/** What a program is recorded for. */
export interface RecordOptions {
  /** Names the program in errors and plans. */
  readonly label: string;
  /** Most rows T that a step may have. */
  readonly maxRows: number;
  /** Most output rows N. */
  readonly maxOutputs: number;
  /** 'high': float32 everywhere. 'fast': reduced precision where the backend gains from it. */
  readonly precision: 'high' | 'fast';
  /**
   * Chooses the kernels of products, and of attention where the backend has two: those that read weights and keys in order,
   * for a few rows, or those that work on tiles. They add in another order; a row has the same bits whatever other rows its
   * step has (on NVIDIA GPUs: in `high`). Default: by `maxRows`.
   */
  readonly rowCount?: 'few' | 'many';
  /** Names of fusions to leave out, or false for none at all. Default: all. */
  readonly fusions?: false | { without: readonly string[] };
  /** Looks for NaN and infinity after every command; a step then fails with NonFiniteError. Slow. */
  readonly checkFinite?: boolean;
  /**
   * Measures the time of every command, for `Program.profile`. Costs two clock reads a command, on Metal a command buffer
   * a command.
   */
  readonly profile?: boolean;
}

/** A recorded program: every kernel, buffer and offset is decided; a step only fills in what changes. */
export interface Program extends Disposable {
  readonly label: string;
  /**
   * Runs one step: one native call, one wait. Steps of a device run one after the other. A step that is aborted stops at
   * its next command; caches then hold a part of its rows.
   * @throws InvalidArgumentError, NonFiniteError (checkFinite), CorruptFileError (a mapped file shrank), DisposedError,
   * the signal's reason.
   */
  run(step: StepInput, options?: { read?: readonly string[]; signal?: AbortSignal }): Promise<StepResult>;
  /** What the program was lowered to. */
  readonly plan: ProgramPlan;
  /**
   * The launches of a step of `rows` rows and `outputs` output rows whose last position is `positions` - 1, exactly as they
   * are encoded; empty on backends that launch no kernels.
   */
  planStep(size: { rows: number; outputs: number; positions: number }): readonly PlannedDispatch[];
  /**
   * Milliseconds that each command took in all steps so far, by the GPU's own clock where a GPU ran it; zeros unless recorded
   * with `profile`.
   */
  profile(): { readonly label: string; readonly kernel: string; readonly milliseconds: number }[];
  dispose(): void;
}

/** One launch of a kernel in a step. */
export interface PlannedDispatch {
  readonly kernel: string;
  /** Index in `ProgramPlan.commands` of the command that it belongs to, and its label. */
  readonly command: number;
  readonly label: string;
  /** Threadgroups. */
  readonly groups: readonly [number, number, number];
  /** Threads a threadgroup. */
  readonly threads: number;
  readonly threadgroupBytes: number;
  /** It waits for the launches before it; those without run at the same time. */
  readonly hasBarrier: boolean;
  /** Bytes of the activations that it reads or writes, each counted once, however many threadgroups load it. */
  readonly activationBytes: number;
}

/** What a program was lowered to. */
export interface ProgramPlan {
  readonly commands: readonly {
    readonly label: string;
    readonly kernel: string;
    readonly phases: number;
    /** That this command reads of the weights; the sum is `ProgramPlan.weightBytes`. */
    readonly weightBytes: number;
  }[];
  /** Planned memory for activations. */
  readonly arenaBytes: number;
  /** Weight bytes that a step reads: every matrix once, of an embedding table one row. */
  readonly weightBytes: number;
}
