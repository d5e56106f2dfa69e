import type { GeneratedToken, Tokenizer } from '@markbase/text';

/** A token with its log-probability, in OpenAI's form. */
export interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: number[];
  readonly top_logprobs: readonly Omit<TokenLogprob, 'top_logprobs'>[];
}

/** Log-probabilities of tokens, in OpenAI's form: several tokens may have to be joined by their bytes to be text. */
export function tokenLogprob(
  tokenizer: Tokenizer,
  { token, text, logprob, topLogprobs }: GeneratedToken,
): TokenLogprob {
  const bytesOf = (id: number, shown: string): number[] => {
    const byte = tokenizer.byteOf(id);
    return byte === null ? [...new TextEncoder().encode(shown)] : [byte];
  };
  return {
    token: text,
    logprob: finite(logprob),
    bytes: bytesOf(token, text),
    top_logprobs: topLogprobs.map((other) => ({
      token: other.text,
      logprob: finite(other.logprob),
      bytes: bytesOf(other.token, other.text),
    })),
  };
}

/** JSON has no infinity; -9999 is what OpenAI's API writes for "impossible". */
function finite(logprob: number): number {
  return Math.max(logprob, -9999);
}
