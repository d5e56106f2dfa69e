/** A repeatable source of random numbers (mulberry32). */
export function seededRandom(seed) {
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
  const integer = (low, high) => low + Math.floor(next() * (high - low + 1));
  return { next, integer, pick: (items) => items[integer(0, items.length - 1)] };
}
