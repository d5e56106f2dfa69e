import {
  asciiWhere,
  byteRange,
  choice,
  type Expression,
  literal,
  optional,
  repeat,
  sequence,
} from './grammar.js';

const DIGIT = byteRange(0x30, 0x39);
const NONZERO = byteRange(0x31, 0x39);
/** Neither a double nor a 64-bit number has more significant digits than this. */
const MOST_DIGITS = 16;

/** An integer without sign or leading zeros, short enough for a double. */
const UNSIGNED = choice(literal('0'), sequence(NONZERO, repeat(DIGIT, 0, MOST_DIGITS - 1)));

/** Integers in [low, high]; a bound may be infinite. */
export function integerGrammar(low: number, high: number): Expression {
  const least = Math.ceil(low);
  const most = Math.floor(high);
  if (least === Number.NEGATIVE_INFINITY && most === Number.POSITIVE_INFINITY) {
    return sequence(optional(literal('-')), UNSIGNED);
  }
  if (least > most) return choice();
  const options: Expression[] = [];
  if (most >= 0) options.push(unsignedRange(Math.max(least, 0), most));
  if (least < 0) {
    const [smallest, largest] = [Math.max(1, -most), -least];
    if (smallest <= largest) options.push(sequence(literal('-'), unsignedRange(smallest, largest)));
  }
  return choice(...options);
}

/** Any JSON number. */
export const ANY_NUMBER: Expression = sequence(
  optional(literal('-')),
  UNSIGNED,
  optional(sequence(literal('.'), repeat(DIGIT, 1, MOST_DIGITS))),
  optional(
    sequence(
      asciiWhere((code) => code === 0x45 || code === 0x65),
      optional(asciiWhere((code) => code === 0x2b || code === 0x2d)),
      repeat(DIGIT, 1, 2),
    ),
  ),
);

/**
 * Decimal numbers in [low, high]: integer parts that stay in range with any fraction, and the bounds themselves. Some
 * of the numbers between a fractional bound and the nearest integer are left out.
 */
export function numberGrammar(low: number, high: number): Expression {
  if (low === Number.NEGATIVE_INFINITY && high === Number.POSITIVE_INFINITY) return ANY_NUMBER;
  if (low > high) return choice();
  const fraction = optional(sequence(literal('.'), repeat(DIGIT, 1, MOST_DIGITS)));
  const options: Expression[] = [integerGrammar(low, high)];
  // n.fraction lies in [n, n + 1), and -n.fraction in (-n - 1, -n].
  const [firstWhole, lastWhole] = [Math.max(0, Math.ceil(low)), Math.floor(high) - 1];
  if (lastWhole >= firstWhole) options.push(sequence(unsignedRange(firstWhole, lastWhole), fraction));
  const [firstNegative, lastNegative] = [Math.max(0, Math.ceil(-high)), Math.floor(-low) - 1];
  if (lastNegative >= firstNegative) {
    options.push(sequence(literal('-'), unsignedRange(firstNegative, lastNegative), fraction));
  }
  for (const bound of [low, high]) if (Number.isFinite(bound)) options.push(literal(JSON.stringify(bound)));
  return choice(...options);
}

/** Integers in [low, high], 0 <= low <= high. */
function unsignedRange(low: number, high: number): Expression {
  if (high === Number.POSITIVE_INFINITY) return low === 0 ? UNSIGNED : atLeast(decimalOf(low));
  const [from, to] = [decimalOf(low), decimalOf(high)];
  if (from.length === to.length) return between(from, to);
  const options = [between(from, '9'.repeat(from.length)), between(`1${'0'.repeat(to.length - 1)}`, to)];
  for (let digits = from.length + 1; digits < to.length; digits++) {
    options.push(sequence(NONZERO, repeat(DIGIT, digits - 1, digits - 1)));
  }
  return choice(...options);
}

function atLeast(from: string): Expression {
  const longer = sequence(NONZERO, repeat(DIGIT, from.length, Math.max(from.length, MOST_DIGITS - 1)));
  return choice(between(from, '9'.repeat(from.length)), longer);
}

/** Integers from one bound to the other, both with the same number of digits. */
function between(from: string, to: string): Expression {
  if (from === to) return literal(from);
  const [first, last] = [from.charCodeAt(0), to.charCodeAt(0)];
  if (from.length === 1) return byteRange(first, last);
  // All numbers of one length are a single expression, so that a bound adds its digits only once.
  if (/^0+$/.test(from) && /^9+$/.test(to)) return repeat(DIGIT, from.length, from.length);
  const rest = from.length - 1;
  const [low, high] = [from.slice(1), to.slice(1)];
  if (first === last) return sequence(byteRange(first, first), between(low, high));
  const options = [
    sequence(byteRange(first, first), between(low, '9'.repeat(rest))),
    sequence(byteRange(last, last), between('0'.repeat(rest), high)),
  ];
  if (last - first > 1) options.push(sequence(byteRange(first + 1, last - 1), repeat(DIGIT, rest, rest)));
  return choice(...options);
}

/** The digits of an integer, even of one that JavaScript would print with an exponent. */
function decimalOf(value: number): string {
  return BigInt(value).toString();
}
