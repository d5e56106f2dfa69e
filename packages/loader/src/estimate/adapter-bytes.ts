/** What an estimate needs of an opened adapter, such as `openAdapter` returns. */
export interface AdapterShape {
  /** The linears that it changes. */
  readonly modules: readonly {
    /** Canonical name of the linear. */
    readonly module: string;
    /** r */
    readonly rank: number;
    /** Out, rows of the linear's matrix. */
    readonly rows: number;
    /** In, columns of the linear's matrix. */
    readonly columns: number;
  }[];
}

/**
 * Memory of adapters that are applied without merging: float32 factors of every linear that one of them changes, for all of
 * them, with the largest rank among them.
 */
export function adapterBytes(adapters: readonly AdapterShape[]): number {
  const ranks = new Map<string, { rank: number; width: number }>();
  for (const { module, rank, rows, columns } of adapters.flatMap(({ modules }) => modules)) {
    ranks.set(module, { rank: Math.max(rank, ranks.get(module)?.rank ?? 0), width: rows + columns });
  }
  return Array.from(ranks.values()).reduce(
    (sum, { rank, width }) => sum + 4 * adapters.length * rank * width,
    0,
  );
}
