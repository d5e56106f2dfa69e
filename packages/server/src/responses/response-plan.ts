import type { ChatMessage, ContentPart, GenerateOptions, JsonSchema, ToolDefinition } from '@markbase/text';
import type { AnswerPlan } from '../answering/answer-plan.js';
import type { MessageOrigin } from '../answering/argument-names.js';
import { samplingOptions, withoutNulls } from '../answering/sampling.js';
import { type ToolSelection, toolOptions } from '../answering/tool-options.js';
import { isThinking, mediaPart, plainText, resultContent } from '../chat/chat-plan.js';
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
  const { text, include } = request;
  const format = text?.format;
  const hasLogprobs = include?.includes('message.output_text.logprobs') ?? false;
  if (request.top_logprobs && !hasLogprobs) {
    const message = "'top_logprobs' requires 'include': ['message.output_text.logprobs']";
    throw badParameter('top_logprobs', message, 'invalid_value');
  }
  const { messages, origins } = conversationOf(request);
  const functions = functionsOf(request);
  const options = {
    ...samplingOptions(request, served.model.config.vocabularySize),
    ...withoutNulls({
      maxTokens: request.max_output_tokens,
      logprobs: hasLogprobs || null,
      topLogprobs: request.top_logprobs,
      parallelToolCalls: request.parallel_tool_calls,
      responseFormat: !format || format.type === 'text' ? null : formatOf(format),
      enableThinking: isThinking(request.reasoning?.effort),
    }),
    ...toolOptions(
      functions.map(({ tool }) => tool),
      selectionOf(request.tool_choice),
    ),
    messages,
  } as GenerateOptions;
  const names = {
    messages: origins,
    tools: functions.map(({ path }) => path),
    prompt: 'input',
    fields: {
      maxTokens: 'max_output_tokens',
      toolCalls: '',
      toolCallId: 'call_id',
      responseFormat: 'text.format',
    },
  };
  return { served, options, count: 1, names };
}

function formatOf(
  format: Exclude<NonNullable<NonNullable<ResponseRequest['text']>['format']>, { type: 'text' }>,
): GenerateOptions['responseFormat'] {
  return format.type === 'json_object' ? 'json' : { schema: format.schema as JsonSchema };
}

/** The conversation, and the origin of each message. */
interface Conversation {
  readonly messages: ChatMessage[];
  readonly origins: MessageOrigin[];
}

/** Converts the input. Consecutive items of one model turn (thoughts, text, calls) become one message. */
function conversationOf({ input, instructions }: ResponseRequest): Conversation {
  const messages: ChatMessage[] = [];
  const origins: { path: string; calls: string[] }[] = [];
  const add = <Message extends ChatMessage>(path: string, message: Message): Message => {
    messages.push(message);
    origins.push({ path, calls: [] });
    return message;
  };
  if (instructions) add('instructions', { role: 'system', content: instructions });
  if (typeof input === 'string') add('input', { role: 'user', content: input });
  const items = typeof input === 'string' ? [] : input;
  let turn: { -readonly [Key in keyof ChatMessage]: ChatMessage[Key] } | null = null;
  let calls: NonNullable<ChatMessage['toolCalls']>[number][] = [];
  for (const [index, item] of items.entries()) {
    const path = `input[${index}]`;
    const ownTurn = () => {
      turn ??= add(path, { role: 'assistant', content: '' });
      return turn;
    };
    switch (item.type) {
      case 'reasoning': {
        // A thought starts a new turn.
        turn = null;
        const thoughts = item.content?.length ? item.content : item.summary;
        if (thoughts?.length) ownTurn().reasoning = plainText(thoughts);
        break;
      }
      case 'function_call':
      case 'custom_tool_call': {
        const values = item.type === 'function_call' ? item.arguments : { input: item.input };
        const own = ownTurn();
        calls = own.toolCalls ? calls : [];
        calls.push({ id: item.call_id, name: item.name, arguments: values });
        own.toolCalls = calls;
        origins.at(-1)!.calls.push(path);
        break;
      }
      case 'function_call_output':
      case 'custom_tool_call_output': {
        turn = null;
        const output =
          typeof item.output === 'string'
            ? item.output
            : item.output.map((part, at) => partOf(part, `${path}.output[${at}]`));
        add(path, { role: 'tool', content: resultContent(output), toolCallId: item.call_id });
        break;
      }
      case 'message':
        if (item.role === 'assistant') {
          const own = ownTurn();
          own.content = `${own.content as string}${assistantText(item.content, path)}`;
        } else {
          turn = null;
          add(path, { role: item.role, content: contentOf(item.content, path) });
        }
        break;
      default:
      // What a provider's tools did.
    }
  }
  return { messages, origins };
}

function functionsOf({ tools }: ResponseRequest): { tool: ToolDefinition; path: string }[] {
  return (tools ?? []).flatMap((tool, index) => {
    if (!tool) return [];
    const { name, description, parameters, strict } = tool;
    return [
      {
        tool: { type: 'function', function: { name, description, parameters, strict } },
        path: `tools[${index}]`,
      },
    ];
  });
}

function selectionOf(choice: ResponseRequest['tool_choice']): ToolSelection | null {
  if (typeof choice !== 'object' || choice === null) return choice ?? null;
  if (choice.type === 'function') return { name: choice.name };
  return { mode: choice.mode, names: choice.tools.map(({ name }) => name) };
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
