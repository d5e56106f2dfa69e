import { InvalidArgumentError } from '@markbase/core';

/** @throws InvalidArgumentError unless `value` is an integer from `min` to `max` */
export function checkInteger(
  argument: string,
  value: number,
  min: number,
  max = Number.MAX_SAFE_INTEGER,
): void {
  if (Number.isInteger(value) && value >= min && value <= max) return;
  const upTo = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new InvalidArgumentError({ argument, expected: `a whole number ${upTo}`, received: value });
}
