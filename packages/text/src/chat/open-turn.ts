import type { ChatTemplate } from './chat-template.js';
import type { ContinuedAnswer } from './fit-messages.js';
import type { TemplateInput } from './template-input.js';

const QUESTION = { role: 'user', content: 'question' };
const END_OF_TURN = /<turn\|>\s*$/;
const OPEN_THOUGHT = /<\|channel>thought\n$/;
const CLOSED_THOUGHT = /<channel\|>\s*$/;

/**
 * Makes the end of a prompt a place where the model speaks. The newest official template closes the turn of the model after
 * calls with text and their results, and opens none: what it writes after a question is added then. An answer that is to be
 * continued follows.
 *
 * @param text what `template` made of `input`, with a generation prompt
 */
export function openTurn(
  text: string,
  template: ChatTemplate,
  input: TemplateInput,
  continued: ContinuedAnswer | null,
): string {
  const prompt = END_OF_TURN.test(text) ? text + generationPrompt(template, input) : text;
  if (continued === null) return prompt;
  const { reasoning, text: answer } = continued;
  if (reasoning === '' && answer === '') return prompt;
  if (answer === '')
    return `${OPEN_THOUGHT.test(prompt) ? prompt : `${prompt}<|channel>thought\n`}${reasoning}`;
  if (OPEN_THOUGHT.test(prompt))
    return `${prompt}${reasoning === '' ? '' : `${reasoning}\n`}<channel|>${answer}`;
  const isThought = reasoning !== '' && !CLOSED_THOUGHT.test(prompt);
  return `${prompt}${isThought ? `<|channel>thought\n${reasoning}\n<channel|>` : ''}${answer}`;
}

/** What the template writes at the end of a question for the model to go on. */
function generationPrompt(template: ChatTemplate, input: TemplateInput): string {
  const question = { ...input, messages: [QUESTION], tools: null };
  const closed = template.render({ ...question, add_generation_prompt: false });
  const open = template.render({ ...question, add_generation_prompt: true });
  return open.startsWith(closed) ? open.slice(closed.length) : '';
}
