import { InvalidArgumentError } from '@markbase/core';
import { stringifyExactJson } from './exact-json.js';
import { foldToolMessages } from './fold-tool-messages.js';
import type { TemplateMessage } from './normalize-messages.js';
import type { TemplateAbilities } from './template-abilities.js';

/** The existing beginning of an answer. */
export interface ContinuedAnswer {
  readonly reasoning: string;
  readonly text: string;
}

/** A conversation in the form that a template accepts. */
export interface FittedMessages {
  readonly conversation: readonly TemplateMessage[];
  /** The assistant message at the end, which is then not part of `conversation`. */
  readonly continued: ContinuedAnswer | null;
}

/**
 * Converts a conversation into the form that a template renders, and refuses anything that the template would drop.
 *
 * @throws InvalidArgumentError for tools, calls and results that the template does not support, and for an assistant
 *   message at the end that cannot be continued
 */
export function fitMessages(
  messages: readonly TemplateMessage[],
  tools: readonly unknown[] | null,
  { abilities, addGenerationPrompt }: { abilities: TemplateAbilities; addGenerationPrompt: boolean },
): FittedMessages {
  const { takesTools, takesCalls, takesResults } = abilities;
  if (tools !== null && !takesTools) throw unknownToTemplate('tools', 'tools');
  for (const [index, message] of messages.entries()) {
    const where = `messages[${index}]`;
    if (message.tool_calls !== undefined && !takesCalls)
      throw unknownToTemplate(`${where}.toolCalls`, 'calls of tools');
    if (message.role === 'tool' && !takesResults) throw unknownToTemplate(where, 'results of tools');
  }
  const continued = addGenerationPrompt ? continuedAnswer(messages) : null;
  const rest = continued === null ? messages : messages.slice(0, -1);
  const plain = abilities.takesSystemParts ? rest : rest.map(withSystemText);
  return { conversation: withResults(plain, abilities), continued };
}

/**
 * Puts tool results where the template looks for them. Official templates accept objects only inside the message with
 * the calls.
 */
function withResults(
  messages: readonly TemplateMessage[],
  { needsFoldedTools, takesResultObjects, takesFoldedObjects }: TemplateAbilities,
): readonly TemplateMessage[] {
  if (needsFoldedTools) return foldToolMessages(messages, { withAnswers: true });
  if (takesResultObjects || !messages.some(hasObject)) return messages;
  if (takesFoldedObjects) return foldToolMessages(messages, { withAnswers: false });
  return messages.map((message) =>
    hasObject(message) ? { ...message, content: stringifyExactJson(message.content) } : message,
  );
}

function hasObject({ role, content }: TemplateMessage): boolean {
  return role === 'tool' && typeof content === 'object' && !Array.isArray(content);
}

/** The message at the end, if it is an assistant message without calls. */
function continuedAnswer(messages: readonly TemplateMessage[]): ContinuedAnswer | null {
  const last = messages.at(-1)!;
  if (last.role !== 'assistant' || last.tool_calls !== undefined) return null;
  const where = `messages[${messages.length - 1}]`;
  if (messages.length === 1) {
    throw new InvalidArgumentError({
      argument: where,
      expected: 'a message before the answer to continue',
      received: 'none',
    });
  }
  const parts = typeof last.content === 'string' ? [{ type: 'text', text: last.content }] : last.content;
  const texts = (parts as readonly { type: string; text?: string }[]).map(({ type, text }, index) => {
    if (type === 'text') return text ?? '';
    throw new InvalidArgumentError({
      argument: `${where}.content[${index}]`,
      expected: 'only text in the answer to continue',
      received: type,
    });
  });
  return { reasoning: (last.reasoning as string | undefined) ?? '', text: texts.join('') };
}

/** Joins the parts of a system message into one string, for templates that do not support parts. */
function withSystemText(message: TemplateMessage): TemplateMessage {
  const isSystem = message.role === 'system' || message.role === 'developer';
  if (!isSystem || !Array.isArray(message.content)) return message;
  const parts = message.content as readonly { type: string; text?: string }[];
  if (parts.some(({ type }) => type !== 'text')) return message;
  return { ...message, content: parts.map(({ text }) => text).join(' ') };
}

function unknownToTemplate(argument: string, what: string): Error {
  return new InvalidArgumentError({
    argument,
    expected: `a chat template that supports ${what}`,
    received: 'a template that drops them',
    hint: 'Use the template of a model trained with tools, or omit them',
  });
}
