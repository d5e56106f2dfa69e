import { describe, expect, it } from 'vitest';
import { thinkingBudget } from './thinking-budget.js';

const [OPEN, CLOSE, WORD] = [33, 34, 5];
const budget = { maxTokens: 2, openId: OPEN, closeId: CLOSE, isOpen: false, vocabularySize: 40 };
const onlyClose = Int32Array.of(0, 1 << (CLOSE - 32));

describe('thinkingBudget', () => {
  it('does not affect the answer, and ends a thought when its tokens are used up', () => {
    const constraint = thinkingBudget(budget, null);
    for (const token of [WORD, WORD, WORD, OPEN, WORD]) {
      expect(constraint.allowed(100)).toBeNull();
      constraint.accept(token);
    }
    expect(constraint.allowed(100)).toBeNull();
    constraint.accept(WORD);
    expect(constraint.allowed(100)).toEqual(onlyClose);
    constraint.accept(CLOSE);
    expect(constraint.allowed(100)).toBeNull();
    constraint.accept(OPEN);
    expect(constraint.allowed(100)).toEqual(onlyClose);
  });

  it('counts from the first token if the prompt ends inside a thought', () => {
    const constraint = thinkingBudget({ ...budget, isOpen: true }, null);
    constraint.accept(WORD);
    constraint.accept(WORD);
    expect(constraint.allowed(100)).toEqual(onlyClose);
  });

  it('never allows tokens that the inner constraint forbids', () => {
    const accepted: number[] = [];
    let mask = Int32Array.of(1 << WORD, 0);
    const inner = { allowed: () => mask, accept: (token: number) => void accepted.push(token) };
    const constraint = thinkingBudget({ ...budget, isOpen: true, maxTokens: 1 }, inner);
    constraint.accept(WORD);
    expect(constraint.allowed(100)).toEqual(mask);
    mask = Int32Array.of(1 << WORD, 1 << (CLOSE - 32));
    expect(constraint.allowed(100)).toEqual(onlyClose);
    expect(accepted).toEqual([WORD]);
  });
});
