/** Rows of a value: all tokens, the output rows, or rows of its own ('S'). */
export type Rows = 'T' | 'N' | 'S';

/** What the recorder knows of a value. A view shares the memory of its base. */
export interface ValueRecord {
  readonly id: number;
  readonly rows: Rows;
  readonly width: number;
  readonly maxRows: number;
  readonly view: { readonly base: number; readonly offset: number } | null;
}

/** Whatever holds the values of a recording, by their ids. */
export interface ValueTable {
  readonly values: readonly ValueRecord[];
}

/** The value that owns the memory of `id`. */
export function baseOf({ values }: ValueTable, id: number): number {
  return values[id]?.view?.base ?? id;
}

/** Elements between two rows of a value in memory. */
export function strideOf(table: ValueTable, id: number): number {
  return table.values[baseOf(table, id)]!.width;
}

/** Number of the row set of a value in device/step.h. */
export function rowSetCode({ values }: ValueTable, id: number): number {
  return values[id]!.rows === 'N' ? 1 : 0;
}
