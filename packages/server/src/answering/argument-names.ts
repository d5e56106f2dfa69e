/** The part of a request that became one message for the engine. */
export interface MessageOrigin {
  /** Such as `messages[1]`. */
  readonly path: string;
  /** The path of each tool call, such as `messages[1].tool_calls[0].function`. */
  readonly calls?: readonly string[];
}

/** How one API spells the arguments of the engine. */
export interface ArgumentNames {
  readonly messages: readonly MessageOrigin[];
  /** The path of each tool's description, such as `tools[0].function`. */
  readonly tools: readonly string[];
  /** The conversation or the prompt: `messages`, `input`. */
  readonly prompt: string;
  /** Fields of messages, calls and tools, and options, by the engine's name. */
  readonly fields: Readonly<Record<string, string>>;
}

/** The client's name of an argument of the engine, such as `messages[1].toolCalls[0].arguments`. */
export function parameterName(argument: string, { messages, tools, prompt, fields }: ArgumentNames): string {
  const [, list, index, rest = ''] = /^(messages|tools)\[(\d+)\](.*)$/s.exec(argument) ?? [];
  const origin = list === 'messages' ? messages[Number(index)] : undefined;
  if (origin) {
    // If calls are separate items or blocks, the first one represents all.
    if (rest === '.toolCalls' && fields.toolCalls === '') return origin.calls?.[0] ?? origin.path;
    const [, call, field = ''] = /^\.toolCalls\[(\d+)\](.*)$/s.exec(rest) ?? [];
    const path = call === undefined ? origin.path : (origin.calls?.[Number(call)] ?? origin.path);
    return path + fieldName(call === undefined ? rest : field, fields);
  }
  const tool = list === 'tools' ? tools[Number(index)] : undefined;
  if (tool !== undefined) return tool + fieldName(rest.replace(/^\.function/, ''), fields);
  if (argument === 'messages' || argument === 'options' || argument === 'prompt') return prompt;
  const [, name = '', path = ''] = /^([A-Za-z]*)(.*)$/s.exec(argument) ?? [];
  return `${fields[name] ?? snakeCase(name)}${path}`;
}

/** A path such as `.toolCallId` as the API spells it; only the first name changes. */
function fieldName(path: string, fields: ArgumentNames['fields']): string {
  return path.replace(/^\.([A-Za-z]+)/, (_, name: string) => `.${fields[name] ?? snakeCase(name)}`);
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
