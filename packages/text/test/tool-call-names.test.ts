import { beforeAll, describe, expect, it } from 'vitest';
import { ResponseParser } from '../src/chat/index.js';
import { answerConstraint } from '../src/constraint/answer-constraint.js';
import type { Tokenizer } from '../src/tokenizer/index.js';
import { loadTestTokenizer } from './test-tokenizer.js';

let tokenizer: Tokenizer;
beforeAll(async () => {
  tokenizer = await loadTestTokenizer();
});

/** The answer that takes the first allowed token, and ends as soon as it may. */
async function firstAnswer(parameters: Record<string, unknown>) {
  const stopId = tokenizer.idOf('<turn|>')!;
  const constraint = await answerConstraint(
    { tokenizer, vocabularySize: tokenizer.vocabSize, stopIds: [stopId], maxTokens: 400 },
    {
      mayThink: false,
      isReasoningOpen: false,
      toolChoice: 'required',
      tools: [{ type: 'function', function: { name: 'f', parameters, strict: true } }],
    },
  );
  const parser = new ResponseParser(tokenizer);
  const events = [];
  for (let left = 400; left > 0; left--) {
    const allowed = constraint!.allowed(left)!;
    const isAllowed = (id: number) => (allowed[id >> 5]! & (1 << (id & 31))) !== 0;
    const token = isAllowed(stopId)
      ? stopId
      : Array.from({ length: tokenizer.vocabSize }, (_, id) => id).find(isAllowed)!;
    constraint!.accept(token);
    events.push(...parser.push(token));
    if (token === stopId) break;
  }
  return [...events, ...parser.finish()];
}

describe('what the grammar of a strict tool writes', () => {
  it.each(['xsi:type', 'a,b', 'a{b', '[0]', '', 'a b', '"', "it's", '<|"|>', 'é', '🏿'])(
    'is read as a call with the name %j, or refused',
    async (name) => {
      const schema = { type: 'object', properties: { [name]: { const: 1 } }, required: [name] };
      const events = await firstAnswer(schema).catch((error) => error.code);
      if (events === 'INVALID_ARGUMENT') return;
      expect(events).toEqual([expect.objectContaining({ type: 'tool-call', arguments: { [name]: 1 } })]);
    },
  );

  it.each(['<|"|>', 'a<|"|>,b:1', "x', y: z", '}', '<tool_call|>'])(
    'keeps the text %j, or refuses it',
    async (text) => {
      const schema = { type: 'object', properties: { a: { enum: [text] } }, required: ['a'] };
      const events = await firstAnswer(schema).catch((error) => error.code);
      if (events === 'INVALID_ARGUMENT') return;
      expect(events).toEqual([expect.objectContaining({ type: 'tool-call', arguments: { a: text } })]);
    },
  );
});
