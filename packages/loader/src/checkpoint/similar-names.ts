/** Missing names that are compared: a message shows no more of them. */
const MAX_MISSING = 5;
/** Most changes between two names that are called similar; see `distance`. */
const MAX_DISTANCE = 2;

/**
 * Names that may be misspellings of missing ones, as `found for missing`: names that share their numbers and differ in at
 * most two parts, or in the spelling of one.
 *
 * @param unused names that nothing has requested
 */
export function similarNames(missing: readonly string[], unused: readonly string[]): string[] {
  return missing.slice(0, MAX_MISSING).flatMap((name) => {
    const wanted = name.split('.');
    let best: string | null = null;
    let least = MAX_DISTANCE + 1;
    for (const candidate of unused) {
      const parts = candidate.split('.');
      if (parts.at(-1)![0] !== wanted.at(-1)![0] || numbersOf(parts) !== numbersOf(wanted)) continue;
      const changes = distance(wanted, parts);
      if (changes < least) [best, least] = [candidate, changes];
    }
    return best === null ? [] : [`${best} for ${name}`];
  });
}

function numbersOf(parts: readonly string[]): string {
  return parts.filter((part) => /^\d+$/.test(part)).join('.');
}

/** Parts that must be added or removed; parts of which one begins with the other, such as `scale` and `scales`, count half. */
function distance(a: readonly string[], b: readonly string[]): number {
  let row = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (const [index, part] of a.entries()) {
    const next = [index + 1];
    for (const [column, other] of b.entries()) {
      const isNear = part.startsWith(other) || other.startsWith(part);
      const change = part === other ? 0 : isNear ? 0.5 : 2;
      next.push(Math.min(row[column]! + change, row[column + 1]! + 1, next[column]! + 1));
    }
    row = next;
  }
  return row.at(-1)!;
}
