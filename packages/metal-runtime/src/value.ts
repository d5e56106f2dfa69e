import type { Axes, Axis, RowAxis } from './axes.js';

/** A symbolic activation [rows, width], float32 or the storage type of the program, known by its id while recording. */
export interface Value<R extends RowAxis | 'S', A extends Axis> extends Axes<[R, A]> {
  /** Index in the recorded graph. */
  readonly id: number;
  /** The set of rows that the value has. */
  readonly rows: R;
  /** Elements per row. */
  readonly width: number;
}
