import type { GeneratedToken, Tokenizer } from '@markbase/text';

/** A token with its log-probability, in OpenAI's format. */
export interface TokenLogprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: number[];
  readonly top_logprobs: readonly Omit<TokenLogprob, 'top_logprobs'>[];
}

/** One token in OpenAI's format. A character may span several tokens: joining their `bytes` restores it. */
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

/** JSON has no infinity; OpenAI's API writes -9999 for "impossible". */
function finite(logprob: number): number {
  return Math.max(logprob, -9999);
}
