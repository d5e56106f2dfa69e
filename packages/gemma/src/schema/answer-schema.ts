import { InvalidArgumentError } from '@markbase/core';
import type { JsonSchema } from '@markbase/text';

/**
 * A schema of zod (from 4.2 on), or of another library with the interfaces Standard Schema and Standard JSON Schema.
 */
export interface StandardSchema<Value = unknown> {
  /** The interface that such libraries share. */
  readonly '~standard': {
    /** Name of the library. */
    readonly vendor: string;
    /** Checks a value. */
    readonly validate: (value: unknown) => unknown;
    /** Types of the value before and after `validate`. */
    readonly types?: { readonly input: unknown; readonly output: Value } | undefined;
  };
}

/** What an answer or the arguments of a tool must be: a schema of zod, or a JSON Schema. */
export type AnswerSchema<Value = unknown> = StandardSchema<Value> | JsonSchema;

/** The JSON Schema of a schema. @throws InvalidArgumentError for a library that gives none */
export function jsonSchemaOf(schema: AnswerSchema, argument: string): JsonSchema {
  if (!isStandard(schema)) return schema;
  const standard = schema['~standard'] as { vendor: string; jsonSchema?: JsonSchemaSource };
  if (standard.jsonSchema === undefined) {
    throw new InvalidArgumentError({
      argument,
      expected: 'a JSON Schema, or a schema of a library that gives one, such as zod 4.2 or newer',
      received: `a schema of ${standard.vendor} without a JSON Schema`,
    });
  }
  return standard.jsonSchema.input({ target: 'draft-2020-12' }) as JsonSchema;
}

/** The value that a schema makes of parsed JSON, or what is wrong with it. A JSON Schema accepts everything. */
export async function checkedValue(
  schema: AnswerSchema | undefined,
  value: unknown,
): Promise<{ readonly value: unknown } | { readonly problem: string }> {
  if (!isStandard(schema)) return { value };
  const result = (await schema['~standard'].validate(value)) as ValidateResult;
  if (!result.issues) return { value: result.value };
  const problems = result.issues.map(({ message, path = [] }) => {
    const where = path.map((key) => (typeof key === 'object' ? key.key : key)).join('.');
    return where === '' ? message : `${where}: ${message}`;
  });
  return { problem: problems.join('; ') };
}

interface JsonSchemaSource {
  input(options: { readonly target: string }): unknown;
}

interface ValidateResult {
  readonly value?: unknown;
  readonly issues?: readonly {
    readonly message: string;
    readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[];
  }[];
}

function isStandard(schema: AnswerSchema | undefined): schema is StandardSchema {
  // Some libraries make callable schemas.
  const isObject = (typeof schema === 'object' && schema !== null) || typeof schema === 'function';
  return isObject && '~standard' in (schema as object);
}
