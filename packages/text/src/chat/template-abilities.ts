import { foldToolMessages } from './fold-tool-messages.js';
import type { TemplateMessage } from './normalize-messages.js';
import type { TemplateInput } from './template-input.js';

/** What a template can render. */
export interface TemplateAbilities {
  /** Tool results must be part of the message that made the calls, because models do not know a separate turn for them. */
  readonly needsFoldedTools: boolean;
  /** Definitions, calls and results of tools appear in the prompt. */
  readonly takesTools: boolean;
  readonly takesCalls: boolean;
  readonly takesResults: boolean;
  /** Results may be objects: in separate messages, and in the message that made the calls. */
  readonly takesResultObjects: boolean;
  readonly takesFoldedObjects: boolean;
  /** System messages may have parts; older templates only accept a string. */
  readonly takesSystemParts: boolean;
}

const QUESTION = { role: 'user', content: 'question' };
const CALLS = {
  role: 'assistant',
  content: '',
  tool_calls: [{ id: 'probe', type: 'function', function: { name: 'probecall', arguments: {} } }],
};
const RESULT = { role: 'tool', tool_call_id: 'probe', content: 'proberesult' };
const OBJECT = { ...RESULT, content: { probefield: 'probevalue' } };
const TOOL = {
  type: 'function',
  function: { name: 'probetool', description: 'probe', parameters: { type: 'object', properties: {} } },
};
const SYSTEM = { role: 'system', content: [{ type: 'text', text: 'probepart' }] };

/** Tries a template. If it refuses an attempt, it gets the standard form, so that its own error reaches the caller. */
export function probeTemplate(template: { render(input: TemplateInput): string }): TemplateAbilities {
  const attempt = (messages: readonly TemplateMessage[], tools: readonly unknown[] | null = null) => {
    try {
      return template.render({
        messages,
        tools,
        add_generation_prompt: true,
        enable_thinking: false,
        preserve_thinking: false,
      });
    } catch {
      return null;
    }
  };
  const shows = (text: string | null, probe: string) => text?.includes(probe) ?? true;
  const fold = (messages: readonly TemplateMessage[]) => foldToolMessages(messages, { withAnswers: false });
  const plain = attempt([QUESTION, CALLS, RESULT]);
  const needsFoldedTools = plain?.includes('<|turn>tool') ?? false;
  const calls = needsFoldedTools ? attempt(fold([QUESTION, CALLS, RESULT])) : plain;
  const system = attempt([SYSTEM, QUESTION]);
  return {
    needsFoldedTools,
    takesTools: shows(attempt([QUESTION], [TOOL]), 'probetool'),
    takesCalls: shows(calls, 'probecall'),
    takesResults: shows(calls, 'proberesult'),
    takesResultObjects: attempt([QUESTION, CALLS, OBJECT])?.includes('probevalue') ?? false,
    takesFoldedObjects: attempt(fold([QUESTION, CALLS, OBJECT]))?.includes('probevalue') ?? false,
    // A list printed as a Python value shows quotes.
    takesSystemParts: system !== null && /(?<!['"])probepart(?!['"])/.test(system),
  };
}
