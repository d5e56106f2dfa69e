import { expect, it } from 'vitest';
import { append, type Conversation, emptyConversation, ROOT } from './conversation.js';
import { parseConversations, serializeConversations } from './exchange.js';

const tree: Conversation = append(
  append(emptyConversation('Be brief.'), {
    role: 'user',
    id: 'a',
    parentId: ROOT,
    createdAt: 7,
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
    createdAt: 8,
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
  const titled = { ...tree, title: 'Mine', settings: { temperature: 0, tools: true } };
  expect(parseConversations(serializeConversations([tree, titled]))).toEqual([tree, titled]);
});

it('treats an unfinished answer as stopped, and drops invalid selections', () => {
  const streaming = {
    ...tree,
    messages: { ...tree.messages, b: { ...tree.messages.b!, status: 'streaming' } },
  };
  const odd = { ...streaming, selected: { ...tree.selected, b: 'a' } } as Conversation;
  const read = parseConversations(serializeConversations([odd]))[0]!;
  expect(read.messages.b).toMatchObject({ status: 'stopped' });
  expect(read.selected).toEqual(tree.selected);
});

it.each([
  ['not json', 'it is not JSON'],
  ['{"messages": {}}', 'not a conversation'],
  [serializeConversations([tree]).replace('"version": 2', '"version": 9'), 'version is 9'],
  [serializeConversations([tree]).replace('data:image/png', 'https://example.com/'), 'not part of the file'],
  [serializeConversations([tree]).replace('"role": "user"', '"role": "root"'), 'role'],
  [serializeConversations([tree]).replace('"text": "What is this?"', '"text": 7'), 'text should be a string'],
])('refuses what it cannot show: %#', (text, message) => {
  expect(() => parseConversations(text)).toThrow(message);
});

it('reads a file of version 1, which holds one conversation without times', () => {
  const { title: _, settings: __, ...old } = tree;
  const messages = Object.fromEntries(
    Object.values(tree.messages).map(({ createdAt: ___, ...message }) => [message.id, message]),
  );
  const text = JSON.stringify({ format: 'markbase-conversation', version: 1, ...old, messages });
  const [read] = parseConversations(text);
  expect(read).toMatchObject({ title: null, settings: {}, selected: tree.selected });
  expect(Object.values(read!.messages).map(({ id }) => id)).toEqual(['a', 'b']);
  expect(read!.messages.b!.createdAt - read!.messages.a!.createdAt).toBe(1);
});
