import {
  type ChatMessage,
  type ContentPart,
  type GenerateOptions,
  type JsonSchema,
  parseExactJson,
  type ToolDefinition,
} from '@markbase/text';
import type { AnswerPlan } from '../answering/answer-plan.js';
import type { MessageOrigin } from '../answering/argument-names.js';
import { samplingOptions, withoutNulls } from '../answering/sampling.js';
import { type ToolSelection, toolOptions } from '../answering/tool-options.js';
import { badParameter } from '../errors/request-error.js';
import { base64Bytes, mediaAddress } from '../media/data-url.js';
import { budgetOf, type MediaSource } from '../media/media-source.js';
import type { ServedModel } from '../server-options.js';
import type { ChatRequest } from './chat-request.js';

type RequestMessage = ChatRequest['messages'][number];
type UserPart = Exclude<Extract<RequestMessage, { role: 'user' }>['content'], string>[number];

/** The engine request for a chat completion. @throws RequestError (400) for parameters that contradict each other */
export function chatPlan(request: ChatRequest, served: ServedModel, choicesLimit: number): AnswerPlan {
  const count = request.n ?? 1;
  if (count > choicesLimit) {
    throw badParameter(
      'n',
      `Invalid value for 'n': at most ${choicesLimit} answers per request`,
      'invalid_value',
    );
  }
  if (request.top_logprobs && !request.logprobs) {
    throw badParameter('top_logprobs', "'top_logprobs' requires 'logprobs': true", 'invalid_value');
  }
  const functions = functionsOf(request.tools);
  const options = {
    ...samplingOptions(request, served.model.config.vocabularySize),
    ...withoutNulls({
      maxTokens: request.max_completion_tokens ?? request.max_tokens,
      logprobs: request.logprobs,
      topLogprobs: request.top_logprobs,
      parallelToolCalls: request.parallel_tool_calls,
      responseFormat: responseFormatOf(request.response_format),
      enableThinking: request.chat_template_kwargs?.enable_thinking ?? isThinking(request.reasoning_effort),
      preserveThinking: request.chat_template_kwargs?.preserve_thinking,
      prediction: request.prediction && plainText(request.prediction.content),
    }),
    ...toolOptions(functions?.map(({ tool }) => tool) ?? null, selectionOf(request.tool_choice)),
    messages: request.messages.map((message, index) => messageOf(message, `messages[${index}]`)),
  } as GenerateOptions;
  const names = {
    messages: request.messages.map(originOf),
    tools: functions?.map(({ path }) => path) ?? [],
    prompt: 'messages',
    fields: {
      maxTokens: request.max_completion_tokens ? 'max_completion_tokens' : 'max_tokens',
      ...(request.response_format?.type === 'json_schema' && {
        responseFormat: 'response_format.json_schema',
      }),
    },
  };
  return { served, options, count, names };
}

function originOf(message: RequestMessage, index: number): MessageOrigin {
  const path = `messages[${index}]`;
  if (message.role !== 'assistant' || !message.tool_calls) return { path };
  return { path, calls: message.tool_calls.map(({ type }, call) => `${path}.tool_calls[${call}].${type}`) };
}

function functionsOf(tools: ChatRequest['tools']): { tool: ToolDefinition; path: string }[] | null {
  if (!tools) return null;
  return tools.flatMap((tool, index) =>
    tool ? [{ tool: tool as ToolDefinition, path: `tools[${index}].function` }] : [],
  );
}

/** Whether a reasoning effort enables thinking; undefined = the default. */
export function isThinking(effort: string | null | undefined): boolean | undefined {
  return effort ? effort !== 'none' && effort !== 'minimal' : undefined;
}

function selectionOf(choice: ChatRequest['tool_choice']): ToolSelection | null {
  if (typeof choice !== 'object' || choice === null) return choice ?? null;
  if (choice.type === 'function') return { name: choice.function.name };
  const { mode, tools } = choice.allowed_tools;
  return { mode, names: tools.map((tool) => tool.function.name) };
}

function responseFormatOf(format: ChatRequest['response_format']): GenerateOptions['responseFormat'] | null {
  if (!format || format.type === 'text') return null;
  return format.type === 'json_object' ? 'json' : { schema: format.json_schema.schema as JsonSchema };
}

function messageOf(message: RequestMessage, where: string): ChatMessage {
  switch (message.role) {
    case 'user': {
      return { role: 'user', content: contentOf(message.content, where) };
    }
    case 'assistant': {
      const { content, refusal, tool_calls: calls } = message;
      const reasoning = message.reasoning_content ?? message.reasoning;
      return {
        role: 'assistant',
        content: assistantText(content) || (refusal ?? ''),
        ...(reasoning && { reasoning }),
        ...(calls?.length && {
          toolCalls: calls.map((call) =>
            call.type === 'function'
              ? { id: call.id, name: call.function.name, arguments: call.function.arguments }
              : { id: call.id, name: call.custom.name, arguments: { input: call.custom.input } },
          ),
        }),
      };
    }
    case 'tool': {
      const toolCallId = message.tool_call_id;
      return {
        role: 'tool',
        content: resultContent(contentOf(message.content, where)),
        toolCallId,
        name: message.name,
      };
    }
    default:
      return { role: message.role, content: contentOf(message.content, where) };
  }
}

function contentOf(content: string | readonly UserPart[], where: string): string | ContentPart[] {
  if (typeof content === 'string') return content;
  return content.map((part, index) => partOf(part, `${where}.content[${index}]`));
}

function assistantText(content: Extract<RequestMessage, { role: 'assistant' }>['content']): string {
  if (typeof content === 'string' || !content) return content ?? '';
  return content.map((part) => (part.type === 'text' ? part.text : part.refusal)).join('');
}

/** The content of a tool result: an object if the text is one, parts if there are media. */
export function resultContent(content: string | readonly ContentPart[]): ChatMessage['content'] {
  if (typeof content === 'string') return toolResult(content);
  const texts = content.flatMap((part) => (part.type === 'text' ? [part as { text: string }] : []));
  return texts.length === content.length ? toolResult(plainText(texts)) : content;
}

function partOf(part: UserPart, where: string): ContentPart {
  switch (part.type) {
    case 'text':
      return { type: 'text', text: part.text };
    case 'image_url': {
      const { url, detail, max_soft_tokens: tokens } = part.image_url;
      const param = `${where}.image_url.url`;
      return mediaPart('image', { data: mediaAddress(url, param), ...budgetOf(detail, tokens), param });
    }
    case 'video_url': {
      const param = `${where}.video_url.url`;
      return mediaPart('video', { data: mediaAddress(part.video_url.url, param), param });
    }
    case 'input_audio': {
      const { data, format } = part.input_audio;
      const param = `${where}.input_audio.data`;
      return mediaPart('audio', { data: base64Bytes(data, param), format, param });
    }
  }
}

/** A media part that has not been encoded yet. */
export function mediaPart(type: 'image' | 'audio' | 'video', source: MediaSource): ContentPart {
  return { type, source };
}

/** The text of all parts, concatenated. */
export function plainText(content: string | readonly { readonly text: string }[]): string {
  return typeof content === 'string' ? content : content.map(({ text }) => text).join('');
}

/** The result of a tool. JSON text of an object is parsed, because models read objects best. */
function toolResult(text: string): string | Record<string, unknown> {
  if (!/^\s*\{/.test(text)) return text;
  try {
    return parseExactJson(text) as Record<string, unknown>;
  } catch {
    return text;
  }
}
