// The mutants that are tried, and the runs of conformance cases for each.
import { allKernels, kernelOf, kernelsOf } from './barriers.mjs';

/** Kernels that a system substitutes for planned ones: with macOS 26, the tensor operations of Metal 4. */
const TAKEN_FOR = new Map([['linear_tensor', 'linear_tile']]);
const [USUAL_SYSTEM, TENSOR_SYSTEM] = ['15', '26'];

/**
 * The system, as in METAL_SIM_MACOS, whose runs can reach a barrier.
 *
 * @param {import('./barriers.mjs').Sources} sources
 * @param {Pick<import('./barriers.mjs').Barrier, 'file' | 'line'>} barrier
 */
export function systemThatReaches(sources, barrier) {
  return kernelsOf(sources, barrier).every((name) => TAKEN_FOR.has(name)) ? TENSOR_SYSTEM : USUAL_SYSTEM;
}

/**
 * The runs that launch a kernel which can reach a barrier, small ones first: the cheapest of each set of launches, then the second of each,
 * because runs with the same launches mostly detect the same faults.
 *
 * @template {{cost: number, launches: readonly string[]}} Run
 * @param {import('./barriers.mjs').Sources} sources
 * @param {Pick<import('./barriers.mjs').Barrier, 'file' | 'line'>} barrier
 * @param {readonly Run[]} planned
 * @returns {Run[]}
 */
export function runsThatReach(sources, barrier, planned) {
  const all = allKernels(sources);
  const reaching = new Set(kernelsOf(sources, barrier).map((name) => TAKEN_FOR.get(name) ?? name));
  /** @type {Map<string, number>} */
  const seen = new Map();
  return planned
    .filter((run) => run.launches.some((launched) => reaching.has(kernelOf(all, launched) ?? '')))
    .sort((a, b) => a.cost - b.cost)
    .map((run) => {
      const set = [...run.launches].sort().join();
      const rank = seen.get(set) ?? 0;
      seen.set(set, rank + 1);
      return { run, rank };
    })
    .sort((a, b) => a.rank - b.rank || a.run.cost - b.run.cost)
    .map(({ run }) => run);
}

/**
 * A random share of a list in its order; at least one element.
 *
 * @template Item
 * @param {readonly Item[]} all
 * @param {number} share In (0, 1].
 * @param {() => number} random Numbers in [0, 1).
 * @returns {Item[]}
 */
export function chooseSample(all, share, random) {
  const count = Math.max(1, Math.round(all.length * share));
  const drawn = all.map((item, index) => ({ item, index, key: random() })).sort((a, b) => a.key - b.key);
  return drawn
    .slice(0, count)
    .sort((a, b) => a.index - b.index)
    .map(({ item }) => item);
}
