import { expect, it } from 'vitest';
import {
  type AssistantMessage,
  answerText,
  append,
  emptyConversation,
  pathOf,
  pathTo,
  ROOT,
  remove,
  restore,
  select,
  siblingsOf,
  titleOf,
  type UserMessage,
  updateAnswer,
} from './conversation.js';

const ask = (id: string, parentId = ROOT): UserMessage => ({
  role: 'user',
  id,
  parentId,
  createdAt: 0,
  text: id,
  attachments: [],
});
const answer = (id: string, parentId: string, text = id): AssistantMessage => ({
  role: 'assistant',
  id,
  parentId,
  createdAt: 0,
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
  expect(ids(pathTo(tree, 'a1'))).toEqual(['a', 'a1']);
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

it('deletes a message with what follows it, shows another version, and restores both', () => {
  let tree = append(append(emptyConversation(), ask('a')), answer('a1', 'a'));
  tree = append(append(tree, answer('a2', 'a')), ask('b', 'a2'));
  const less = remove(tree, 'a2');
  expect(Object.keys(less.messages)).toEqual(['a', 'a1']);
  expect(ids(pathOf(less))).toEqual(['a', 'a1']);
  expect(remove(tree, 'nothing')).toBe(tree);
  const again = restore(append(less, ask('c', 'a1')), tree);
  expect(ids(pathOf(again))).toEqual(['a', 'a2', 'b']);
  expect(again.messages.c).toBeDefined();
});

it.each([
  ['# What is *this*?\nMore.', 'What is *this*?'],
  ['\n\n', 'Untitled'],
  [`${'word '.repeat(30)}`, `${'word '.repeat(11)}word…`],
])('makes a title from the first question: %j', (text, title) => {
  expect(titleOf(append(emptyConversation(), { ...ask('a'), text }))).toBe(title);
  expect(titleOf({ ...append(emptyConversation(), ask('a')), title: 'Mine' })).toBe('Mine');
});
