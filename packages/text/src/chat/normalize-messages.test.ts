import { describe, expect, it } from 'vitest';
import type { ChatMessage } from './chat-message.js';
import { normalizeMessages } from './normalize-messages.js';

const invalid = (argument: string) => expect.objectContaining({ code: 'INVALID_ARGUMENT', argument });

const calling: ChatMessage = {
  role: 'assistant',
  toolCalls: [{ id: 'a', name: 'f', arguments: '{"x":1}' }],
};

describe('normalizeMessages', () => {
  it('converts calls and results into the form that templates expect', () => {
    const { messages } = normalizeMessages([
      { role: 'user', content: 'Hi' },
      { ...calling, reasoning: 'hm' },
      {
        role: 'tool',
        toolCallId: 'a',
        content: [
          { type: 'text', text: 'x' },
          { type: 'text', text: 'y' },
        ],
      },
      { role: 'tool', name: 'f', content: { ok: true } },
    ]);
    expect(messages).toEqual([
      { role: 'user', content: 'Hi' },
      {
        role: 'assistant',
        content: '',
        reasoning: 'hm',
        reasoning_content: 'hm',
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: { x: 1 } } }],
      },
      { role: 'tool', tool_call_id: 'a', content: 'xy' },
      { role: 'tool', name: 'f', content: { ok: true } },
    ]);
  });

  it('lists media in order and drops their data', () => {
    const { messages, media } = normalizeMessages([
      { role: 'user', content: [{ type: 'video', data: 1 }, { type: 'text', text: '' }, { type: 'image' }] },
      { role: 'user', content: [{ type: 'audio' }] },
    ]);
    expect(media).toEqual(['video', 'image', 'audio']);
    expect(messages[0]!.content).toEqual([{ type: 'video' }, { type: 'text', text: '' }, { type: 'image' }]);
  });

  it.each([
    ['a<|channel>thought\nb<channel|>c', 'ac'],
    ['<|channel>thought\nnever closed', ''],
    ['a<channel|>b', 'ab'],
    ['plain', 'plain'],
  ])('takes thoughts out of the answer %j', (content, expected) => {
    expect(normalizeMessages([{ role: 'assistant', content }]).messages[0]!.content).toBe(expected);
    const parts = normalizeMessages([{ role: 'assistant', content: [{ type: 'text', text: content }] }]);
    expect(parts.messages[0]!.content).toEqual([{ type: 'text', text: expected }]);
  });

  it('treats empty arguments as none', () => {
    const toolCalls = [{ name: 'f', arguments: ' ' }];
    const { messages } = normalizeMessages([{ role: 'assistant', toolCalls }]);
    expect(messages[0]!.tool_calls).toMatchObject([{ function: { arguments: {} } }]);
  });

  it.each<[string, unknown]>([
    ['messages', []],
    ['messages', 'Hi'],
    ['messages[0].role', [{ role: 'model', content: 'x' }]],
    ['messages[0].role', [null]],
    ['messages[0].content', [{ role: 'user', content: 5 }]],
    ['messages[0].content', [{ role: 'user', content: { a: 1 } }]],
    ['messages[0].content[0]', [{ role: 'user', content: [{ type: 'file' }] }]],
    ['messages[0].content[0]', [{ role: 'user', content: [{ type: 'text' }] }]],
    ['messages[0].content[0]', [{ role: 'user', content: [null] }]],
    ['messages[0].reasoning', [{ role: 'assistant', reasoning: 1 }]],
    ['messages[0].toolCalls', [{ role: 'assistant', toolCalls: {} }]],
    ['messages[0].toolCalls[0].name', [{ role: 'assistant', toolCalls: [{ arguments: {} }] }]],
    ['messages[0].toolCalls[0].name', [{ role: 'assistant', toolCalls: [null] }]],
    [
      'messages[0].toolCalls[0].arguments',
      [{ role: 'assistant', toolCalls: [{ name: 'f', arguments: '[1]' }] }],
    ],
    [
      'messages[0].toolCalls[0].arguments',
      [{ role: 'assistant', toolCalls: [{ name: 'f', arguments: '{' }] }],
    ],
    ['messages[0]', [{ role: 'tool', content: 'x' }]],
    ['messages[1].toolCallId', [calling, { role: 'tool', toolCallId: 'b', content: 'x' }]],
    ['messages[1].toolCallId', [calling, { role: 'tool', toolCallId: 1, content: 'x' }]],
  ])('refuses a wrong %s', (argument, messages) => {
    expect(() => normalizeMessages(messages as ChatMessage[])).toThrow(invalid(argument));
  });
});
