import {
  type LanguageModelV3Message,
  type LanguageModelV3Prompt,
  type LanguageModelV3ToolResultPart,
  UnsupportedFunctionalityError,
} from '@ai-sdk/provider';
import type { ChatMessage, ContentPart, ToolCall } from '@markbase/text';
import { convertFile, type FileOptions } from './convert-file.js';

type AssistantMessage = Extract<LanguageModelV3Message, { role: 'assistant' }>;

/**
 * Converts the conversation for the engine, encoding files on the way.
 *
 * @throws UnsupportedFunctionalityError for parts that the model does not support
 */
export async function convertPrompt(
  prompt: LanguageModelV3Prompt,
  options: FileOptions,
): Promise<ChatMessage[]> {
  const messages: ChatMessage[] = [];
  for (const message of prompt) {
    switch (message.role) {
      case 'system':
        messages.push({ role: 'system', content: message.content });
        break;
      case 'user': {
        const parts: ContentPart[] = [];
        for (const part of message.content) {
          if (part.type === 'text') parts.push({ type: 'text', text: part.text });
          else parts.push(...(await convertFile(part, options)));
        }
        const isPlain = parts.length === 1 && parts[0]!.type === 'text';
        messages.push({ role: 'user', content: isPlain ? (parts[0] as { text: string }).text : parts });
        break;
      }
      case 'assistant':
        messages.push(assistantMessage(message));
        break;
      case 'tool':
        for (const part of message.content) {
          if (part.type === 'tool-result') messages.push(toolMessage(part));
          else throw new UnsupportedFunctionalityError({ functionality: 'tool approvals' });
        }
    }
  }
  return messages;
}

function assistantMessage({ content }: AssistantMessage): ChatMessage {
  let text = '';
  let reasoning = '';
  const toolCalls: ToolCall[] = [];
  for (const part of content) {
    if (part.type === 'text') text += part.text;
    else if (part.type === 'reasoning') reasoning += part.text;
    else if (part.type === 'tool-call') {
      const values = part.input as ToolCall['arguments'];
      toolCalls.push({ id: part.toolCallId, name: part.toolName, arguments: values });
    } else {
      throw new UnsupportedFunctionalityError({ functionality: `${part.type} part of the assistant` });
    }
  }
  return {
    role: 'assistant',
    content: text,
    ...(reasoning !== '' && { reasoning }),
    ...(toolCalls.length > 0 && { toolCalls }),
  };
}

function toolMessage({ toolCallId, output }: LanguageModelV3ToolResultPart): ChatMessage {
  return { role: 'tool', toolCallId, content: resultOf(output) };
}

/** The result of a tool, as an object if possible: models read objects best. */
function resultOf(output: LanguageModelV3ToolResultPart['output']): string | Record<string, unknown> {
  switch (output.type) {
    case 'text':
      return output.value;
    case 'json':
      return isObject(output.value) ? output.value : JSON.stringify(output.value);
    case 'error-text':
    case 'error-json':
      return { error: output.value };
    case 'execution-denied':
      return { error: output.reason ?? 'The user did not allow this call' };
    case 'content':
      return output.value
        .map((part) => {
          if (part.type === 'text') return part.text;
          throw new UnsupportedFunctionalityError({ functionality: `${part.type} in a tool result` });
        })
        .join('');
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
