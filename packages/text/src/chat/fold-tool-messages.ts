import type { TemplateMessage } from './normalize-messages.js';

/**
 * Moves tool results into the message that made the calls.
 *
 * @param options.withAnswers also moves the answer that follows them
 */
export function foldToolMessages(
  messages: readonly TemplateMessage[],
  { withAnswers }: { readonly withAnswers: boolean },
): TemplateMessage[] {
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
    const isAnswer =
      withAnswers && responses !== null && message.role === 'assistant' && message.tool_calls === undefined;
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
