import { expect, it } from 'vitest';
import { append, type Conversation, emptyConversation, ROOT } from '../conversation/conversation.js';
import { DEFAULT_SETTINGS } from '../settings/answer-settings.js';
import { chatRequest } from './chat-request.js';

const asked: Conversation = append(emptyConversation(), {
  role: 'user',
  id: 'a',
  parentId: ROOT,
  createdAt: 0,
  text: 'Is it cold in Paris?',
  attachments: [],
});

it('sends only what was set', () => {
  expect(chatRequest(asked, 'a', 'demo', DEFAULT_SETTINGS)).toEqual({
    model: 'demo',
    messages: [{ role: 'user', content: 'Is it cold in Paris?' }],
  });
});

it('puts settings, the system prompt and tools into the fields of the API', () => {
  const settings = { ...DEFAULT_SETTINGS, temperature: 0, maxTokens: 9, stop: 'END\n\n.', tools: true };
  expect(chatRequest({ ...asked, systemPrompt: 'Be brief.' }, 'a', 'demo', settings)).toMatchObject({
    messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user' }],
    temperature: 0,
    max_completion_tokens: 9,
    stop: ['END', '.'],
    tools: [{ function: { name: 'get_weather' } }, { function: { name: 'calculate' } }],
  });
});

it('sends calls with their results, and omits a call that was stopped', () => {
  const use = { id: 'c1', name: 'get_weather', arguments: '{"city":"Paris"}', result: '{"temperature":3}' };
  const answered = append(asked, {
    role: 'assistant',
    id: 'b',
    parentId: 'a',
    createdAt: 0,
    rounds: [
      { reasoning: 'Hm.', text: '', toolUses: [use, { ...use, id: 'c2', result: null }] },
      { reasoning: '', text: 'It is.', toolUses: [] },
    ],
    status: 'stopped',
    error: null,
    statistics: null,
  });
  const later = append(answered, {
    role: 'user',
    id: 'c',
    parentId: 'b',
    createdAt: 0,
    text: 'Thanks.',
    attachments: [],
  });
  const { messages } = chatRequest(later, 'c', 'demo', DEFAULT_SETTINGS);
  expect(messages).toEqual([
    { role: 'user', content: 'Is it cold in Paris?' },
    {
      role: 'assistant',
      content: null,
      tool_calls: [
        { id: 'c1', type: 'function', function: { name: 'get_weather', arguments: '{"city":"Paris"}' } },
      ],
    },
    { role: 'tool', tool_call_id: 'c1', content: '{"temperature":3}' },
    { role: 'assistant', content: 'It is.' },
    { role: 'user', content: 'Thanks.' },
  ]);
});

it('sends media before the text, and a video as timed frames', () => {
  const frame = (timestampSeconds: number) => ({
    url: `data:image/jpeg;base64,${timestampSeconds}`,
    timestampSeconds,
  });
  const withVideo = append(emptyConversation(), {
    role: 'user',
    id: 'a',
    parentId: ROOT,
    createdAt: 0,
    text: 'What happens?',
    attachments: [
      {
        kind: 'image',
        id: 'i',
        name: 'i',
        url: 'data:image/png;base64,A',
        width: 1,
        height: 1,
        budget: 1120,
      },
      { kind: 'audio', id: 's', name: 's', wav: 'AA', sampleCount: 1, peaks: [] },
      {
        kind: 'video',
        id: 'v',
        name: 'v',
        width: 1,
        height: 1,
        seconds: 70,
        frames: [frame(0), frame(65.9)],
      },
    ],
  });
  const { messages } = chatRequest(withVideo, 'a', 'demo', DEFAULT_SETTINGS);
  expect(messages).toEqual([
    {
      role: 'user',
      content: [
        { type: 'image_url', image_url: { url: 'data:image/png;base64,A', max_soft_tokens: 1120 } },
        { type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } },
        { type: 'text', text: '00:00 ' },
        { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,0', max_soft_tokens: 70 } },
        { type: 'text', text: '01:05 ' },
        { type: 'image_url', image_url: { url: 'data:image/jpeg;base64,65.9', max_soft_tokens: 70 } },
        { type: 'text', text: 'What happens?' },
      ],
    },
  ]);
});

it('sends the thoughts of an answer that is continued, and of no other', () => {
  const stopped = append(asked, {
    role: 'assistant',
    id: 'b',
    parentId: 'a',
    createdAt: 0,
    rounds: [{ reasoning: 'Paris is', text: '', toolUses: [] }],
    status: 'streaming',
    error: null,
    statistics: null,
  });
  expect(chatRequest(stopped, 'b', 'demo', DEFAULT_SETTINGS)).toMatchObject({
    messages: [{ role: 'user' }, { role: 'assistant', content: '', reasoning_content: 'Paris is' }],
  });
});

it('leaves out what is before the start of the context, and tells the model the summary', () => {
  let tree = append(asked, {
    role: 'assistant',
    id: 'b',
    parentId: 'a',
    createdAt: 0,
    rounds: [{ reasoning: '', text: 'Yes.', toolUses: [] }],
    status: 'done',
    error: null,
    statistics: null,
  });
  const next = {
    role: 'user',
    id: 'c',
    parentId: 'b',
    createdAt: 0,
    text: 'And now?',
    attachments: [],
  } as const;
  tree = {
    ...append(tree, { ...next, contextStart: { summary: 'It is cold.' } }),
    systemPrompt: 'Be brief.',
  };
  expect(chatRequest(tree, 'c', 'demo', DEFAULT_SETTINGS).messages).toEqual([
    { role: 'system', content: 'Be brief.\n\nSummary of the conversation so far: It is cold.' },
    { role: 'user', content: 'And now?' },
  ]);
});

it('asks for a JSON schema only if the text is one', () => {
  const schema = { type: 'object', properties: { answer: { type: 'number' } } };
  expect(
    chatRequest(asked, 'a', 'demo', { ...DEFAULT_SETTINGS, schema: JSON.stringify(schema) }),
  ).toMatchObject({
    response_format: { type: 'json_schema', json_schema: { schema } },
  });
  expect(chatRequest(asked, 'a', 'demo', { ...DEFAULT_SETTINGS, schema: '{"type":' })).not.toHaveProperty(
    'response_format',
  );
});
