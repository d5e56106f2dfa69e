import type { ChatTemplate } from './chat-template.js';
import type { TemplateMessage } from './normalize-messages.js';

/** A conversation that shows whether a template handles messages of role `tool`. */
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
 * True if a template writes messages of role `tool` as separate turns, as the first revision of Gemma 4's template
 * does. Models do not understand such turns; that template reads results from `tool_responses` of the message with the
 * calls.
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
    // A template that refuses the probe handles tools in its own way: it gets the standard messages.
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

/** The name of a result's tool: that of its call, or else its own. */
function nameOf(result: TemplateMessage, caller: TemplateMessage): unknown {
  const calls = (caller.tool_calls ?? []) as { id?: string; function: { name: string } }[];
  const call = calls.find(({ id }) => id !== undefined && id === result.tool_call_id);
  return call?.function.name ?? result.name ?? 'unknown';
}
