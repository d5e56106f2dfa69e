import type { ChatTemplate } from './chat-template.js';
import type { ContinuedAnswer } from './fit-messages.js';
import type { TemplateInput } from './template-input.js';

const QUESTION = { role: 'user', content: 'question' };
const END_OF_TURN = /<turn\|>\s*$/;
const OPEN_THOUGHT = /<\|channel>thought\n$/;
const CLOSED_THOUGHT = /<channel\|>\s*$/;

/**
 * Ends a prompt where the model is to speak. After calls with text and their results, the newest official template
 * closes the model's turn without opening another; in that case, what it writes after a question is added. The answer
 * to continue comes last.
 *
 * @param text the output of `template` for `input`, with a generation prompt
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

/** What the template writes after a question to let the model answer. */
function generationPrompt(template: ChatTemplate, input: TemplateInput): string {
  const question = { ...input, messages: [QUESTION], tools: null };
  const closed = template.render({ ...question, add_generation_prompt: false });
  const open = template.render({ ...question, add_generation_prompt: true });
  return open.startsWith(closed) ? open.slice(closed.length) : '';
}
