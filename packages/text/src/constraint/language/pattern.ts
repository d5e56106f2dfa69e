import { type AST, RegExpParser, RegExpSyntaxError } from '@eslint-community/regexpp';
import type { GrammarBudget } from '../grammar-budget.js';
import { ALL_TEXTS, combine } from './algebra.js';
import { determinise } from './determinise.js';
import type { Dfa } from './dfa.js';
import { nfaOf, PatternRefusal } from './nfa.js';

const parser = new RegExpParser({ ecmaVersion: 2025 });

/**
 * The texts in which a regular expression of ECMA-262 finds a match. It is parsed with the flag `u`, as JSON Schema
 * requires. An expression that parses only without it matches only texts of characters of one code unit, for which both
 * mean the same.
 *
 * @throws PatternRefusal for malformed expressions and for those that are not regular: with back-references,
 *   look-behind, or look-ahead that is not at the beginning; InvalidArgumentError at a limit
 */
export function patternLanguage(pattern: string, budget: GrammarBudget): Dfa {
  try {
    return languageOf(parser.parsePattern(pattern, 0, pattern.length, { unicode: true }), budget);
  } catch (error) {
    if (!(error instanceof RegExpSyntaxError)) throw error;
  }
  try {
    const language = languageOf(parser.parsePattern(pattern, 0, pattern.length, { unicode: false }), budget);
    return combine('and', language, ONE_UNIT_TEXTS, budget);
  } catch (error) {
    if (error instanceof RegExpSyntaxError) throw new PatternRefusal('a regular expression as in ECMA-262');
    throw error;
  }
}

/** Texts of characters of the basic plane. */
const ONE_UNIT_TEXTS: Dfa = {
  start: 0,
  isEnd: Uint8Array.of(1),
  first: Int32Array.of(0, 2),
  highs: Int32Array.of(0xffff, 0x10ffff),
  targets: Int32Array.of(0, -1),
};

function languageOf(pattern: AST.Pattern, budget: GrammarBudget): Dfa {
  const plain: AST.Element[][] = [];
  let language: Dfa | null = null;
  for (const { elements } of pattern.alternatives) {
    const ahead = lookaheadsOf(elements);
    if (ahead.length === 0) {
      plain.push(elements);
      continue;
    }
    let own = determinise(nfaOf([elements.slice(ahead.length + 1)], true, budget), budget);
    for (const { alternatives, negate } of ahead) {
      const begins = determinise(
        nfaOf(
          alternatives.map((part) => part.elements),
          true,
          budget,
        ),
        budget,
      );
      own = combine(negate ? 'without' : 'and', own, begins, budget);
    }
    language = language ? combine('or', language, own, budget) : own;
  }
  if (plain.length === 0) return language ?? ALL_TEXTS;
  const rest = determinise(nfaOf(plain, false, budget), budget);
  return language ? combine('or', language, rest, budget) : rest;
}

/** Look-ahead right after `^` applies to the whole text, so it is a separate language. */
function lookaheadsOf(elements: readonly AST.Element[]): AST.LookaheadAssertion[] {
  const [first] = elements;
  if (first?.type !== 'Assertion' || first.kind !== 'start') return [];
  const found: AST.LookaheadAssertion[] = [];
  for (const element of elements.slice(1)) {
    if (element.type !== 'Assertion' || element.kind !== 'lookahead') break;
    found.push(element);
  }
  return found;
}
