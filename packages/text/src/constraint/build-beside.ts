import { hasErrorCode, InvalidArgumentError } from '@markbase/core';
import { JobFailure, ThreadLine } from '../run-beside.js';
import type { AnswerFormat } from './answer-grammar.js';
import { Automaton, type AutomatonData } from './automaton.js';

/** The worker's input. */
export interface GrammarRequest {
  readonly format: AnswerFormat;
  /** Ids of the control tokens that grammars may contain. */
  readonly ids: Readonly<Record<string, number | null>>;
}

/** The worker's result: the grammar, or what it refuses the schema with. */
export type GrammarResult =
  | { readonly data: AutomatonData | null }
  | { readonly refusal: InvalidArgumentError['fields'] };

const line = new ThreadLine('grammar-worker.js', 256);

/** Builds a grammar in a thread; null if answers are not constrained. */
export type BuildGrammar = (request: GrammarRequest) => Promise<Automaton | null>;

/**
 * Calls `work` when its turn to build grammars has come.
 *
 * @throws what `work` throws. `build` throws InvalidArgumentError for what `answerGrammar` refuses, and if building takes
 *   more than 15 seconds or 256 MiB; the signal's reason
 */
export function inBuildingTurn<Result>(
  signal: AbortSignal | undefined,
  work: (build: BuildGrammar) => Promise<Result>,
): Promise<Result> {
  return line.inTurn(signal, (start) =>
    work(async (data) => {
      const result = await start<GrammarResult>({ label: 'building the grammar', data }).catch(refuse);
      if ('refusal' in result) throw new InvalidArgumentError(result.refusal);
      return result.data && new Automaton(result.data);
    }),
  );
}

function refuse(error: unknown): never {
  const isTooLarge = hasErrorCode(error, 'OUT_OF_MEMORY');
  if (!isTooLarge && !(error instanceof JobFailure)) throw error;
  throw new InvalidArgumentError({
    argument: 'responseFormat',
    expected: 'a format whose grammar can be built',
    received: error instanceof JobFailure ? error.reason : 'one that takes too much memory',
    hint: 'Lower maxLength, maxItems or counts in a pattern, or combine fewer alternatives',
    cause: error instanceof JobFailure ? error.cause : error,
  });
}
