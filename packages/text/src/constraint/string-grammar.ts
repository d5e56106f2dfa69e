import {
  asciiWhere,
  byteRange,
  choice,
  type Expression,
  literal,
  NON_ASCII,
  repeat,
  sequence,
} from './grammar.js';

const HEX = asciiWhere((code) => /[0-9a-fA-F]/.test(String.fromCharCode(code)));

/** A character of a JSON string, as is or escaped. `\u` escapes stop at \u00ff, so surrogates are never escaped. */
export const JSON_CHARACTER: Expression = choice(
  asciiWhere((code) => code >= 0x20 && code !== 0x22 && code !== 0x5c),
  NON_ASCII,
  sequence(
    literal('\\'),
    asciiWhere((code) => '"\\/bfnrt'.includes(String.fromCharCode(code))),
  ),
  sequence(literal('\\u00'), HEX, HEX),
);

/** A character of a string in a tool call, between quote tokens: always as is. */
export const RAW_CHARACTER: Expression = choice(
  asciiWhere((code) => code >= 0x20 || code === 9 || code === 10),
  NON_ASCII,
);

const digits = (count: number): Expression => repeat(byteRange(0x30, 0x39), count, count);
const digitRange = (low: string, high: string): Expression =>
  byteRange(low.charCodeAt(0), high.charCodeAt(0));
const two = (...options: readonly [string, string, string][]): Expression =>
  choice(...options.map(([first, low, high]) => sequence(literal(first), digitRange(low, high))));

// Days that exist in every month, so that all dates are valid.
const DATE = sequence(
  digits(4),
  literal('-'),
  two(['0', '1', '9'], ['1', '0', '2']),
  literal('-'),
  two(['0', '1', '9'], ['1', '0', '9'], ['2', '0', '8']),
);
const MINUTE = sequence(digitRange('0', '5'), digitRange('0', '9'));
const HOUR = two(['0', '0', '9'], ['1', '0', '9'], ['2', '0', '3']);
const ZONE = choice(literal('Z'), sequence(choice(literal('+'), literal('-')), HOUR, literal(':'), MINUTE));
const FRACTION = repeat(sequence(literal('.'), repeat(byteRange(0x30, 0x39), 1, 9)), 0, 1);
const CLOCK = sequence(HOUR, literal(':'), MINUTE, literal(':'), MINUTE, FRACTION, ZONE);
const hex = (count: number): Expression => repeat(HEX, count, count);
const WORD = repeat(
  asciiWhere((code) => /[a-z0-9]/.test(String.fromCharCode(code))),
  1,
  32,
);
const OCTET = choice(
  sequence(literal('25'), digitRange('0', '5')),
  sequence(literal('2'), digitRange('0', '4'), digitRange('0', '9')),
  sequence(literal('1'), digits(2)),
  sequence(digitRange('1', '9'), digitRange('0', '9')),
  digits(1),
);

/** Supported formats of JSON Schema. Each covers a part of the values that the format allows. */
export const FORMATS: ReadonlyMap<string, Expression> = new Map<string, Expression>([
  ['date', DATE],
  ['time', CLOCK],
  ['date-time', sequence(DATE, literal('T'), CLOCK)],
  [
    'uuid',
    sequence(hex(8), literal('-'), hex(4), literal('-'), hex(4), literal('-'), hex(4), literal('-'), hex(12)),
  ],
  [
    'email',
    sequence(
      WORD,
      repeat(sequence(literal('.'), WORD), 0, 3),
      literal('@'),
      WORD,
      repeat(sequence(literal('.'), WORD), 1, 3),
    ),
  ],
  ['ipv4', sequence(OCTET, literal('.'), OCTET, literal('.'), OCTET, literal('.'), OCTET)],
]);
