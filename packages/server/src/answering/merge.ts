/** An item of one of several sources. */
export interface Indexed<Item> {
  readonly index: number;
  readonly item: Item;
}

/**
 * Yields the items of several sources as they arrive. The other sources start after the first item of the first one, so
 * that they can reuse its work. An error in one source ends all of them.
 */
export async function* merge<Item>(
  sources: readonly (() => AsyncGenerator<Item, void, void>)[],
): AsyncGenerator<Indexed<Item>, void, void> {
  const running: AsyncGenerator<Item, void, void>[] = [];
  const next = new Map<number, Promise<{ index: number; result: IteratorResult<Item, void> }>>();
  const advance = (index: number) => {
    next.set(
      index,
      running[index]!.next().then((result) => ({ index, result })),
    );
  };
  const begin = (index: number) => {
    running[index] = sources[index]!();
    advance(index);
  };
  try {
    if (sources.length > 0) begin(0);
    while (next.size > 0) {
      const { index, result } = await Promise.race(next.values());
      if (running.length < sources.length) for (let other = 1; other < sources.length; other++) begin(other);
      if (result.done) {
        next.delete(index);
        continue;
      }
      advance(index);
      yield { index, item: result.value };
    }
  } finally {
    // A generator that is waiting for a step ends once that step is over; there is no need to wait for it here.
    for (const pending of next.values()) pending.catch(() => {});
    for (const source of running) source.return().catch(() => {});
  }
}
