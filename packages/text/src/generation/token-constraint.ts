/** Restricts the tokens of one answer, for example to those that continue valid JSON. */
export interface TokenConstraint {
  /**
   * The tokens that may come next, as in `SamplingParams.allowed`: [ceil(V / 32)] words, bit `id % 32` of word `id /
   * 32`. null = all. At least one bit must be set; the array is copied before `accept` is called.
   *
   * @param remainingTokens how many tokens the answer may still have, including this one and the one that ends it
   */
  allowed(remainingTokens: number): Int32Array | null;
  /** Takes the token that was sampled, including the one that ends the answer. */
  accept(token: number): void;
}
