import { parentPort, workerData } from 'node:worker_threads';
import { hasErrorCode, type InvalidArgumentError } from '@markbase/core';
import { answerGrammar } from './answer-grammar.js';
import { Automaton } from './automaton.js';
import type { GrammarRequest, GrammarResult } from './build-beside.js';
import { GrammarBudget } from './grammar-budget.js';

const { format, ids } = workerData as GrammarRequest;

function result(): GrammarResult {
  try {
    const budget = new GrammarBudget();
    const tokenizer = { idOf: (token: string) => ids[token] ?? null };
    const grammar = answerGrammar(tokenizer, format, budget);
    return { data: grammar && Automaton.build(grammar, budget).data };
  } catch (error) {
    if (!hasErrorCode(error, 'INVALID_ARGUMENT')) throw error;
    const { argument, expected, received, hint } = (error as InvalidArgumentError).fields;
    return { refusal: { argument, expected, received, ...(hint !== undefined && { hint }) } };
  }
}

/** The buffers of all typed arrays in a value, which move instead of being copied. */
function buffersOf(root: unknown): ArrayBuffer[] {
  const buffers = new Set<ArrayBuffer>();
  const stack = [root];
  while (stack.length > 0) {
    const value = stack.pop();
    if (ArrayBuffer.isView(value)) buffers.add(value.buffer as ArrayBuffer);
    else if (typeof value === 'object' && value !== null)
      for (const child of Object.values(value)) stack.push(child);
  }
  return [...buffers];
}

const made = result();
parentPort?.postMessage(made, 'data' in made ? buffersOf(made) : []);
