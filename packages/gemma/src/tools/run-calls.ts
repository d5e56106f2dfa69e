import type { GeneratedToolCall } from '@markbase/text';
import type { Message } from '../media/message.js';
import { checkedValue } from '../schema/answer-schema.js';
import type { PreparedTool } from './tool.js';

/** A tool call with its result. */
export interface ToolRun {
  /** Name of the tool. */
  readonly name: string;
  /** The arguments that the model wrote. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** What the tool returned; `{ error }` if it does not exist, refused the arguments or failed. */
  readonly result: unknown;
}

/**
 * Runs the calls of an answer at the same time. An error becomes the result of its call, so that the model can react.
 *
 * @throws the signal's reason when aborted
 */
export async function runCalls(
  calls: readonly GeneratedToolCall[],
  tools: ReadonlyMap<string, PreparedTool>,
  signal: AbortSignal | undefined,
): Promise<ToolRun[]> {
  const runs = await Promise.all(
    calls.map(async ({ name, arguments: given }) => ({
      name,
      arguments: given,
      result: await resultOf(tools.get(name), name, given, signal),
    })),
  );
  signal?.throwIfAborted();
  return runs;
}

/** The messages that tell the model about its calls and their results. */
export function messagesAbout(
  answer: {
    readonly text: string;
    readonly reasoning: string;
    readonly toolCalls: readonly GeneratedToolCall[];
  },
  runs: readonly ToolRun[],
): Message[] {
  const { text, reasoning, toolCalls } = answer;
  const calls = toolCalls.map(({ id, name, argumentsJson }) => ({ id, name, arguments: argumentsJson }));
  return [
    { role: 'assistant', content: text, ...(reasoning !== '' && { reasoning }), toolCalls: calls },
    ...runs.map(({ result }, index): Message => {
      return { role: 'tool', toolCallId: calls[index]!.id, content: contentOf(result) };
    }),
  ];
}

async function resultOf(
  tool: PreparedTool | undefined,
  name: string,
  given: unknown,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  if (tool === undefined) return { error: `there is no tool ${name}` };
  try {
    const checked = await checkedValue(tool.parameters, given);
    if ('problem' in checked) return { error: `invalid arguments: ${checked.problem}` };
    return await tool.run(checked.value, { ...(signal && { signal }) });
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

function contentOf(result: unknown): Message['content'] {
  if (typeof result === 'string') return result;
  const plain: unknown = result === undefined ? null : JSON.parse(JSON.stringify(result));
  const isFields = typeof plain === 'object' && plain !== null && !Array.isArray(plain);
  return isFields ? (plain as Readonly<Record<string, unknown>>) : JSON.stringify(plain);
}
