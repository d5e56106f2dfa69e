import { InvalidArgumentError } from '@markbase/core';

/** A range of numbers that an option accepts. */
export interface NumberRange {
  readonly min: number;
  readonly max: number;
  /** The bound itself is not accepted. */
  readonly isMinExcluded?: boolean;
  readonly isMaxExcluded?: boolean;
}

/** @throws InvalidArgumentError unless `value` is a whole number from `min` to `max`. */
export function checkInteger(argument: string, value: number, min: number, max = Number.MAX_SAFE_INTEGER): void {
  if (Number.isInteger(value) && value >= min && value <= max) return;
  const upTo = max === Number.MAX_SAFE_INTEGER ? `of at least ${min}` : `from ${min} to ${max}`;
  throw new InvalidArgumentError({ argument, expected: `a whole number ${upTo}`, received: value });
}

/** @throws InvalidArgumentError unless `value` is a number in the range. */
export function checkNumber(argument: string, value: number, range: NumberRange): void {
  const isAbove = range.isMinExcluded ? value > range.min : value >= range.min;
  const isBelow = range.isMaxExcluded ? value < range.max : value <= range.max;
  if (Number.isFinite(value) && isAbove && isBelow) return;
  const from = `${range.isMinExcluded ? 'above' : 'at least'} ${range.min}`;
  const to = range.max === Number.MAX_VALUE ? '' : ` and ${range.isMaxExcluded ? 'below' : 'at most'} ${range.max}`;
  throw new InvalidArgumentError({ argument, expected: `a number ${from}${to}`, received: value });
}
