import { beforeAll, describe, expect, it } from 'vitest';
import { testChatTemplate } from '../../test/test-chat-template.js';
import { loadTestTokenizer } from '../../test/test-tokenizer.js';
import type { Tokenizer } from '../tokenizer/index.js';
import type { ChatMessage } from './chat-message.js';
import { ChatTemplate } from './chat-template.js';
import { renderChat } from './encode-chat.js';

/** Supports tool results only as `tool_responses` of the message that made the calls. */
const native = new ChatTemplate(
  `{{- bos_token -}}
  {%- for message in messages -%}
    {{- '<|turn>' + message.role + '\\n' -}}
    {%- for call in message.tool_calls or [] -%}{{- '<|tool_call>' + call.function.name + '<tool_call|>' -}}{%- endfor -%}
    {%- for result in message.tool_responses or [] -%}
      {{- '<|tool_response>' + result.name + ':' + (result.response if result.response is string else result.response.ok) + '<tool_response|>' -}}
    {%- endfor -%}
    {{- message.content + ('' if message.tool_responses and not message.content else '<turn|>\\n') -}}
  {%- endfor -%}`,
);

let tokenizer: Tokenizer;
beforeAll(async () => {
  tokenizer = await loadTestTokenizer();
});

function rendered(messages: ChatMessage[]): string {
  return renderChat(tokenizer, native, messages)
    .map((segment) => segment.text)
    .join('');
}

const calls: ChatMessage[] = [
  { role: 'user', content: 'Q' },
  { role: 'assistant', toolCalls: ['a', 'b'].map((name) => ({ id: `id_${name}`, name, arguments: {} })) },
  { role: 'tool', toolCallId: 'id_b', content: '2' },
  { role: 'tool', name: 'a', content: { ok: '1' } },
];
const start =
  '<bos><|turn>user\nQ<turn|>\n<|turn>assistant\n<|tool_call>a<tool_call|><|tool_call>b<tool_call|>' +
  '<|tool_response>b:2<tool_response|><|tool_response>a:1<tool_response|>';

describe('templates without support for messages of role tool', () => {
  it('are recognised', () => {
    expect(native.abilities.needsFoldedTools).toBe(true);
    expect(testChatTemplate('small').abilities.needsFoldedTools).toBe(false);
    expect(new ChatTemplate("{{ raise_exception('no') }}").abilities.needsFoldedTools).toBe(false);
  });

  it('get the results inside the message that made the calls', () => {
    expect(rendered(calls)).toBe(start);
  });

  it('get the answer there too', () => {
    expect(rendered([...calls, { role: 'assistant', content: 'A' }, { role: 'user', content: 'R' }])).toBe(
      `${start}A<turn|>\n<|turn>user\nR<turn|>\n`,
    );
  });

  it('get further calls as a separate message', () => {
    const more: ChatMessage[] = [
      { role: 'assistant', toolCalls: [{ id: 'c', name: 'c', arguments: {} }] },
      { role: 'tool', toolCallId: 'c', content: '3' },
    ];
    expect(rendered([...calls, ...more])).toBe(
      `${start}<|turn>assistant\n<|tool_call>c<tool_call|><|tool_response>c:3<tool_response|>`,
    );
  });
});
