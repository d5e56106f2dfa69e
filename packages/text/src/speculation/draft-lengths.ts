/** What is known of a row before anything is guessed for it. */
export interface DraftProspect {
  /** Probability that a guess is right if those before it are. */
  readonly acceptance: number;
  /** Most tokens that the source can guess. */
  readonly reach: number;
  /** The source that guesses; rows of one source are guessed together. */
  readonly source: object;
  /** Milliseconds that the source takes per token. */
  readonly tokenMs: number;
}

/** A gain below this is noise. */
const LEAST_GAIN = 1.02;

/**
 * How many tokens to guess for each row, so that the step yields the most tokens per time. The most probable guess is added
 * first, of whatever row it is.
 *
 * @param prospects one per row; null = nothing is guessed for this row
 * @param stepMs expected milliseconds of a step, by its number of rows
 * @param maxRows maximum number of rows in the step
 */
export function draftLengths(
  prospects: readonly (DraftProspect | null)[],
  stepMs: (rows: number) => number,
  maxRows: number,
): number[] {
  const lengths = prospects.map(() => 0);
  const odds = prospects.map((prospect) => prospect?.acceptance ?? 0);
  let rows = prospects.length;
  let tokens = rows;
  let best = { rate: (LEAST_GAIN * tokens) / stepMs(rows), lengths: [...lengths] };
  while (rows < maxRows) {
    let next = -1;
    for (const [row, prospect] of prospects.entries()) {
      if (!prospect || lengths[row]! >= prospect.reach) continue;
      if (next < 0 || odds[row]! > odds[next]!) next = row;
    }
    if (next < 0 || odds[next]! <= 0) break;
    tokens += odds[next]!;
    odds[next]! *= prospects[next]!.acceptance;
    lengths[next]!++;
    rows++;
    const rate = tokens / (stepMs(rows) + guessMs(prospects, lengths));
    if (rate > best.rate) best = { rate, lengths: [...lengths] };
  }
  return best.lengths;
}

/** Rows of one source are guessed together, token by token. */
function guessMs(prospects: readonly (DraftProspect | null)[], lengths: readonly number[]): number {
  const longest = new Map<object, number>();
  for (const [row, prospect] of prospects.entries()) {
    if (!prospect) continue;
    const ms = prospect.tokenMs * lengths[row]!;
    longest.set(prospect.source, Math.max(longest.get(prospect.source) ?? 0, ms));
  }
  return [...longest.values()].reduce((sum, ms) => sum + ms, 0);
}
