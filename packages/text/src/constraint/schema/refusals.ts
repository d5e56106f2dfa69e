import { InvalidArgumentError } from '@markbase/core';

/** A keyword that no grammar holds: where it is, and what would be held. */
export interface Unsupported {
  /** Place of the schema that has the keyword, such as `#/properties/a`. */
  readonly path: string;
  readonly keyword: string;
  /** What would be supported instead. */
  readonly expected: string;
}

/** Hears of a keyword that no grammar holds; when it returns, the grammar goes on without the keyword. */
export type OnUnsupported = (unsupported: Unsupported) => void;

/** Refuses the schema. @throws InvalidArgumentError always */
export function refuseUnsupported({ path, keyword, expected }: Unsupported): never {
  throw new InvalidArgumentError({ argument: `schema ${path}/${keyword}`, expected, received: keyword });
}

/** Refuses a schema that is malformed. @throws InvalidArgumentError always */
export function refuseMalformed(path: string, expected: string, received: unknown): never {
  throw new InvalidArgumentError({ argument: `schema ${path}`, expected, received });
}
