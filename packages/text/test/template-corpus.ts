import { readFileSync } from 'node:fs';
import { parseExactJson } from '../src/chat/exact-json.js';
import type { ChatMessage, ChatOptions } from '../src/chat/index.js';

/** A conversation in the format of transformers. */
interface Conversation {
  readonly messages: readonly {
    readonly role: ChatMessage['role'];
    readonly content: ChatMessage['content'];
    readonly reasoning?: string;
    readonly tool_call_id?: string;
    readonly tool_calls?: readonly {
      id: string;
      function: { name: string; arguments: Record<string, unknown> };
    }[];
  }[];
  readonly tools: ChatOptions['tools'];
  readonly enable_thinking: boolean;
  readonly preserve_thinking: boolean;
}

/** A conversation in the engine's format. */
export interface CorpusEntry {
  readonly messages: ChatMessage[];
  readonly options: ChatOptions;
}

const folder = new URL('../../../fixtures/chat-templates/', import.meta.url);

/** Conversations with all kinds of numbers, strings and keys. */
export function templateCorpus(): CorpusEntry[] {
  const text = readFileSync(new URL('conversations.json', folder), 'utf8');
  return (parseExactJson(text) as Conversation[]).map((conversation) => ({
    messages: conversation.messages.map(
      ({ role, content, reasoning, tool_call_id: toolCallId, tool_calls: calls }) => ({
        role,
        content,
        ...(reasoning !== undefined && { reasoning }),
        ...(toolCallId !== undefined && { toolCallId }),
        ...(calls && {
          toolCalls: calls.map(({ id, function: { name, arguments: values } }) => ({
            id,
            name,
            arguments: values,
          })),
        }),
      }),
    ),
    options: {
      tools: conversation.tools,
      enableThinking: conversation.enable_thinking,
      preserveThinking: conversation.preserve_thinking,
    },
  }));
}

/** The corpus rendered by Jinja2 3.1.6 with our own templates: `small`, `large` and `demo`. */
export function jinja2Renders(): Record<string, string[]> {
  return JSON.parse(readFileSync(new URL('rendered.json', folder), 'utf8')) as Record<string, string[]>;
}
