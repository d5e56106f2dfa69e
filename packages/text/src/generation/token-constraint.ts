/** Restricts the tokens of one answer, for example to those that continue valid JSON. */
export interface TokenConstraint {
  /**
   * Called before `allowed`, with the same number. Null if `allowed` then answers at once; otherwise a promise for that:
   * the answer skips steps until it is fulfilled, while other answers continue. Without it, `allowed` always answers immediately.
   *
   * @param signal stops the work with its reason
   */
  prepare?(remainingTokens: number, signal?: AbortSignal): Promise<void> | null;
  /**
   * The tokens that may come next, as in `SamplingParams.allowed`: [ceil(V / 32)] words, bit `id % 32` of word `id /
   * 32`. null = all. At least one bit must be set; the array is copied before `accept` is called.
   *
   * @param remainingTokens how many tokens the answer may still have, including this one and the one that ends it
   */
  allowed(remainingTokens: number): Int32Array | null;
  /** Takes the token that was sampled, including the one that ends the answer. */
  accept(token: number): void;
  /**
   * A separate constraint in the same state, which walks ahead over guessed tokens. Without it, nothing is guessed in
   * answers with this constraint.
   */
  fork?(): TokenConstraint;
}
