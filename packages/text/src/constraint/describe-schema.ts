import { hasErrorCode, type InvalidArgumentError } from '@markbase/core';
import { EventLoopSlice } from '../tokenizer/event-loop-slice.js';
import { Automaton } from './automaton.js';
import { JSON_DIALECT } from './dialect.js';
import { GrammarBudget, type GrammarLimits } from './grammar-budget.js';
import { Matcher, type Place } from './matcher.js';
import type { JsonSchema } from './schema/json-schema.js';
import { schemaGrammar } from './schema/schema-grammar.js';

/** What a schema means as `responseFormat`. */
export interface SchemaDescription {
  /** True if answers can be constrained to the whole schema. */
  readonly supported: boolean;
  /** Unsupported keywords, each with the path of its schema, such as `#/properties/a`. */
  readonly unsupported: readonly { readonly path: string; readonly keyword: string }[];
  /** Why the schema is refused; null if it is not. */
  readonly reason: string | null;
  /** Number of states of the grammar; null if there is none. */
  readonly states: number | null;
  /** [answers] whether the grammar accepts the text; all false if there is no grammar. */
  readonly accepted: readonly boolean[];
}

/**
 * Describes what a schema means as `responseFormat`, without a model. An unsupported schema is not an error.
 *
 * @param answers texts to check against the grammar
 * @throws the reason of an aborted signal
 */
export async function describeSchema(
  schema: JsonSchema,
  { answers = [], ...limits }: GrammarLimits & { readonly answers?: readonly string[] } = {},
): Promise<SchemaDescription> {
  limits.signal?.throwIfAborted();
  const unsupported = new Map<string, { path: string; keyword: string }>();
  const reasons: string[] = [];
  let states: number | null = null;
  let accepted = answers.map(() => false);
  try {
    const budget = new GrammarBudget(limits);
    const slice = new EventLoopSlice(limits.signal);
    const grammar = schemaGrammar(schema, JSON_DIALECT, {
      budget,
      onUnsupported: ({ path, keyword, expected }) => {
        unsupported.set(`${path}/${keyword}`, { path, keyword });
        reasons.push(`schema ${path}/${keyword}: expected ${expected}`);
      },
    });
    const automaton = await slice.run(Automaton.steps(grammar, budget));
    if (unsupported.size === 0) {
      states = budget.states;
      accepted = answers.map((answer) => hasText(new Matcher(automaton), answer));
    }
  } catch (error) {
    if (!hasErrorCode(error, 'INVALID_ARGUMENT')) throw error;
    const refusal = error as InvalidArgumentError;
    reasons.push(refusal.message);
    if (unsupported.size === 0) unsupported.set('', placeOf(refusal));
  }
  const reason = reasons[0] ?? null;
  return { supported: reason === null, unsupported: [...unsupported.values()], reason, states, accepted };
}

/** The keyword in a refusal, and the path of its schema. */
function placeOf({ argument }: InvalidArgumentError): { path: string; keyword: string } {
  const place = argument.replace(/^schema ?/, '') || '#';
  const at = place.lastIndexOf('/');
  return at < 0 ? { path: place, keyword: '' } : { path: place.slice(0, at), keyword: place.slice(at + 1) };
}

function hasText(matcher: Matcher, text: string): boolean {
  let place: Place | null = matcher.start;
  for (const byte of Buffer.from(text)) {
    place = matcher.advance(place, byte);
    if (!place) return false;
  }
  return matcher.isEnd(place);
}
