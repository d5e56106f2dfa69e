import type { ChatMessage, ContentPart, GenerateOptions, JsonSchema, ToolDefinition } from '@markbase/text';
import type { AnswerPlan } from '../answering/answer-plan.js';
import { samplingOptions, withoutNulls } from '../answering/sampling.js';
import { mediaPart, plainText, toolResult } from '../chat/chat-plan.js';
import { exactValue } from '../http/exact-value.js';
import { base64Bytes, mediaAddress } from '../media/data-url.js';
import type { ServedModel } from '../server-options.js';
import type { MessageRequest, PromptRequest } from './message-request.js';

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
      toolChoice: toolChoiceOf(choice),
      parallelToolCalls:
        choice && 'disable_parallel_tool_use' in choice ? !choice.disable_parallel_tool_use : null,
      responseFormat: output?.format ? { schema: output.format.schema as JsonSchema } : null,
      maxThinkingTokens: thinking?.type === 'enabled' ? thinking.budget_tokens : null,
    }),
  } as GenerateOptions;
  return { served, options, count: 1 };
}

/** The options that determine the prompt. */
export function promptOptions(
  request: PromptRequest,
): Pick<GenerateOptions, 'tools' | 'enableThinking'> & { readonly messages: readonly ChatMessage[] } {
  const { system, messages, tools, thinking } = request;
  return {
    ...(tools && { tools: tools.map(toolOf) }),
    ...(thinking && { enableThinking: thinking.type !== 'disabled' }),
    messages: [
      ...(system ? [{ role: 'system' as const, content: plainText(system) }] : []),
      ...messages.flatMap((message, index) => messagesOf(message, `messages[${index}]`)),
    ],
  };
}

function toolOf({
  name,
  description,
  input_schema: parameters,
  strict,
}: NonNullable<PromptRequest['tools']>[number]) {
  const definition: ToolDefinition = {
    type: 'function',
    function: { name, description, parameters, strict },
  };
  return definition;
}

function toolChoiceOf(choice: PromptRequest['tool_choice']): GenerateOptions['toolChoice'] | null {
  if (!choice) return null;
  if (choice.type === 'tool') return { name: choice.name };
  return choice.type === 'any' ? 'required' : choice.type;
}

/** Converts one message of the API. Tool results become messages of their own. */
function messagesOf(message: RequestMessage, where: string): ChatMessage[] {
  if (message.role === 'assistant') return [assistantMessage(message.content)];
  if (typeof message.content === 'string') return [{ role: 'user', content: message.content }];
  const results: ChatMessage[] = [];
  const parts: ContentPart[] = [];
  for (const [index, block] of message.content.entries()) {
    if (block.type === 'tool_result') {
      const text = plainText(block.content ?? '');
      results.push({
        role: 'tool',
        content: block.is_error ? { error: text } : toolResult(text),
        toolCallId: block.tool_use_id,
      });
    } else {
      parts.push(partOf(block, `${where}.content[${index}]`));
    }
  }
  return parts.length > 0 ? [...results, { role: 'user', content: parts }] : results;
}

function assistantMessage(content: Extract<RequestMessage, { role: 'assistant' }>['content']): ChatMessage {
  if (typeof content === 'string') return { role: 'assistant', content };
  const textOf = (type: 'text' | 'thinking') =>
    content
      .map((block) => (block.type !== type ? '' : block.type === 'text' ? block.text : block.thinking))
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
