import { expect, it } from 'vitest';
import {
  type AssistantMessage,
  answerText,
  append,
  emptyConversation,
  pathOf,
  ROOT,
  select,
  siblingsOf,
  type UserMessage,
  updateAnswer,
} from './conversation.js';

const ask = (id: string, parentId = ROOT): UserMessage => ({
  role: 'user',
  id,
  parentId,
  text: id,
  attachments: [],
});
const answer = (id: string, parentId: string, text = id): AssistantMessage => ({
  role: 'assistant',
  id,
  parentId,
  rounds: [{ reasoning: '', text, toolUses: [] }],
  status: 'done',
  error: null,
  statistics: null,
});
const ids = (messages: readonly { id: string }[]) => messages.map(({ id }) => id);

it('keeps every branch, and shows the last selected one at each message', () => {
  let tree = append(append(emptyConversation(), ask('a')), answer('a1', 'a'));
  tree = append(append(tree, ask('b', 'a1')), answer('b1', 'b'));
  expect(ids(pathOf(tree))).toEqual(['a', 'a1', 'b', 'b1']);
  tree = append(tree, answer('a2', 'a'));
  expect(ids(pathOf(tree))).toEqual(['a', 'a2']);
  expect(ids(siblingsOf(tree, 'a2'))).toEqual(['a1', 'a2']);
  tree = select(tree, 'a1');
  expect(ids(pathOf(tree))).toEqual(['a', 'a1', 'b', 'b1']);
  expect(ids(pathOf(tree, 'a1'))).toEqual(['a', 'a1']);
  tree = append(tree, ask('c'));
  expect(ids(pathOf(tree))).toEqual(['c']);
  expect(ids(siblingsOf(tree, 'a'))).toEqual(['a', 'c']);
});

it('changes only answers, and ignores unknown ids', () => {
  const tree = append(append(emptyConversation('Be brief.'), ask('a')), answer('a1', 'a'));
  const stopped = updateAnswer(tree, 'a1', (message) => ({ ...message, status: 'stopped' }));
  expect(stopped.messages.a1).toMatchObject({ status: 'stopped' });
  expect(tree.messages.a1).toMatchObject({ status: 'done' });
  expect(updateAnswer(tree, 'a', (message) => message)).toBe(tree);
  expect(select(tree, 'nothing')).toBe(tree);
});

it('joins the text between tool calls', () => {
  const message = answer('x', 'a');
  const rounds = ['Let me look.', '', 'It is sunny.'].map((text) => ({ reasoning: '', text, toolUses: [] }));
  expect(answerText({ ...message, rounds })).toBe('Let me look.\n\nIt is sunny.');
});
