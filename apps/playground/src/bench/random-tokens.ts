import type { ModelConfig } from '@markbase/loader';

/** Park and Miller's minimal standard generator. */
const MODULUS = 2_147_483_647;
const MULTIPLIER = 48_271;

/**
 * An endless supply of ordinary token ids, without placeholders, delimiters or the control tokens at the start of the
 * vocabulary. The same seed yields the same ids.
 */
export function randomTokens(config: ModelConfig, seed: number): (count: number) => Int32Array {
  const { vocabSize, bosTokenId, padTokenId, eosTokenIds } = config.text;
  const special = 'tokens' in config ? Object.values(config.tokens) : [];
  const excluded = new Set([bosTokenId, padTokenId, ...eosTokenIds, ...special]);
  let state = (seed % (MODULUS - 1)) + 1;
  const next = (): number => {
    do state = (state * MULTIPLIER) % MODULUS;
    while (excluded.has(state % vocabSize));
    return state % vocabSize;
  };
  return (count) => Int32Array.from({ length: count }, next);
}
