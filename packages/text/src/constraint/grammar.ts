import type { Machine } from './machine.js';

/**
 * A grammar over bytes and control tokens. Text is UTF-8; a control token is one symbol, which no text can spell.
 * Expressions are values: they may be shared, and refer to themselves through `reference`.
 */
export type Expression =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array }
  /** One symbol: a byte in [low, high], or the control token of id `low - FIRST_CONTROL`. */
  | { readonly kind: 'range'; readonly low: number; readonly high: number }
  | { readonly kind: 'sequence'; readonly parts: readonly Expression[] }
  | { readonly kind: 'choice'; readonly options: readonly Expression[] }
  | { readonly kind: 'repeat'; readonly item: Expression; readonly least: number; readonly most: number }
  /** A language that finds its states when they are needed. */
  | { readonly kind: 'machine'; readonly machine: Machine }
  /**
   * A named rule, resolved late so that rules may be recursive; at least one symbol must come before it in its own
   * rule.
   */
  | { readonly kind: 'reference'; readonly resolve: () => Expression };

/** Symbols from here on are control tokens: their id is the symbol minus this. */
export const FIRST_CONTROL = 256;

const encoder = new TextEncoder();

/** Exactly this text. */
export function literal(text: string): Expression {
  return { kind: 'bytes', bytes: encoder.encode(text) };
}

/** One control token. */
export function control(id: number): Expression {
  return { kind: 'range', low: FIRST_CONTROL + id, high: FIRST_CONTROL + id };
}

/** One byte in [low, high]. */
function byteRange(low: number, high: number): Expression {
  return { kind: 'range', low, high };
}

/** One after the other. */
export function sequence(...parts: readonly Expression[]): Expression {
  return { kind: 'sequence', parts };
}

/** Any one of them; none at all when there are no options. */
export function choice(...options: readonly Expression[]): Expression {
  return { kind: 'choice', options };
}

/** `least` to `most` times. */
export function repeat(item: Expression, least: number, most = Number.POSITIVE_INFINITY): Expression {
  return { kind: 'repeat', item, least, most };
}

/** Once or not at all. */
export function optional(item: Expression): Expression {
  return repeat(item, 0, 1);
}

/** The texts of a machine. */
export function machine(texts: Machine): Expression {
  return { kind: 'machine', machine: texts };
}

/** A rule, compiled once however often it is used; `resolve` must give the same object every time. */
export function reference(resolve: () => Expression): Expression {
  return { kind: 'reference', resolve };
}

/** Any character that is not in ASCII, well-formed (RFC 3629). */
const NON_ASCII: Expression = (() => {
  const tail = byteRange(0x80, 0xbf);
  return choice(
    sequence(byteRange(0xc2, 0xdf), tail),
    sequence(byteRange(0xe0, 0xe0), byteRange(0xa0, 0xbf), tail),
    sequence(byteRange(0xe1, 0xec), tail, tail),
    sequence(byteRange(0xed, 0xed), byteRange(0x80, 0x9f), tail),
    sequence(byteRange(0xee, 0xef), tail, tail),
    sequence(byteRange(0xf0, 0xf0), byteRange(0x90, 0xbf), tail, tail),
    sequence(byteRange(0xf1, 0xf3), tail, tail, tail),
    sequence(byteRange(0xf4, 0xf4), byteRange(0x80, 0x8f), tail, tail),
  );
})();

/** ASCII characters for which `isIn` holds. */
function asciiWhere(isIn: (code: number) => boolean): Expression {
  const ranges: Expression[] = [];
  for (let low = 0; low < 0x80; low++) {
    if (!isIn(low)) continue;
    let high = low;
    while (high + 1 < 0x80 && isIn(high + 1)) high++;
    ranges.push(byteRange(low, high));
    low = high;
  }
  return choice(...ranges);
}

/** Any text, control characters other than tab and line ends excluded. */
export const ANY_TEXT: Expression = repeat(
  choice(
    asciiWhere((code) => code >= 0x20 || code === 9 || code === 10 || code === 13),
    NON_ASCII,
  ),
  0,
);
