import { InvalidArgumentError } from '@markbase/core';

/** @throws InvalidArgumentError unless `condition` holds. */
export function check(
  condition: boolean,
  argument: string,
  expected: string,
  received: unknown,
): asserts condition {
  if (!condition) throw new InvalidArgumentError({ argument, expected, received });
}
