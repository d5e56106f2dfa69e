import type { TokenConstraint } from '../generation/token-constraint.js';

/** What a limit on thinking needs to know. */
export interface ThinkingBudget {
  /** Most tokens of all thoughts of an answer together. */
  readonly maxTokens: number;
  /** Token that begins a thought. */
  readonly openId: number;
  /** Token that ends one. */
  readonly closeId: number;
  /** The prompt ends inside of an open thought. */
  readonly isOpen: boolean;
  readonly vocabularySize: number;
}

/**
 * Ends a thought once its tokens are used up, and leaves everything else to another constraint, if there is one. A thought
 * goes on for a token or two where it cannot end yet, as inside of a character.
 */
export function thinkingBudget(budget: ThinkingBudget, inner: TokenConstraint | null): TokenConstraint {
  const { maxTokens, openId, closeId, vocabularySize } = budget;
  const closing = new Int32Array(Math.ceil(vocabularySize / 32));
  closing[closeId >> 5] = 1 << (closeId & 31);
  let isOpen = budget.isOpen;
  let spent = 0;
  return {
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
  };
}
