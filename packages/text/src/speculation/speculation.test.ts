import { describe, expect, it } from 'vitest';
import { Acceptance } from './acceptance.js';
import { Draft, type Future } from './draft.js';
import { type DraftProspect, draftLengths } from './draft-lengths.js';
import { PromptLookup } from './prompt-lookup.js';
import { StepCosts } from './step-costs.js';

const SOURCE = {};
const prospect = (acceptance: number, tokenMs = 0): DraftProspect => ({
  ...{ acceptance, tokenMs, reach: 8, source: SOURCE },
});
/** Ten milliseconds, and half of one per further row. */
const flat = (rows: number) => 10 + 0.5 * (rows - 1);
const steep = (rows: number) => 10 * rows;

describe('draftLengths', () => {
  it('guesses more the oftener guesses are right, and nothing where rows cost as much as steps', () => {
    const [rarely, often, always] = [0.3, 0.7, 0.95].map(
      (rate) => draftLengths([prospect(rate)], flat, 32)[0]!,
    );
    expect(rarely).toBeGreaterThan(0);
    expect(often).toBeGreaterThan(rarely!);
    expect(always).toBe(8);
    expect(draftLengths([prospect(0.9)], steep, 32)).toEqual([0]);
    expect(draftLengths([prospect(0.05)], flat, 32)).toEqual([0]);
  });

  it('counts what guesses cost, once for all rows of a source', () => {
    expect(draftLengths([prospect(0.7, 20)], flat, 32)).toEqual([0]);
    const both = [prospect(0.8, 5), prospect(0.8, 5)];
    expect(Math.min(...draftLengths(both, flat, 32))).toBeGreaterThan(0);
    expect(draftLengths([both[0]!, { ...both[1]!, source: {} }], flat, 32)).toEqual([0, 0]);
  });

  it('favours the likelier rows, within the rows of a step', () => {
    const lengths = draftLengths([prospect(0.9), null, prospect(0.5)], flat, 8);
    expect(lengths[1]).toBe(0);
    expect(lengths[0]!).toBeGreaterThan(lengths[2]!);
    expect(lengths[0]! + lengths[2]! + 3).toBeLessThanOrEqual(8);
  });
});

describe('StepCosts', () => {
  it('drops what recording took, averages, and draws lines between measurements', () => {
    const costs = new StepCosts();
    for (const ms of [90, 10, 15]) costs.record(1, ms);
    expect(costs.of(1)).toBe(11);
    for (const ms of [90, 40, 17]) costs.record(4, ms);
    costs.record(3, 90);
    expect(costs.of(3)).toBeCloseTo(15);
    expect(costs.of(6)).toBeCloseTo(21);
  });
});

describe('Acceptance', () => {
  it('follows what was right, and forgets', () => {
    const all = new Acceptance(0.7);
    const own = new Acceptance(all);
    expect(own.estimate).toBe(0.7);
    for (let draft = 0; draft < 40; draft++) own.add(4, 4);
    expect(own.estimate).toBeGreaterThan(0.95);
    expect(all.estimate).toBeGreaterThan(0.9);
    for (let draft = 0; draft < 60; draft++) own.add(4, 0);
    expect(own.estimate).toBeLessThan(0.2);
  });

  it('tries again after a pause, which grows while guesses are wrong', () => {
    const acceptance = new Acceptance(0.7);
    const pause = () => {
      let tokens = 1;
      while (!acceptance.skip()) tokens++;
      return tokens;
    };
    expect(pause()).toBe(16);
    acceptance.add(1, 0);
    expect(pause()).toBe(32);
    for (let draft = 0; draft < 9; draft++) acceptance.add(1, 0);
    expect(pause()).toBe(256);
    acceptance.add(1, 1);
    expect(pause()).toBe(16);
  });
});

/** An answer that ends with 9; nothing is known after 8. */
class Counting implements Future {
  finish: unknown = null;
  sampling = { history: new Map<number, number>(), allowed: Int32Array.of(0b1111111110) };
  #isPreparing = false;

  prepare() {
    return this.#isPreparing ? Promise.reject(new Error('later')) : null;
  }

  accept({ token }: { token: number }) {
    this.sampling.history.set(token, 1);
    if (token === 9) this.finish = 'stop';
    this.#isPreparing = token === 8;
  }
}

describe('Draft', () => {
  const draftOf = (tokens: readonly number[], excluded: readonly number[] = []) => {
    const future = new Counting();
    const draft = new Draft(future, { ...future.sampling }, { limit: 4, excluded: new Set(excluded) });
    for (const token of tokens) if (!draft.push(token)) break;
    return draft.tokens.map(({ token }) => token);
  };

  it('ends at its limit, and before what cannot be verified', () => {
    expect(draftOf([1, 2, 3, 4, 5])).toEqual([1, 2, 3, 4]);
    expect(draftOf([1, 0, 2])).toEqual([1]);
    expect(draftOf([1, 2, 3], [2])).toEqual([1]);
    expect(draftOf([1, 9])).toEqual([1]);
    expect(draftOf([1, 8, 2])).toEqual([1]);
  });

  it('keeps what each token is sampled with', () => {
    const future = new Counting();
    const draft = new Draft(future, { ...future.sampling }, { limit: 4, excluded: new Set() });
    draft.push(1);
    draft.push(2);
    expect(draft.tokens.map(({ sampling }) => [...sampling.history!.keys()])).toEqual([[1], [1, 2]]);
  });
});

describe('PromptLookup', () => {
  const guess = (context: readonly number[]) => {
    const lookup = new PromptLookup();
    const answer = { context, hidden: null, fork: () => null };
    const tokens: number[] = [];
    const draft = {
      get tokens() {
        return tokens.map((token) => ({ token, sampling: {} }));
      },
      push: (token: number) => tokens.push(token) < 6,
    };
    const reach = lookup.reach(answer);
    lookup.draft([{ answer, sequence: {} as never, draft: draft as never }]);
    return { reach, tokens };
  };

  it('goes on as after the longest earlier match', () => {
    const { tokens } = guess([1, 2, 3, 40, 41, 42, 5, 1, 2, 3, 50, 51, 9, 5, 1, 2, 3]);
    expect(tokens).toEqual([50, 51, 9, 5, 1, 2]);
  });

  it('goes on with a repetition beyond the end', () => {
    expect(guess([7, 8, 9, 7, 8, 9, 7, 8, 9]).tokens).toEqual([7, 8, 9, 7, 8, 9]);
  });

  it('guesses nothing after a shorter match, and nothing beyond a prediction', () => {
    expect(guess([1, 2, 3, 4, 7, 2, 3])).toEqual({ reach: 0, tokens: [] });
    expect(guess([1, 2, 3, 4, -1, 1, 2, 3]).tokens).toEqual([4]);
  });
});
