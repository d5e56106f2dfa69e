import { InvalidArgumentError } from '@markbase/core';

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
