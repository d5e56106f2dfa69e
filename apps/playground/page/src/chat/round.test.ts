import { expect, it } from 'vitest';
import type { ChatEvent } from '../api/chat-stream.js';
import { EMPTY_ROUND, grownRound } from './round.js';

it('collects text, reasoning and pieces of calls', () => {
  const call = (index: number, args: string, name = '') =>
    ({ type: 'tool', index, id: name && `c${index}`, name, arguments: args }) as const;
  const events: Extract<ChatEvent, { type: 'text' | 'reasoning' | 'tool' }>[] = [
    { type: 'reasoning', text: 'Hm' },
    { type: 'reasoning', text: '.' },
    { type: 'text', text: 'Let me ' },
    { type: 'text', text: 'look.' },
    call(0, '{"a":', 'first'),
    call(1, '{}', 'second'),
    call(0, '1}'),
  ];
  expect(events.reduce(grownRound, EMPTY_ROUND)).toEqual({
    reasoning: 'Hm.',
    text: 'Let me look.',
    toolUses: [
      { id: 'c0', name: 'first', arguments: '{"a":1}', result: null },
      { id: 'c1', name: 'second', arguments: '{}', result: null },
    ],
  });
});
