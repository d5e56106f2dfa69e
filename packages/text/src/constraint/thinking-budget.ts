import type { TokenConstraint } from '../generation/token-constraint.js';

/** Options of `thinkingBudget`. */
export interface ThinkingBudget {
  /** Maximum number of thinking tokens in the whole answer. */
  readonly maxTokens: number;
  /** Token that starts a thought. */
  readonly openId: number;
  /** Token that ends a thought. */
  readonly closeId: number;
  /** The prompt ends inside an open thought. */
  readonly isOpen: boolean;
  readonly vocabularySize: number;
}

/**
 * Ends a thought once its tokens are used up; everything else is left to the inner constraint, if there is one. Where a
 * thought cannot end yet, such as inside a character, it continues for another token or two.
 */
export function thinkingBudget(budget: ThinkingBudget, inner: TokenConstraint | null): TokenConstraint {
  const { maxTokens, openId, closeId, vocabularySize } = budget;
  const closing = new Int32Array(Math.ceil(vocabularySize / 32));
  closing[closeId >> 5] = 1 << (closeId & 31);
  let isOpen = budget.isOpen;
  let spent = 0;
  const canFork = inner === null || inner.fork !== undefined;
  const fork = () => {
    const left = { ...budget, isOpen, maxTokens: Math.max(0, maxTokens - spent) };
    return thinkingBudget(left, inner?.fork?.() ?? null);
  };
  return {
    prepare: (remainingTokens, signal) => inner?.prepare?.(remainingTokens, signal) ?? null,
    allowed(remainingTokens) {
      const allowed = inner?.allowed(remainingTokens) ?? null;
      if (!isOpen || spent < maxTokens) return allowed;
      const mayClose = allowed === null || (allowed[closeId >> 5]! & closing[closeId >> 5]!) !== 0;
      return mayClose ? closing : allowed;
    },
    accept(token) {
      inner?.accept(token);
      if (token === openId) isOpen = true;
      else if (token === closeId) isOpen = false;
      else if (isOpen) spent++;
    },
    ...(canFork && { fork }),
  };
}
