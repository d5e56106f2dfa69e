import type { ChatMessage, ContentPart, GenerateOptions, JsonSchema, ToolDefinition } from '@markbase/text';
import type { AnswerPlan } from '../answering/answer-plan.js';
import type { ArgumentNames, MessageOrigin } from '../answering/argument-names.js';
import { samplingOptions, withoutNulls } from '../answering/sampling.js';
import { type ToolSelection, toolOptions } from '../answering/tool-options.js';
import { mediaPart, plainText, resultContent } from '../chat/chat-plan.js';
import { exactValue } from '../http/exact-value.js';
import { base64Bytes, mediaAddress } from '../media/data-url.js';
import type { ServedModel } from '../server-options.js';
import type { MessageRequest, PromptRequest } from './message-request.js';
import { thoughtOf } from './thinking-signature.js';

type RequestMessage = PromptRequest['messages'][number];
type UserBlock = Exclude<Extract<RequestMessage, { role: 'user' }>['content'], string>[number];

/** The engine request for a message. */
export function messagePlan(request: MessageRequest, served: ServedModel): AnswerPlan {
  const { tool_choice: choice, thinking, output_config: output } = request;
  const options = {
    ...samplingOptions(
      {
        temperature: request.temperature,
        top_p: request.top_p,
        top_k: request.top_k,
        stop: request.stop_sequences,
      },
      served.model.config.vocabularySize,
    ),
    ...promptOptions(request),
    ...withoutNulls({
      maxTokens: request.max_tokens,
      parallelToolCalls:
        choice && 'disable_parallel_tool_use' in choice ? !choice.disable_parallel_tool_use : null,
      responseFormat: output?.format ? { schema: output.format.schema as JsonSchema } : null,
      maxThinkingTokens: thinking?.type === 'enabled' ? thinking.budget_tokens : null,
    }),
  } as GenerateOptions;
  return { served, options, count: 1, names: argumentNames(request) };
}

/** The options that determine the prompt. */
export function promptOptions(request: PromptRequest): Pick<
  GenerateOptions,
  'tools' | 'toolChoice' | 'enableThinking'
> & {
  readonly messages: readonly ChatMessage[];
} {
  const { system, messages, tools, thinking } = request;
  return {
    ...toolOptions(tools?.flatMap(functionsOf) ?? null, selectionOf(request.tool_choice)),
    ...(thinking && { enableThinking: thinking.type !== 'disabled' }),
    messages: [
      ...(system ? [{ role: 'system' as const, content: plainText(system) }] : []),
      ...messages.flatMap((message, index) => messagesOf(message, `messages[${index}]`)),
    ],
  };
}

/** How the API spells the arguments of the engine. */
export function argumentNames(request: PromptRequest): ArgumentNames {
  const { system, messages, tools } = request;
  return {
    messages: [...(system ? [{ path: 'system' }] : []), ...messages.flatMap(originsOf)],
    tools: (tools ?? []).flatMap((tool, index) => (functionsOf(tool).length > 0 ? [`tools[${index}]`] : [])),
    prompt: 'messages',
    fields: {
      arguments: 'input',
      toolCalls: '',
      parameters: 'input_schema',
      toolCallId: 'tool_use_id',
      maxThinkingTokens: 'thinking.budget_tokens',
      responseFormat: 'output_config.format',
      stop: 'stop_sequences',
    },
  };
}

function functionsOf(tool: NonNullable<PromptRequest['tools']>[number]): ToolDefinition[] {
  if (!tool) return [];
  const { name, description, input_schema: parameters, strict } = tool;
  return [{ type: 'function', function: { name, description, parameters, strict } }];
}

function selectionOf(choice: PromptRequest['tool_choice']): ToolSelection | null {
  if (!choice) return null;
  if (choice.type === 'tool') return { name: choice.name };
  return choice.type === 'any' ? 'required' : choice.type;
}

/** The origins of the messages that `messagesOf` makes from one. */
function originsOf(message: RequestMessage, index: number): MessageOrigin[] {
  const path = `messages[${index}]`;
  if (message.role === 'system' || typeof message.content === 'string') return [{ path }];
  const types = message.content.map(({ type }) => type);
  const pathsOf = (wanted: string) =>
    types.flatMap((type, at) => (type === wanted ? [`${path}.content[${at}]`] : []));
  if (message.role === 'assistant') return [{ path, calls: pathsOf('tool_use') }];
  const results = pathsOf('tool_result').map((result) => ({ path: result }));
  return results.length < types.length ? [...results, { path }] : results;
}

/** Converts one message of the API. Tool results become separate messages. */
function messagesOf(message: RequestMessage, where: string): ChatMessage[] {
  if (message.role === 'assistant') return [assistantMessage(message.content)];
  if (message.role === 'system') return [{ role: 'system', content: plainText(message.content) }];
  if (typeof message.content === 'string') return [{ role: 'user', content: message.content }];
  const results: ChatMessage[] = [];
  const parts: ContentPart[] = [];
  for (const [index, block] of message.content.entries()) {
    if (block.type === 'tool_result') {
      results.push({
        role: 'tool',
        content: toolContent(block, `${where}.content[${index}]`),
        toolCallId: block.tool_use_id,
      });
    } else {
      parts.push(partOf(block, `${where}.content[${index}]`));
    }
  }
  return parts.length > 0 ? [...results, { role: 'user', content: parts }] : results;
}

function toolContent(
  block: Extract<UserBlock, { type: 'tool_result' }>,
  where: string,
): ChatMessage['content'] {
  const { content, is_error: isError } = block;
  const parts =
    typeof content === 'object' && content
      ? content.map((part, index) => partOf(part, `${where}.content[${index}]`))
      : (content ?? '');
  const result = resultContent(parts);
  return isError && typeof result === 'string' ? { error: result } : result;
}

function assistantMessage(content: Extract<RequestMessage, { role: 'assistant' }>['content']): ChatMessage {
  if (typeof content === 'string') return { role: 'assistant', content };
  const textOf = (type: 'text' | 'thinking') =>
    content
      .map((block) => {
        if (block.type !== type) return '';
        return block.type === 'text' ? block.text : thoughtOf(block);
      })
      .join('');
  const calls = content.filter((block) => block.type === 'tool_use');
  const reasoning = textOf('thinking');
  return {
    role: 'assistant',
    content: textOf('text'),
    ...(reasoning !== '' && { reasoning }),
    ...(calls.length > 0 && {
      toolCalls: calls.map(({ id, name, input }) => ({ id, name, arguments: exactValue(input) })),
    }),
  };
}

function partOf(block: Exclude<UserBlock, { type: 'tool_result' }>, where: string): ContentPart {
  if (block.type === 'text') return { type: 'text', text: block.text };
  const { source } = block;
  if (source.type === 'url') {
    const param = `${where}.source.url`;
    return mediaPart('image', { data: mediaAddress(source.url, param), param });
  }
  const param = `${where}.source.data`;
  return mediaPart('image', { data: base64Bytes(source.data, param), param });
}
