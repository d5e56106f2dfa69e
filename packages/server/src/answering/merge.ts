/** An item of one of several sources. */
export interface Indexed<Item> {
  readonly index: number;
  readonly item: Item;
}

/**
 * Gives the items of several sources as they come. The first source begins alone, and the others behind its first item, so
 * that they find its work done. One that fails ends all.
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
    // A generator that waits for a step ends once that step is over: nobody has to wait for it here.
    for (const pending of next.values()) pending.catch(() => {});
    for (const source of running) source.return().catch(() => {});
  }
}
