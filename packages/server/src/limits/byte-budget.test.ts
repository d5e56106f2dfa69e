import { describe, expect, it } from 'vitest';
import { ByteBudget } from './byte-budget.js';

describe('ByteBudget', () => {
  it('counts the bytes of all requests, and refuses those beyond the limit', () => {
    const budget = new ByteBudget(100, 50);
    const claims = ['a', 'b', 'c'].map((client) => budget.claim(client));
    claims[0]!.add(40);
    claims[1]!.add(40);
    expect(() => claims[2]!.add(21)).toThrow('retry in');
    expect(budget.heldBytes).toBe(80);
    claims[0]!.release();
    claims[0]!.release();
    claims[2]!.add(21);
    expect(budget.heldBytes).toBe(61);
  });

  it('leaves room for others when one client takes as much as it can', () => {
    const budget = new ByteBudget(100, 10);
    const greedy = Array.from({ length: 5 }, () => budget.claim('greedy'));
    for (const claim of greedy) claim.add(10);
    expect(() => budget.claim('greedy').add(1)).toThrow('retry in');
    budget.claim('other').add(50);
    expect(budget.heldBytes).toBe(100);
  });

  it('lets a single client send the largest request', () => {
    const budget = new ByteBudget(100, 90);
    expect(() => budget.claim('a').add(90)).not.toThrow();
  });
});
