import { InvalidArgumentError } from '@markbase/core';
import type { TokenConstraint } from '../generation/token-constraint.js';
import type { Tokenizer } from '../tokenizer/index.js';
import { type AnswerFormat, answerGrammar, GRAMMAR_TOKENS, isConstrained } from './answer-grammar.js';
import { Automaton } from './automaton.js';
import { inBuildingTurn } from './build-beside.js';
import { GrammarBudget } from './grammar-budget.js';
import { type ConstraintVocabulary, TokenGrammar } from './grammar-constraint.js';
import { TokenTrie } from './token-trie.js';

/** Number of grammars remembered per tokenizer, each with the masks that answers have needed so far. */
const MAX_GRAMMARS = 16;
/** About how much memory they may take together. */
const MAX_GRAMMAR_BYTES = 256 * 2 ** 20;

/** Larger grammars are built in a thread, which takes 50 ms to start; these take at most 8 ms. */
const SMALL = { maxStates: 5000, maxSteps: 200_000, maxMs: 8 };
/** Length of the largest format as JSON that is tried as a small one. */
const SMALL_UNITS = 32_768;

interface KnownVocabulary extends ConstraintVocabulary {
  readonly grammars: Map<string, TokenGrammar>;
}

const vocabularies = new WeakMap<Tokenizer, Promise<KnownVocabulary>>();

/** What the constraint of an answer depends on. */
export interface ConstraintContext {
  readonly tokenizer: Tokenizer;
  readonly vocabularySize: number;
  /** Tokens that end an answer. */
  readonly stopIds: readonly number[];
  /** Maximum number of tokens of the answer, including the end token. */
  readonly maxTokens: number;
  readonly signal?: AbortSignal;
}

/**
 * The constraint of one answer; null if there is none.
 *
 * @throws InvalidArgumentError for unsupported schemas, and if `maxTokens` has no room for the shortest answer
 */
export async function answerConstraint(
  context: ConstraintContext,
  format: AnswerFormat,
): Promise<TokenConstraint | null> {
  const { maxTokens } = context;
  const grammar = await grammarOf(context, format);
  if (!grammar) return null;
  if (grammar.leastTokens > maxTokens) {
    throw new InvalidArgumentError({
      argument: 'maxTokens',
      expected: `at least ${grammar.leastTokens}, so that the shortest answer of this format fits`,
      received: maxTokens,
    });
  }
  return grammar.constrain();
}

async function grammarOf(context: ConstraintContext, format: AnswerFormat): Promise<TokenGrammar | null> {
  if (!isConstrained(format)) return null;
  const key = JSON.stringify([format, context.stopIds]);
  const known = (await vocabularies.get(context.tokenizer))?.grammars.get(key);
  if (known) return kept(context, key, known);
  if (key.length <= SMALL_UNITS) {
    const budget = new GrammarBudget(SMALL);
    try {
      const expression = answerGrammar(context.tokenizer, format, budget);
      return await kept(context, key, expression && Automaton.build(expression, budget));
    } catch (error) {
      if (!budget.isExceeded) throw error;
    }
  }
  const ids = Object.fromEntries(GRAMMAR_TOKENS.map((token) => [token, context.tokenizer.idOf(token)]));
  return inBuildingTurn(context.signal, async (build) => {
    // An earlier turn may have built the same.
    const earlier = (await vocabularies.get(context.tokenizer))?.grammars.get(key);
    return kept(context, key, earlier ?? (await build({ format, ids })));
  });
}

/** Remembers a grammar. The vocabulary is only needed here, not for a format that is refused. */
async function kept(
  context: ConstraintContext,
  key: string,
  built: TokenGrammar | Automaton | null,
): Promise<TokenGrammar | null> {
  if (built === null) return null;
  const vocabulary = await vocabularyOf(context);
  const { grammars } = vocabulary;
  const grammar = built instanceof Automaton ? new TokenGrammar(vocabulary, built, context.stopIds) : built;
  grammars.delete(key);
  grammars.set(key, grammar);
  const bytes = () => [...grammars.values()].reduce((sum, { rememberedBytes }) => sum + rememberedBytes, 0);
  while (grammars.size > MAX_GRAMMARS || (grammars.size > 1 && bytes() > MAX_GRAMMAR_BYTES))
    grammars.delete(grammars.keys().next().value!);
  return grammar;
}

function vocabularyOf({ tokenizer, vocabularySize }: ConstraintContext): Promise<KnownVocabulary> {
  const known = vocabularies.get(tokenizer);
  if (known) return known;
  const made = TokenTrie.create(tokenizer, vocabularySize).then((trie) => {
    return { tokenizer, trie, grammars: new Map<string, TokenGrammar>() };
  });
  vocabularies.set(tokenizer, made);
  return made;
}
