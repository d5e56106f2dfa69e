import { InvalidArgumentError } from '@markbase/core';
import type { TokenConstraint } from '../generation/token-constraint.js';
import type { Tokenizer } from '../tokenizer/index.js';
import { type AnswerFormat, answerGrammar } from './answer-grammar.js';
import { GrammarBudget } from './grammar-budget.js';
import { type ConstraintVocabulary, TokenGrammar } from './grammar-constraint.js';
import { TokenTrie } from './token-trie.js';

/** Number of grammars remembered per tokenizer, each with the masks that answers have needed so far. */
const MAX_GRAMMARS = 16;

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
  const { tokenizer, stopIds } = context;
  const { responseFormat, toolChoice, tools, mayThink, isReasoningOpen } = format;
  const key = JSON.stringify([responseFormat, toolChoice, tools, mayThink, isReasoningOpen, stopIds]);
  let grammar = (await vocabularies.get(tokenizer))?.grammars.get(key);
  if (!grammar) {
    // The vocabulary is not needed if the format is refused or there is none.
    const budget = new GrammarBudget();
    const expression = answerGrammar(tokenizer, format, budget);
    if (!expression) return null;
    const { signal } = context;
    grammar = await TokenGrammar.create(await vocabularyOf(context), expression, stopIds, {
      budget,
      ...(signal && { signal }),
    });
  }
  remember((await vocabularyOf(context)).grammars, key, grammar);
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

function remember(grammars: Map<string, TokenGrammar>, key: string, grammar: TokenGrammar): void {
  grammars.delete(key);
  grammars.set(key, grammar);
  if (grammars.size > MAX_GRAMMARS) grammars.delete(grammars.keys().next().value!);
}
