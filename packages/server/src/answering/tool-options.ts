import type { GenerateOptions, ToolDefinition } from '@markbase/text';
import { badParameter } from '../errors/request-error.js';

/** Which tools the model may call, in the terms that all APIs share. */
export type ToolSelection =
  | 'auto'
  | 'none'
  | 'required'
  | { readonly name: string }
  | { readonly names: readonly string[]; readonly mode: 'auto' | 'required' };

/**
 * The engine's options for the functions of a request. Other kinds of tools, which this server cannot run, are left out
 * of the prompt.
 *
 * @throws RequestError (400) for a choice that does not name one of the functions
 */
export function toolOptions(
  functions: readonly ToolDefinition[] | null,
  selection: ToolSelection | null,
): Pick<GenerateOptions, 'tools' | 'toolChoice'> {
  if (functions === null || functions.length === 0) {
    if (selection === null || selection === 'auto' || selection === 'none') return {};
    throw badParameter(
      'tool_choice',
      "Invalid value for 'tool_choice': 'tools' has no function",
      'invalid_value',
    );
  }
  if (selection === null) return { tools: functions };
  if (typeof selection === 'string') return { tools: functions, toolChoice: selection };
  const names = 'name' in selection ? [selection.name] : selection.names;
  const known = new Set(functions.map((tool) => tool.function.name));
  for (const name of names) {
    if (known.has(name)) continue;
    const message = `Invalid value for 'tool_choice': '${name}' is not a function in 'tools'`;
    throw badParameter('tool_choice', message, 'invalid_value');
  }
  if ('name' in selection) return { tools: functions, toolChoice: selection };
  const allowed = new Set(names);
  return { tools: functions.filter((tool) => allowed.has(tool.function.name)), toolChoice: selection.mode };
}
