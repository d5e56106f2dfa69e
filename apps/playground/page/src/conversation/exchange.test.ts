import { expect, it } from 'vitest';
import { append, type Conversation, emptyConversation, ROOT } from './conversation.js';
import { parseConversation, serializeConversation } from './exchange.js';

const tree: Conversation = append(
  append(emptyConversation('Be brief.'), {
    role: 'user',
    id: 'a',
    parentId: ROOT,
    text: 'What is this?',
    attachments: [
      {
        kind: 'image',
        id: 'i',
        name: 'x.png',
        url: 'data:image/png;base64,AA',
        width: 2,
        height: 3,
        budget: 1120,
      },
      { kind: 'audio', id: 's', name: 'x.wav', wav: 'AAAA', sampleCount: 16, peaks: [0, 0.5] },
      {
        kind: 'video',
        id: 'v',
        name: 'x.mp4',
        width: 4,
        height: 4,
        seconds: 2,
        frames: [{ url: 'data:image/jpeg;base64,AA', timestampSeconds: 1 }],
      },
    ],
  }),
  {
    role: 'assistant',
    id: 'b',
    parentId: 'a',
    rounds: [
      {
        reasoning: 'Hm.',
        text: '',
        toolUses: [{ id: 'c1', name: 'calculate', arguments: '{}', result: '{"result":1}' }],
      },
    ],
    status: 'done',
    error: null,
    statistics: { promptTokens: 1, cachedTokens: 0, completionTokens: 2, firstTokenMs: 3, totalMs: 4 },
  },
);

it('reads what it wrote', () => {
  expect(parseConversation(serializeConversation(tree))).toEqual(tree);
});

it('treats an unfinished answer as stopped, and drops invalid selections', () => {
  const streaming = {
    ...tree,
    messages: { ...tree.messages, b: { ...tree.messages.b!, status: 'streaming' } },
  };
  const text = serializeConversation({
    ...streaming,
    selected: { ...tree.selected, b: 'a' },
  } as Conversation);
  const read = parseConversation(text);
  expect(read.messages.b).toMatchObject({ status: 'stopped' });
  expect(read.selected).toEqual(tree.selected);
});

it.each([
  ['not json', 'it is not JSON'],
  ['{"messages": {}}', 'not a conversation'],
  [serializeConversation(tree).replace('"version": 1', '"version": 9'), 'version is 9'],
  [serializeConversation(tree).replace('data:image/png', 'https://example.com/'), 'not part of the file'],
  [serializeConversation(tree).replace('"role": "user"', '"role": "root"'), 'role'],
  [serializeConversation(tree).replace('"text": "What is this?"', '"text": 7'), 'text should be a string'],
])('refuses what it cannot show: %#', (text, message) => {
  expect(() => parseConversation(text)).toThrow(message);
});
