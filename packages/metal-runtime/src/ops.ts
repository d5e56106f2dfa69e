import type { FamilyOps } from '../families/nodes.js';
import type { Axis, RowAxis } from './axes.js';
import type { Value } from './value.js';

/** Operations outside the families: inputs and outputs of a program, views, and names. */
export interface PortOps {
  /**
   * A tensor [rows, A] that the caller passes with every step, by name. Rows 'S' are separate rows, up to `maxRows`.
   */
  input<R extends RowAxis | 'S', A extends Axis>(
    name: string,
    rows: R,
    width: { axis: A; size: number; maxRows?: number },
  ): Value<R, A>;

  /** Makes a value readable after the step: `run(step, { read: [name] })`. */
  output(name: string, value: Value<RowAxis, Axis>): void;

  /** Columns [begin, begin + width) of x, without a copy. */
  columns<R extends RowAxis, A extends Axis, To extends Axis>(
    x: Value<R, A>,
    range: { axis: To; begin: number; width: number },
  ): Value<R, To>;

  /** Runs `body`; everything it records has `name` in its label, which errors and `checkFinite` report. */
  scope<Result>(name: string, body: () => Result): Result;
}

/**
 * The vocabulary that model code records with. Every function checks its operands when it is called, appends to the
 * program and returns a symbolic value; nothing runs until `Program.run`. Models never fuse: the recorder does.
 */
export interface Ops extends PortOps, FamilyOps {}
