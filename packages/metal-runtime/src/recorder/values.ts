/** Rows of a value: all tokens, the output rows, or separate rows ('S'). */
export type Rows = 'T' | 'N' | 'S';

/** What the recorder knows about a value. A view shares the memory of its base. */
export interface ValueRecord {
  readonly id: number;
  readonly rows: Rows;
  readonly width: number;
  readonly maxRows: number;
  readonly view: { readonly base: number; readonly offset: number } | null;
}

/** Holds the values of a recording by their ids. */
export interface ValueTable {
  readonly values: readonly ValueRecord[];
}

/** The value that owns the memory of `id`. */
export function baseOf({ values }: ValueTable, id: number): number {
  return values[id]?.view?.base ?? id;
}

/** Number of elements from one row of a value to the next in memory. */
export function strideOf(table: ValueTable, id: number): number {
  return table.values[baseOf(table, id)]!.width;
}

/** The number of a value's row set in device/step.h. */
export function rowSetCode({ values }: ValueTable, id: number): number {
  return values[id]!.rows === 'N' ? 1 : 0;
}
