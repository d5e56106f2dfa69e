import { generate } from './generate.js';
import { judge } from './judge.js';
import { mutate } from './mutate.js';
import { Random } from './random.js';

/** Findings of a run so far. */
export interface Exploration {
  readonly executions: number;
  readonly corpusSize: number;
  readonly branchesReached: number;
  readonly verdicts: Readonly<Record<'accepted' | 'refused' | 'stricter', number>>;
  readonly findings: readonly { readonly finding: string; readonly file: Uint8Array }[];
}

/** When to stop, and callbacks. */
export interface ExploreOptions {
  readonly seed: number;
  readonly seeds: readonly Uint8Array[];
  /**
   * Counters of taken branches; a file that takes new ones, or takes them more often, is kept. Without counters, only the seeds are
   * mutated.
   */
  readonly branches?: Uint8Array;
  /** Called before each file. */
  readonly isDone: (state: Exploration) => boolean;
  /** Called with each file before it is read, so that a file that never ends is known. */
  readonly onFile?: (file: Uint8Array) => void;
}

const MAX_FINDINGS = 20;

/** Mutates files, reads them, and keeps those that reach new code for further mutation. */
export async function explore(options: ExploreOptions): Promise<Exploration> {
  const { seeds, branches = new Uint8Array(0), isDone, onFile } = options;
  const random = new Random(options.seed);
  const corpus = [...seeds];
  const seen = new Uint8Array(branches.length);
  const verdicts = { accepted: 0, refused: 0, stricter: 0 };
  const findings: { finding: string; file: Uint8Array }[] = [];
  let executions = 0;
  let branchesReached = 0;
  const state = (): Exploration => ({
    executions,
    corpusSize: corpus.length,
    branchesReached,
    verdicts,
    findings,
  });
  while (findings.length < MAX_FINDINGS && !isDone(state())) {
    // The seeds themselves first; later, the younger half of the corpus twice as often.
    const from = random.below(3) === 0 ? 0 : corpus.length >> 1;
    const parent = corpus[from + random.below(corpus.length - from)]!;
    const base = random.below(3) === 0 ? generate(random) : parent;
    const mutant = random.below(4) === 0 ? base : mutate(base, random.pick(corpus), random);
    const file = seeds[executions] ?? mutant;
    onFile?.(file);
    branches.fill(0);
    const verdict = await judge(file);
    executions++;
    if (typeof verdict === 'string') verdicts[verdict]++;
    else findings.push({ finding: verdict.finding, file });
    let isNew = false;
    for (let i = 0; i < branches.length; i++) {
      const count = branches[i]!;
      if (count === 0) continue;
      // Counts are grouped by powers of two, one bit each: a loop that runs slightly more often is not new.
      const bit = 1 << (31 - Math.clz32(count));
      if ((seen[i]! & bit) !== 0) continue;
      if (seen[i] === 0) branchesReached++;
      seen[i] = seen[i]! | bit;
      isNew = true;
    }
    if (isNew && executions > seeds.length) corpus.push(file);
  }
  return state();
}
