import type { Axes, Axis, RowAxis } from './axes.js';

/** A symbolic activation [rows, width], float32 or the storage type of the program, known by its id while recording. */
export interface Value<R extends RowAxis | 'S', A extends Axis> extends Axes<[R, A]> {
  readonly id: number;
  readonly rows: R;
  /** Elements per row. */
  readonly width: number;
}
