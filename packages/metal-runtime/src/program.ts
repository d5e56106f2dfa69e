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
  /** Names of fusions to leave out, or false for none at all. Default: all. */
  readonly fusions?: false | { without: readonly string[] };
  /** Looks for NaN and infinity after every command; a step then fails with NonFiniteError. Slow. */
  readonly checkFinite?: boolean;
  /** Measures the time of every command, for `Program.profile`. Costs two clock reads a command. */
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
  /** Milliseconds that each command took in all steps so far; zeros unless recorded with `profile`. */
  profile(): { readonly label: string; readonly kernel: string; readonly milliseconds: number }[];
  dispose(): void;
}

/** What a program was lowered to. */
export interface ProgramPlan {
  readonly commands: readonly { readonly label: string; readonly kernel: string; readonly phases: number }[];
  /** Planned memory for activations. */
  readonly arenaBytes: number;
  /** Weight bytes that a step reads: every matrix once, of an embedding table one row. */
  readonly weightBytes: number;
}
