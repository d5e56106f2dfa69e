/** A JSON number, as accepted by `JSON.parse`. */
const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The original text of a number that JavaScript would print differently: `12345678901234567890`, `1e400`, `1.0`. */
export class ExactNumber {
  /** The number in JSON syntax. */
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  /** The closest JavaScript number, used by plain `JSON.stringify`. */
  toJSON(): number {
    return Number(this.text);
  }
}

/**
 * Reads a number in JSON syntax: a JavaScript number if it prints the same, else an ExactNumber. Null for other text.
 */
export function readNumber(text: string): number | ExactNumber | null {
  if (!JSON_NUMBER.test(text)) return null;
  const value = Number(text);
  return String(value) === text ? value : new ExactNumber(text);
}

/**
 * A number as Python prints it, because templates were written for Python: `1e-07`, `1.0`, `1e+16`. Decimal numbers
 * that Python would round keep their digits, as do integers of any size.
 */
export function pythonNumber(number: number | bigint | ExactNumber): string {
  const text = number instanceof ExactNumber ? number.text : String(number);
  if (/^-?\d+$/.test(text)) return text === '-0' ? '0' : text;
  const value = Number(text);
  if (!Number.isFinite(value)) return text;
  const printed = pythonFloat(value);
  return isSameDecimal(text, printed) ? printed : text;
}

/** `repr` of a float: the shortest digits that yield the same number, with an exponent below 1e-4 and from 1e16 on. */
function pythonFloat(value: number): string {
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  const [mantissa = '0', power = '0'] = Math.abs(value).toExponential().split('e');
  const digits = mantissa.replace('.', '');
  const exponent = Number(power);
  if (exponent < -4 || exponent >= 16) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : '';
    const size = String(Math.abs(exponent)).padStart(2, '0');
    return `${sign}${digits[0]}${fraction}e${exponent < 0 ? '-' : '+'}${size}`;
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`;
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0');
  return `${sign}${whole}.${digits.slice(exponent + 1) || '0'}`;
}

function isSameDecimal(a: string, b: string): boolean {
  const [first, second] = [decimalOf(a), decimalOf(b)];
  return first.digits === second.digits && first.power === second.power;
}

/** The number as `digits` * 10^`power`, without zeros at either end of the digits. */
function decimalOf(text: string): { readonly digits: string; readonly power: number } {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const all = `${whole.replace('-', '')}${fraction}`.replace(/^0+/, '');
  const digits = all.replace(/0+$/, '');
  if (digits === '') return { digits, power: 0 };
  return { digits, power: Number(exponent) - fraction.length + all.length - digits.length };
}
