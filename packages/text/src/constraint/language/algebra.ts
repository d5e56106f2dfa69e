import type { GrammarBudget } from '../grammar-budget.js';
import { LAST_CODE } from './character-set.js';
import { type Dfa, dfaOf, NO_STATE, type Step } from './dfa.js';

/** How to combine two languages. */
type Operation = 'and' | 'or' | 'without';
type Pair = readonly [a: number, b: number];

/** Every text. */
export const ALL_TEXTS: Dfa = {
  start: 0,
  isEnd: Uint8Array.of(1),
  first: Int32Array.of(0, 1),
  highs: Int32Array.of(LAST_CODE),
  targets: Int32Array.of(0),
};

/** The texts in both languages, in either, or only in the first. @throws InvalidArgumentError at a limit */
export function combine(operation: Operation, a: Dfa, b: Dfa, budget: GrammarBudget): Dfa {
  if (operation === 'and' && a === ALL_TEXTS) return b;
  if (b === ALL_TEXTS && operation === 'and') return a;
  const isDead = ([left, right]: Pair): boolean => {
    if (operation === 'or') return left === NO_STATE && right === NO_STATE;
    return left === NO_STATE || (operation === 'and' && right === NO_STATE);
  };
  const width = b.isEnd.length + 1;
  return dfaOf<Pair>(
    {
      start: [a.start, b.start],
      keyOf: ([left, right]) => (left + 1) * width + right + 1,
      isEnd: ([left, right]) => {
        const [first, second] = [
          left !== NO_STATE && a.isEnd[left] === 1,
          right !== NO_STATE && b.isEnd[right] === 1,
        ];
        if (operation === 'or') return first || second;
        return first && (operation === 'and' ? second : !second);
      },
      stepsOf: (pair) => (isDead(pair) ? [] : pairSteps(a, b, pair, isDead)),
    },
    budget,
  );
}

function pairSteps(a: Dfa, b: Dfa, [left, right]: Pair, isDead: (pair: Pair) => boolean): Step<Pair>[] {
  const steps: Step<Pair>[] = [];
  let [i, j] = [left === NO_STATE ? 0 : a.first[left]!, right === NO_STATE ? 0 : b.first[right]!];
  for (let high = -1; high < LAST_CODE; ) {
    const [first, firstTo] = left === NO_STATE ? [LAST_CODE, NO_STATE] : [a.highs[i]!, a.targets[i]!];
    const [second, secondTo] = right === NO_STATE ? [LAST_CODE, NO_STATE] : [b.highs[j]!, b.targets[j]!];
    high = Math.min(first, second);
    const next: Pair = [firstTo, secondTo];
    steps.push({ high, next: isDead(next) ? null : next });
    if (first === high) i++;
    if (second === high) j++;
  }
  return steps;
}

/** The texts of a language with `least` to `most` code points. */
export function withLength(dfa: Dfa, least: number, most: number, budget: GrammarBudget): Dfa {
  if (least <= 0 && most === Number.POSITIVE_INFINITY) return dfa;
  // Beyond `least`, the number matters only if `most` is finite.
  const last = most === Number.POSITIVE_INFINITY ? least : most;
  const count = (from: number): number | null => {
    if (from < last) return from + 1;
    return most === Number.POSITIVE_INFINITY ? from : null;
  };
  return dfaOf<Pair>(
    {
      start: [dfa.start, 0],
      keyOf: ([state, length]) => (state + 1) * (last + 1) + length,
      isEnd: ([state, length]) => state !== NO_STATE && dfa.isEnd[state] === 1 && length >= least,
      stepsOf: ([state, length]) => {
        const next = count(length);
        if (state === NO_STATE || next === null) return [];
        const steps: Step<Pair>[] = [];
        for (let range = dfa.first[state]!; range < dfa.first[state + 1]!; range++) {
          const target = dfa.targets[range]!;
          steps.push({ high: dfa.highs[range]!, next: target === NO_STATE ? null : [target, next] });
        }
        return steps;
      },
    },
    budget,
    Number.POSITIVE_INFINITY,
  );
}

/** The language of exactly these texts. */
export function textsOf(texts: readonly string[], budget: GrammarBudget): Dfa {
  interface Node {
    readonly id: number;
    readonly next: Map<number, Node>;
    isEnd: boolean;
  }
  let nodes = 0;
  const made = (): Node => ({ id: nodes++, next: new Map(), isEnd: false });
  const root = made();
  for (const text of texts) {
    let node = root;
    for (const character of text) {
      const code = character.codePointAt(0)!;
      const known = node.next.get(code);
      if (known) node = known;
      else {
        const added = made();
        node.next.set(code, added);
        node = added;
      }
    }
    node.isEnd = true;
  }
  return dfaOf<Node>(
    {
      start: root,
      keyOf: ({ id }) => id,
      isEnd: ({ isEnd }) => isEnd,
      stepsOf: ({ next }) =>
        [...next]
          .sort((a, b) => a[0] - b[0])
          .flatMap(([code, node]) => [
            ...(code > 0 ? [{ high: code - 1, next: null }] : []),
            { high: code, next: node },
          ]),
    },
    budget,
  );
}
