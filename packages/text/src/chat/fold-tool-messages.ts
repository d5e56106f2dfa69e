import type { ChatTemplate } from './chat-template.js';
import type { TemplateMessage } from './normalize-messages.js';

/** A conversation that shows whether a template knows messages of role `tool`. */
const PROBE = [
  { role: 'user', content: 'question' },
  {
    role: 'assistant',
    content: '',
    tool_calls: [{ id: 'probe', type: 'function', function: { name: 'probe', arguments: {} } }],
  },
  { role: 'tool', tool_call_id: 'probe', content: 'answer' },
];

/**
 * True when a template gives messages of role `tool` a turn of their own: the first revision of Gemma 4's template
 * does, which no model understands. It takes results from `tool_responses` of the message that made the calls.
 */
export function needsFoldedTools(template: ChatTemplate): boolean {
  try {
    const text = template.render({
      messages: PROBE,
      tools: null,
      add_generation_prompt: true,
      enable_thinking: false,
      preserve_thinking: false,
    });
    return text.includes('<|turn>tool');
  } catch {
    // A template that refuses the probe has its own idea of tools: it gets the usual form.
    return false;
  }
}

/** Moves tool results, and the answer that follows them, into the message that made the calls. */
export function foldToolMessages(messages: readonly TemplateMessage[]): TemplateMessage[] {
  const folded: TemplateMessage[] = [];
  let responses: { name: unknown; response: unknown }[] | null = null;
  for (const message of messages) {
    const last = folded.at(-1);
    if (message.role === 'tool' && last !== undefined) {
      if (responses === null) {
        responses = [];
        folded[folded.length - 1] = { ...last, tool_responses: responses };
      }
      responses.push({ name: nameOf(message, last), response: message.content });
      continue;
    }
    const isAnswer = responses !== null && message.role === 'assistant' && message.tool_calls === undefined;
    if (isAnswer && last?.content === '') folded[folded.length - 1] = { ...last, content: message.content };
    else folded.push(message);
    responses = null;
  }
  return folded;
}

/** Name of the tool of a result: that of its call, or its own. */
function nameOf(result: TemplateMessage, caller: TemplateMessage): unknown {
  const calls = (caller.tool_calls ?? []) as { id?: string; function: { name: string } }[];
  const call = calls.find(({ id }) => id !== undefined && id === result.tool_call_id);
  return call?.function.name ?? result.name ?? 'unknown';
}
