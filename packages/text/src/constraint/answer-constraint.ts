import { InvalidArgumentError } from '@markbase/core';
import type { TokenConstraint } from '../generation/token-constraint.js';
import type { Tokenizer } from '../tokenizer/index.js';
import { type AnswerFormat, answerGrammar } from './answer-grammar.js';
import { type ConstraintVocabulary, TokenGrammar } from './grammar-constraint.js';
import { TokenTrie } from './token-trie.js';

/** Grammars that are remembered per tokenizer, each with the masks that answers have needed so far. */
const MAX_GRAMMARS = 16;

interface KnownVocabulary extends ConstraintVocabulary {
  readonly grammars: Map<string, TokenGrammar>;
}

const vocabularies = new WeakMap<Tokenizer, Promise<KnownVocabulary>>();

/** What a constraint depends on besides the format. */
export interface ConstraintContext {
  readonly tokenizer: Tokenizer;
  readonly vocabularySize: number;
  /** Tokens that end the answer. */
  readonly stopIds: readonly number[];
  /** Maximum number of tokens in the answer, including the one that ends it. */
  readonly maxTokens: number;
}

/**
 * The constraint for one answer, or null if the answer is unconstrained.
 *
 * @throws InvalidArgumentError for unsupported schemas, and if the shortest valid answer does not fit in `maxTokens`
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
      expected: `at least ${grammar.leastTokens}, because the shortest answer in this format has that many tokens`,
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
    // An unsupported format fails, and an unconstrained one returns, before the vocabulary is read.
    const expression = answerGrammar(tokenizer, format);
    if (!expression) return null;
    grammar = new TokenGrammar(await vocabularyOf(context), expression, stopIds);
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
