import { InvalidArgumentError } from '@markbase/core';
import type { ToolDefinition } from '@markbase/text';
import { type AnswerSchema, jsonSchemaOf } from '../schema/answer-schema.js';

/** What a tool is, for the model. */
export interface ToolDescription {
  /** Letters, digits and `_ . : -`, at most 128 characters. */
  readonly name: string;
  /** What the tool does, for the model. */
  readonly description?: string;
  /** Schema of the arguments, of zod or as JSON Schema; default: no arguments. */
  readonly parameters?: AnswerSchema;
  /** True: calls follow the schema exactly, token by token. */
  readonly strict?: boolean;
}

/**
 * Does the work of a tool. What it throws is told to the model.
 *
 * @returns the result: a string, an object whose fields the model reads, or anything that JSON can express
 */
export type ToolWork<Arguments> = (
  argumentsOfCall: Arguments,
  context: { readonly signal?: AbortSignal },
) => unknown;

/** The work of a tool; `tool` gives it the types of the arguments. */
export interface ToolCode {
  /** Does the work. */
  // biome-ignore lint/suspicious/noExplicitAny: what the arguments are depends on the schema of the tool
  readonly run: ToolWork<any>;
}

/** A definition that is nested as in OpenAI's API. */
export interface NestedDescription {
  readonly type: 'function';
  /** The definition. */
  readonly function: ToolDescription;
}

/** A tool with the code that does its work; its definition is flat or nested. */
export type Tool = ToolCode & (ToolDescription | NestedDescription);

/** Defines a tool; the schema of its parameters gives `run` the type of its arguments. */
export function tool<Arguments>(
  definition: Omit<ToolDescription, 'parameters'> & {
    readonly parameters: AnswerSchema<Arguments>;
    readonly run: ToolWork<Arguments>;
  },
): Tool {
  return definition;
}

/** A tool with its parts in one form. */
export interface PreparedTool {
  readonly name: string;
  readonly definition: ToolDefinition;
  readonly parameters: AnswerSchema | undefined;
  readonly run: ToolWork<unknown>;
}

/** Checks tools and brings their definitions into one form. @throws InvalidArgumentError */
export function prepareTools(tools: readonly Tool[]): Map<string, PreparedTool> {
  const prepared = new Map<string, PreparedTool>();
  for (const [index, given] of tools.entries()) {
    const { name, description, parameters, strict } = 'function' in given ? given.function : given;
    if (typeof given.run !== 'function') {
      throw new InvalidArgumentError({
        argument: `tools[${index}].run`,
        expected: 'a function that does the work of the tool',
        received: given.run,
      });
    }
    if (prepared.has(name)) {
      throw new InvalidArgumentError({
        argument: `tools[${index}]`,
        expected: 'a name that no other tool has',
        received: name,
      });
    }
    const schema = parameters && jsonSchemaOf(parameters, `tools[${index}].parameters`);
    const definition: ToolDefinition = {
      type: 'function',
      function: {
        name,
        ...(description !== undefined && { description }),
        ...(schema !== undefined && { parameters: schema as Readonly<Record<string, unknown>> }),
        ...(strict !== undefined && { strict }),
      },
    };
    prepared.set(name, { name, definition, parameters, run: given.run });
  }
  return prepared;
}
