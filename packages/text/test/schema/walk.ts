import type { Matcher, Place } from '../../src/constraint/matcher.js';

/** A generator of numbers in [0, 1), the same for the same seed (mulberry32). */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
}

/** A text of a grammar: random for this many bytes, then the shortest way to an end. */
export function walk(matcher: Matcher, random: () => number, wanderBytes: number): string {
  const bytes: number[] = [];
  let place = matcher.start;
  for (;;) {
    const isWandering = bytes.length < wanderBytes;
    if (matcher.isEnd(place) && (!isWandering || random() < 0.3)) return Buffer.from(bytes).toString('utf8');
    const next = isWandering ? anyOf(matcher, place, random) : cheapestOf(matcher, place);
    // The end, with no possible continuation.
    if (!next) return Buffer.from(bytes).toString('utf8');
    bytes.push(next.byte);
    place = next.place;
  }
}

interface Next {
  readonly byte: number;
  readonly place: Place;
}

/** A byte that may follow. Punctuation is as frequent as all letters, so that texts end and numbers have points. */
function anyOf(matcher: Matcher, place: Place, random: () => number): Next | null {
  const nexts: Next[] = [];
  for (let byte = 0; byte < 256; byte++) {
    const next = matcher.advance(place, byte);
    if (next) nexts.push({ byte, place: next });
  }
  const signs = nexts.filter(({ byte }) => '"\\{}[],:.-+eE'.includes(String.fromCharCode(byte)));
  const from = signs.length > 0 && random() < 0.4 ? signs : nexts;
  return from[Math.floor(random() * from.length)] ?? null;
}

function cheapestOf(matcher: Matcher, place: Place): Next | null {
  let best: Next | null = null;
  for (let byte = 0; byte < 256; byte++) {
    const next = matcher.advance(place, byte);
    if (next && (!best || matcher.costOf(next) < matcher.costOf(best.place))) best = { byte, place: next };
  }
  return best;
}
