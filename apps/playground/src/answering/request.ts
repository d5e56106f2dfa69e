import { InvalidArgumentError } from '@markbase/core';
import type { ChatMessage, GenerateOptions, ResponseFormat, ToolDefinition } from '@markbase/text';
import { readJsonFile } from '../json-file.js';
import type { AnswerFlags } from './answer-flags.js';

/** Name of the only adapter. */
export const ADAPTER = 'adapter';

/**
 * What to generate for a prompt and its flags, without media.
 *
 * @throws InvalidArgumentError for flags that exclude each other, and for files that are not what they should be
 */
export async function requestOf(flags: AnswerFlags, prompt: string): Promise<GenerateOptions> {
  const tools = flags.tools === undefined ? null : await readTools(flags.tools);
  const responseFormat = await formatOf(flags);
  return {
    ...conversationOf(flags, prompt, tools),
    ...(responseFormat !== undefined && { responseFormat }),
    ...(flags.adapter !== undefined && { adapter: ADAPTER }),
    maxTokens: flags.maxTokens,
    temperature: flags.temperature,
    topK: flags.topK,
    topP: flags.topP,
    minP: flags.minP,
    repetitionPenalty: flags.repetitionPenalty,
    presencePenalty: flags.presencePenalty,
    frequencyPenalty: flags.frequencyPenalty,
    stop: flags.stop,
    seed: flags.seed,
  };
}

async function formatOf({ schema, jsonObject }: AnswerFlags): Promise<ResponseFormat | undefined> {
  if (schema === undefined) return jsonObject ? 'json' : undefined;
  if (jsonObject) {
    throw new InvalidArgumentError({
      argument: '--json-object',
      expected: 'only one of --schema and --json-object',
      received: true,
    });
  }
  return { schema: await readJsonFile(schema, { argument: '--schema', expected: 'a JSON Schema' }) };
}

function conversationOf(
  flags: AnswerFlags,
  prompt: string,
  tools: readonly ToolDefinition[] | null,
): GenerateOptions {
  if (!flags.raw) {
    const user: ChatMessage = { role: 'user', content: prompt };
    const messages: ChatMessage[] =
      flags.system === undefined ? [user] : [{ role: 'system', content: flags.system }, user];
    return { messages, tools, enableThinking: flags.thinking };
  }
  for (const name of ['system', 'tools', 'thinking', 'image', 'audio', 'video'] as const) {
    const given = flags[name];
    if (!given || (Array.isArray(given) && given.length === 0)) continue;
    throw new InvalidArgumentError({
      argument: `--${name}`,
      expected: 'an option that works with --raw, which continues plain text without a chat template',
      received: given,
    });
  }
  return { prompt };
}

async function readTools(path: string): Promise<ToolDefinition[]> {
  const argument = '--tools';
  const expected =
    'a file with a JSON list of tools: [{"type": "function", "function": {"name": …, "parameters": …}}]';
  const tools = await readJsonFile<unknown>(path, { argument, expected });
  if (Array.isArray(tools)) return tools;
  throw new InvalidArgumentError({ argument, expected, received: tools });
}
