import {
  type ChatMessage,
  type ContentPart,
  type GenerateOptions,
  type JsonSchema,
  parseExactJson,
  type ToolDefinition,
} from '@markbase/text';
import type { AnswerPlan } from '../answering/answer-plan.js';
import { samplingOptions, withoutNulls } from '../answering/sampling.js';
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
  const toolNames = new Map<string, string>();
  const options = {
    ...samplingOptions(request, served.model.config.vocabularySize),
    ...withoutNulls({
      maxTokens: request.max_completion_tokens ?? request.max_tokens,
      logprobs: request.logprobs,
      topLogprobs: request.top_logprobs,
      tools: request.tools as readonly ToolDefinition[] | null | undefined,
      toolChoice: toolChoiceOf(request.tool_choice),
      parallelToolCalls: request.parallel_tool_calls,
      responseFormat: responseFormatOf(request.response_format),
      enableThinking: request.chat_template_kwargs?.enable_thinking ?? isThinking(request.reasoning_effort),
      preserveThinking: request.chat_template_kwargs?.preserve_thinking,
    }),
    messages: request.messages.map((message, index) => messageOf(message, `messages[${index}]`, toolNames)),
  } as GenerateOptions;
  return { served, options, count };
}

/** Whether a reasoning effort enables thinking; undefined = the default. */
export function isThinking(effort: string | null | undefined): boolean | undefined {
  return effort ? effort !== 'none' && effort !== 'minimal' : undefined;
}

function toolChoiceOf(choice: ChatRequest['tool_choice']): GenerateOptions['toolChoice'] | null {
  return typeof choice === 'object' && choice !== null ? { name: choice.function.name } : choice;
}

function responseFormatOf(format: ChatRequest['response_format']): GenerateOptions['responseFormat'] | null {
  if (!format || format.type === 'text') return null;
  return format.type === 'json_object' ? 'json' : { schema: format.json_schema.schema as JsonSchema };
}

function messageOf(message: RequestMessage, where: string, toolNames: Map<string, string>): ChatMessage {
  switch (message.role) {
    case 'user': {
      const { content } = message;
      if (typeof content === 'string') return { role: 'user', content };
      return {
        role: 'user',
        content: content.map((part, index) => partOf(part, `${where}.content[${index}]`)),
      };
    }
    case 'assistant': {
      const { content, refusal, tool_calls: calls } = message;
      for (const call of calls ?? []) toolNames.set(call.id, call.function.name);
      const reasoning = message.reasoning_content ?? message.reasoning;
      return {
        role: 'assistant',
        content: content ?? refusal ?? '',
        ...(reasoning && { reasoning }),
        ...(calls?.length && {
          toolCalls: calls.map(({ id, function: { name, arguments: values } }) => ({
            id,
            name,
            arguments: values,
          })),
        }),
      };
    }
    case 'tool': {
      const toolCallId = message.tool_call_id;
      return {
        role: 'tool',
        content: toolResult(plainText(message.content)),
        toolCallId,
        name: message.name,
      };
    }
    default:
      return { role: message.role, content: message.content };
  }
}

function partOf(part: UserPart, where: string): ContentPart {
  switch (part.type) {
    case 'text':
      return part;
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
export function toolResult(text: string): string | Record<string, unknown> {
  if (!/^\s*\{/.test(text)) return text;
  try {
    return parseExactJson(text) as Record<string, unknown>;
  } catch {
    return text;
  }
}
