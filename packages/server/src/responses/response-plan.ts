import type { ChatMessage, ContentPart, GenerateOptions, JsonSchema, ToolDefinition } from '@markbase/text';
import type { AnswerPlan } from '../answering/answer-plan.js';
import { samplingOptions, withoutNulls } from '../answering/sampling.js';
import { isThinking, mediaPart, plainText, toolResult } from '../chat/chat-plan.js';
import { badParameter } from '../errors/request-error.js';
import { base64Bytes, mediaAddress } from '../media/data-url.js';
import { budgetOf } from '../media/media-source.js';
import type { ServedModel } from '../server-options.js';
import type { ResponseRequest } from './response-request.js';

type InputItem = Exclude<ResponseRequest['input'], string>[number];
type InputMessage = Extract<InputItem, { type: 'message' }>;
type InputPart = Exclude<InputMessage['content'], string>[number];

/** The engine request for a response. */
export function responsePlan(request: ResponseRequest, served: ServedModel): AnswerPlan {
  const { tool_choice: choice, tools, text, include } = request;
  const format = text?.format;
  const hasLogprobs = include?.includes('message.output_text.logprobs') ?? false;
  if (request.top_logprobs && !hasLogprobs) {
    const message = "'top_logprobs' requires 'include': ['message.output_text.logprobs']";
    throw badParameter('top_logprobs', message, 'invalid_value');
  }
  const options = {
    ...samplingOptions(request, served.model.config.vocabularySize),
    ...withoutNulls({
      maxTokens: request.max_output_tokens,
      logprobs: hasLogprobs || null,
      topLogprobs: request.top_logprobs,
      tools: tools?.map(
        ({ type, ...definition }): ToolDefinition => ({
          type,
          function: definition as ToolDefinition['function'],
        }),
      ),
      toolChoice: typeof choice === 'object' && choice !== null ? { name: choice.name } : choice,
      parallelToolCalls: request.parallel_tool_calls,
      responseFormat: !format || format.type === 'text' ? null : formatOf(format),
      enableThinking: isThinking(request.reasoning?.effort),
    }),
    messages: messagesOf(request),
  } as GenerateOptions;
  return { served, options, count: 1 };
}

function formatOf(
  format: Exclude<NonNullable<NonNullable<ResponseRequest['text']>['format']>, { type: 'text' }>,
): GenerateOptions['responseFormat'] {
  return format.type === 'json_object' ? 'json' : { schema: format.schema as JsonSchema };
}

/** The conversation. Consecutive items of one model turn (thoughts, text, calls) become one message. */
function messagesOf({ input, instructions }: ResponseRequest): ChatMessage[] {
  const system: ChatMessage[] = instructions ? [{ role: 'system', content: instructions }] : [];
  if (typeof input === 'string') return [...system, { role: 'user', content: input }];
  const messages: ChatMessage[] = [...system];
  let turn: { -readonly [Key in keyof ChatMessage]: ChatMessage[Key] } | null = null;
  let calls: NonNullable<ChatMessage['toolCalls']>[number][] = [];
  const ownTurn = () => {
    if (turn === null) {
      turn = { role: 'assistant', content: '' };
      messages.push(turn as ChatMessage);
    }
    return turn;
  };
  for (const [index, item] of input.entries()) {
    const where = `input[${index}]`;
    if (item.type === 'reasoning') {
      // A thought starts a new turn.
      turn = null;
      const thoughts = item.content?.length ? item.content : item.summary;
      if (thoughts?.length) ownTurn().reasoning = plainText(thoughts);
    } else if (item.type === 'function_call') {
      const call = { id: item.call_id, name: item.name, arguments: item.arguments };
      const own = ownTurn();
      calls = own.toolCalls ? calls : [];
      calls.push(call);
      own.toolCalls = calls;
    } else if (item.type === 'function_call_output') {
      turn = null;
      messages.push({ role: 'tool', content: toolResult(plainText(item.output)), toolCallId: item.call_id });
    } else if (item.role === 'assistant') {
      const own = ownTurn();
      own.content = `${own.content as string}${assistantText(item.content, where)}`;
    } else {
      turn = null;
      messages.push({ role: item.role, content: contentOf(item.content, where) });
    }
  }
  return messages;
}

function assistantText(content: InputMessage['content'], where: string): string {
  if (typeof content === 'string') return content;
  return content
    .map((part, index) => {
      if (part.type === 'output_text' || part.type === 'input_text') return part.text;
      if (part.type === 'refusal') return part.refusal;
      throw badParameter(
        `${where}.content[${index}]`,
        `A message of the assistant cannot have a part of type ${part.type}`,
      );
    })
    .join('');
}

function contentOf(content: InputMessage['content'], where: string): string | ContentPart[] {
  if (typeof content === 'string') return content;
  return content.map((part, index) => partOf(part, `${where}.content[${index}]`));
}

function partOf(part: InputPart, where: string): ContentPart {
  switch (part.type) {
    case 'input_text':
      return { type: 'text', text: part.text };
    case 'input_image': {
      const param = `${where}.image_url`;
      return mediaPart('image', {
        data: mediaAddress(part.image_url, param),
        ...budgetOf(part.detail),
        param,
      });
    }
    case 'input_audio': {
      const param = `${where}.input_audio.data`;
      const { data, format } = part.input_audio;
      return mediaPart('audio', { data: base64Bytes(data, param), format, param });
    }
    default:
      throw badParameter(where, `Only messages of the assistant can have a part of type ${part.type}`);
  }
}
