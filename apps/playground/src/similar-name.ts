/**
 * The known name that a wrong one most likely means: one that differs in few letters, begins the same, or contains it.
 *
 * @returns null if none is near
 */
export function similarName(wrong: string, known: readonly string[]): string | null {
  const wanted = plain(wrong);
  if (wanted === '') return null;
  const rated = known.map((name) => ({ name, distance: distanceTo(wanted, plain(name)) }));
  rated.sort((a, b) => a.distance - b.distance || a.name.length - b.name.length);
  const [best] = rated;
  return best && best.distance <= Math.max(1, Math.floor(wanted.length / 3)) ? best.name : null;
}

/** Letters to change; a beginning or a part of at least three letters counts as one change. */
function distanceTo(wanted: string, name: string): number {
  const isPart = wanted.length >= 3 && name.includes(wanted);
  const letters = editDistance(wanted, name);
  if (!isPart) return letters;
  return Math.min(letters, name.startsWith(wanted) ? 0.5 : 1);
}

function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z\d]/g, '');
}

/** Letters to insert, remove, replace or swap with their neighbour. */
function editDistance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i++) {
    const [before, last] = [rows[i - 2], rows[i - 1]!];
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1);
      const isSwap = before && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwap ? before[j - 2]! + 1 : Number.POSITIVE_INFINITY;
      row.push(Math.min(replaced, swapped, last[j]! + 1, row[j - 1]! + 1));
    }
    rows.push(row);
  }
  return rows[a.length]![b.length]!;
}
