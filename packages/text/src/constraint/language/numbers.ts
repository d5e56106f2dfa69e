// Long because numbers are one subject: their texts, their order and their multiples, digit by digit.
import type { GrammarBudget } from '../grammar-budget.js';
import { combine } from './algebra.js';
import { type Dfa, dfaOf, type Step } from './dfa.js';

/** A decimal number: sign, digits before and after the point, without leading or trailing zeros. */
interface Decimal {
  readonly isNegative: boolean;
  readonly whole: string;
  readonly fraction: string;
}

/** A condition on numbers; there may be several of each kind. */
export type NumberRule =
  | { readonly kind: 'integer'; readonly holds: boolean }
  | { readonly kind: 'order'; readonly bound: number; readonly allows: readonly Order[] }
  | { readonly kind: 'multiple'; readonly of: number; readonly holds: boolean };
/** How a number compares to a bound. */
export type Order = 'below' | 'equal' | 'above';

/** More digits than any double or 64-bit number has would only repeat zeros. */
const MOST_DIGITS = 16;
/** Doubles can distinguish all decimals with this many digits. */
const EXACT_DIGITS = 15;
/** Digits of integers with a bound beyond the integers that doubles represent exactly. */
const WIDE_DIGITS = 20;
/** Largest divisor, without its trailing zeros. */
const MAX_DIVISOR = 10_000;
/** Maximum number of trailing zeros of a divisor, and of digits after its point. */
const MAX_SHIFT = 10;

const [MINUS, POINT, ZERO, NINE] = [0x2d, 0x2e, 0x30, 0x39];

/** Any JSON number. */
export function anyNumber(budget: GrammarBudget): Dfa {
  return numberTexts(ANY, budget);
}

/** Any integer, without point and exponent. */
export function anyInteger(budget: GrammarBudget): Dfa {
  return numberTexts(INTEGER, budget);
}

/**
 * Numbers that satisfy rules, written without an exponent: integers of up to 16 digits, others of up to 15 digits in
 * all.
 *
 * @returns null for a divisor with more digits than an automaton can count
 */
export function numbersOf(rules: readonly NumberRule[], budget: GrammarBudget): Dfa | null {
  const key = JSON.stringify(rules);
  const seen = known.get(key);
  if (seen) {
    budget.addStates(seen.isEnd.length);
    return seen;
  }
  const made = restricted(rules, budget);
  if (!made) return null;
  known.set(key, made);
  if (known.size > MAX_KNOWN) known.delete(known.keys().next().value!);
  return made;
}

/** Languages of earlier calls: schemas use the same few bounds again and again. */
const known = new Map<string, Dfa>();
const MAX_KNOWN = 64;

function restricted(rules: readonly NumberRule[], budget: GrammarBudget): Dfa | null {
  const isWhole = rules.some((rule) => rule.kind === 'integer' && rule.holds);
  const isWide = rules.some(
    (rule) => rule.kind === 'order' && Math.abs(rule.bound) > Number.MAX_SAFE_INTEGER,
  );
  const isPlain = rules.every(
    (rule) => rule.kind !== 'multiple' && (rule.kind !== 'order' || rule.allows.length === 2),
  );
  let numbers: Dfa;
  if (!isWhole) {
    numbers = numberTexts(EXACT, budget);
  } else if (isWide && isPlain) {
    numbers = numberTexts(WIDE_INTEGER, budget);
  } else {
    numbers = anyInteger(budget);
    const isLimited = (side: Order) =>
      rules.some((rule) => rule.kind === 'order' && !rule.allows.includes(side));
    const safe = Number.MAX_SAFE_INTEGER;
    if (isWide || !isLimited('below'))
      numbers = combine('and', numbers, orderTexts(-safe, ['equal', 'above'], budget), budget);
    if (isWide || !isLimited('above'))
      numbers = combine('and', numbers, orderTexts(safe, ['below', 'equal'], budget), budget);
  }
  for (const rule of rules) {
    if (rule.kind === 'integer') {
      if (!rule.holds) numbers = combine('without', numbers, wholeTexts(budget), budget);
    } else if (rule.kind === 'order') {
      numbers = combine('and', numbers, orderTexts(rule.bound, rule.allows, budget), budget);
    } else {
      const multiples = multipleTexts(rule.of, budget);
      if (!multiples) return null;
      numbers = combine(rule.holds ? 'and' : 'without', numbers, multiples, budget);
    }
  }
  return numbers;
}

interface Digits {
  readonly whole: number;
  /** Maximum number of digits after the point, for numbers with `whole` digits before it. */
  fractionAfter(whole: number): number;
  readonly hasExponent: boolean;
}

/** Any number; readers round digits beyond the precision of a double. */
const ANY: Digits = { whole: MOST_DIGITS, fractionAfter: () => MOST_DIGITS, hasExponent: true };
const INTEGER: Digits = { whole: MOST_DIGITS, fractionAfter: () => 0, hasExponent: false };
const WIDE_INTEGER: Digits = { ...INTEGER, whole: WIDE_DIGITS };
/** At most 15 digits in all, in few steps, so that the automaton need not count the digits before the point exactly. */
const EXACT: Digits = {
  whole: EXACT_DIGITS,
  fractionAfter: (whole) => (whole <= 1 ? 14 : whole <= 5 ? 10 : whole <= 10 ? 5 : 0),
  hasExponent: false,
};

/** Part of a number's text. */
type Part = 'begin' | 'minus' | 'zero' | 'whole' | 'point' | 'fraction' | 'e' | 'sign' | 'exponent';
interface Scan {
  readonly part: Part;
  readonly whole: number;
  /** Digits left after the point, or digits of the exponent. */
  readonly count: number;
  /** There is a minus, and all digits so far are zero. */
  readonly isMinusZero: boolean;
}

function numberTexts(limits: Digits, budget: GrammarBudget): Dfa {
  const stepsOf = ({ part, whole, count, isMinusZero }: Scan): Step<Scan>[] => {
    const to = (next: Part, digits: Partial<Scan> = {}): Scan => ({
      part: next,
      whole,
      count,
      isMinusZero,
      ...digits,
    });
    const zero = to('zero', { whole: 1 });
    const first = to('whole', { whole: 1, isMinusZero: false });
    switch (part) {
      case 'begin':
        return [...only(MINUS, to('minus', { isMinusZero: !limits.hasExponent })), ...digits(zero, first)];
      case 'minus':
        return digits(zero, first);
      case 'zero':
      case 'whole': {
        const after: Step<Scan>[] = [];
        const most = limits.fractionAfter(whole);
        if (most > 0) after.push(...only(POINT, to('point', { whole: 0, count: most })));
        if (part === 'whole' && whole < limits.whole) {
          const more = to('whole', { whole: whole + 1 });
          after.push(...digits(more, more));
        }
        return [...after, ...exponent(to('e', { whole: 0, count: 0 }))];
      }
      case 'point':
      case 'fraction': {
        if (count === 0) return exponent(to('e', { count: 0 }));
        const more = to('fraction', { count: count - 1 });
        const rest = part === 'fraction' ? exponent(to('e', { count: 0 })) : [];
        return [...digits(more, { ...more, isMinusZero: false }), ...rest];
      }
      case 'e': {
        const some = to('exponent', { count: 1 });
        const sign = to('sign');
        return [...only(0x2b, sign), ...only(MINUS, sign), ...digits(some, some)];
      }
      case 'sign': {
        const some = to('exponent', { count: 1 });
        return digits(some, some);
      }
      case 'exponent': {
        const more = to('exponent', { count: count + 1 });
        return count < 2 ? digits(more, more) : [];
      }
    }
  };
  const exponent = (next: Scan): Step<Scan>[] =>
    limits.hasExponent ? [...only(0x45, next), ...only(0x65, next)] : [];
  return dfaOf<Scan>(
    {
      start: { part: 'begin', whole: 0, count: 0, isMinusZero: false },
      keyOf: ({ part, whole, count, isMinusZero }) => `${part}/${whole}/${count}/${isMinusZero}`,
      isEnd: ({ part, isMinusZero }) =>
        ['zero', 'whole', 'fraction', 'exponent'].includes(part) && !isMinusZero,
      stepsOf,
    },
    budget,
  );
}

/** A step on one character. */
function only<S>(code: number, next: S): Step<S>[] {
  return [
    { high: code - 1, next: null },
    { high: code, next },
  ];
}

/** Steps on a zero and on other digits. */
function digits<S>(zero: S, other: S): Step<S>[] {
  return [...only(ZERO, zero), { high: NINE, next: other }];
}

/** A separate step for each digit. */
function eachDigit<S>(next: (digit: number) => S): Step<S>[] {
  return Array.from({ length: 10 }, (_, digit) => only(ZERO + digit, next(digit))).flat();
}

/** Numbers with only zeros after the point. */
function wholeTexts(budget: GrammarBudget): Dfa {
  return dfaOf<'whole' | 'fraction'>(
    {
      start: 'whole',
      keyOf: (state) => state,
      isEnd: () => true,
      stepsOf: (state) =>
        state === 'whole'
          ? [
              ...only(MINUS, 'whole' as const),
              ...only(POINT, 'fraction' as const),
              ...digits('whole' as const, 'whole' as const),
            ]
          : only(ZERO, 'fraction' as const),
    },
    budget,
  );
}

interface Comparison {
  readonly isNegative: boolean;
  readonly isFraction: boolean;
  /** Digits of this part so far, counted up to one more than in the bound. */
  readonly count: number;
  /** How the digits so far compare. */
  readonly order: Order;
}

/** Numbers without an exponent that compare to a bound in one of the allowed ways. */
function orderTexts(bound: number, allows: readonly Order[], budget: GrammarBudget): Dfa {
  const { isNegative: isBoundNegative, whole, fraction } = decimalOf(bound);
  const orderOf = (digit: number, at: string | undefined): Order => {
    const wanted = Number(at ?? '0');
    return digit < wanted ? 'below' : digit > wanted ? 'above' : 'equal';
  };
  const wholeOrder = ({ count, order }: Comparison): Order =>
    count < whole.length ? 'below' : count > whole.length ? 'above' : order;
  const finalOrder = (state: Comparison): Order => {
    let order = state.isFraction ? state.order : wholeOrder(state);
    if (order === 'equal' && (state.isFraction ? state.count : 0) < fraction.length) order = 'below';
    if (state.isNegative !== isBoundNegative) return state.isNegative ? 'below' : 'above';
    if (!state.isNegative) return order;
    return order === 'below' ? 'above' : order === 'above' ? 'below' : 'equal';
  };
  const stepsOf = (state: Comparison): Step<Comparison>[] => {
    const steps: Step<Comparison>[] = [];
    if (!state.isFraction && state.count === 0 && !state.isNegative)
      steps.push(...only(MINUS, { ...state, isNegative: true }));
    if (!state.isFraction && state.count > 0) {
      steps.push(...only(POINT, { ...state, isFraction: true, count: 0, order: wholeOrder(state) }));
    }
    const bounds = state.isFraction ? fraction : whole;
    const count = Math.min(state.count + 1, bounds.length + 1);
    steps.push(
      ...eachDigit((digit) => ({
        ...state,
        count,
        order:
          state.order !== 'equal' || (!state.isFraction && state.count >= bounds.length)
            ? state.order
            : orderOf(digit, bounds[state.count]),
      })),
    );
    return steps;
  };
  return dfaOf<Comparison>(
    {
      start: { isNegative: false, isFraction: false, count: 0, order: 'equal' },
      keyOf: ({ isNegative, isFraction, count, order }) => `${isNegative}/${isFraction}/${count}/${order}`,
      isEnd: (state) => (state.isFraction || state.count > 0) && allows.includes(finalOrder(state)),
      stepsOf,
    },
    budget,
  );
}

interface Remainder {
  readonly rest: number;
  /** Trailing zeros that are not yet part of the remainder, at most as many as in the divisor. */
  readonly zeros: number;
  /** Digits after the point, or -1 before it. */
  readonly places: number;
  readonly isZero: boolean;
}

/** Multiples of a number, written without an exponent. Null if it has too many digits. */
function multipleTexts(of: number, budget: GrammarBudget): Dfa | null {
  const { whole, fraction } = decimalOf(of);
  const all = `${whole}${fraction}`.replace(/^0+/, '');
  const divisor = Number(all.replace(/0+$/, ''));
  const zeros = fraction === '' ? all.length - all.replace(/0+$/, '').length : 0;
  if (divisor > MAX_DIVISOR || zeros > MAX_SHIFT || fraction.length > MAX_SHIFT) return null;
  const append = (
    { rest, zeros: pending, places, isZero: wasZero }: Remainder,
    digit: number,
  ): Remainder | null => {
    const isZero = wasZero && digit === 0;
    if (places >= 0) {
      if (places >= fraction.length) return digit === 0 ? { rest, zeros: pending, places, isZero } : null;
      return { rest: (rest * 10 + digit) % divisor, zeros: pending, places: places + 1, isZero };
    }
    if (digit === 0 && pending < zeros) return { rest, zeros: pending + 1, places, isZero };
    if (digit === 0) return { rest: (rest * 10) % divisor, zeros: pending, places, isZero };
    return { rest: (rest * 10 ** (pending + 1) + digit) % divisor, zeros: 0, places, isZero };
  };
  const isMultiple = ({ rest, zeros: pending, places, isZero }: Remainder): boolean =>
    (pending === zeros || isZero) && (rest * 10 ** (fraction.length - Math.max(0, places))) % divisor === 0;
  const start: Remainder = { rest: 0, zeros: 0, places: -1, isZero: true };
  return dfaOf<Remainder>(
    {
      start,
      keyOf: ({ rest, zeros: pending, places, isZero }) =>
        ((rest * 16 + pending) * 16 + places + 1) * 2 + Number(isZero),
      isEnd: isMultiple,
      stepsOf: (state) => [
        ...(state.places < 0 ? [...only(MINUS, state), ...only(POINT, { ...state, places: 0 })] : []),
        ...Array.from({ length: 10 }, (_, digit): Step<Remainder>[] => [
          { high: ZERO + digit - 1, next: null },
          { high: ZERO + digit, next: append(state, digit) },
        ]).flat(),
      ],
    },
    budget,
  );
}

/** The shortest digits that identify a number. */
export function decimalOf(value: number): Decimal {
  const [, sign, before, after = '', exponent = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]\d+))?$/.exec(
    String(value),
  )!;
  const shift = Number(exponent);
  const digitsOf = `${before}${after}`;
  const point = before!.length + shift;
  const padded = point <= 0 ? `${'0'.repeat(1 - point)}${digitsOf}` : digitsOf.padEnd(point, '0');
  const at = Math.max(point, 1);
  return {
    isNegative: sign === '-' && value !== 0,
    whole: padded.slice(0, at).replace(/^0+(?=\d)/, ''),
    fraction: padded.slice(at).replace(/0+$/, ''),
  };
}
