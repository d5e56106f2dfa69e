import { hasErrorCode, InvalidArgumentError } from '@markbase/core';

/** An unsupported keyword: where it is, and what would be supported instead. */
export interface Unsupported {
  /** Place of the schema with the keyword, such as `#/properties/a`. */
  readonly path: string;
  readonly keyword: string;
  /** What would be supported instead. */
  readonly expected: string;
}

/** Called for an unsupported keyword; if it returns, the keyword is ignored. */
export type OnUnsupported = (unsupported: Unsupported) => void;

/** Refuses the schema. @throws InvalidArgumentError always */
export function refuseUnsupported({ path, keyword, expected }: Unsupported): never {
  throw new InvalidArgumentError({ argument: `schema ${path}/${keyword}`, expected, received: keyword });
}

/** Refuses a malformed schema. @throws InvalidArgumentError always */
export function refuseMalformed(path: string, expected: string, received: unknown): never {
  throw new InvalidArgumentError({ argument: `schema ${path}`, expected, received });
}

/** How errors of schemas begin; the place in the schema follows. */
const SCHEMA_PLACE = 'schema ';

/**
 * Builds part of a grammar; errors name the argument that the schema came from instead of `schema`.
 *
 * @param argument such as `responseFormat.schema`; null leaves errors as they are
 */
export function withArgument<Built>(argument: string | null, build: () => Built): Built {
  try {
    return build();
  } catch (error) {
    if (argument === null || !hasErrorCode(error, 'INVALID_ARGUMENT')) throw error;
    const refusal = error as InvalidArgumentError;
    if (!refusal.argument.startsWith(SCHEMA_PLACE)) throw error;
    throw refusal.renamed(argument + refusal.argument.slice(SCHEMA_PLACE.length));
  }
}
