import { MAX_HEADER_DEPTH } from '../limits.js';

/** Reports a violated rule; `position` is a character position in the header text. Never returns. */
export type HeaderFailure = (rule: string, reason: string, position?: number) => never;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const NUMBER = /-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y;
/** Just below the largest float64, where readers that round differently still agree. */
const LARGEST_NUMBER = 1.797e308;
/** Text without backslash and control characters. */
const PLAIN = /^[ !#-[\]-\uffff]*$/;
const LONE_SURROGATE = /\p{Surrogate}/u;

/**
 * A strict JSON reader for the header of a safetensors file, linear in its length.
 *
 * `JSON.parse` will not do: it keeps the last of two equal keys, rounds large integers, and builds objects whose prototype a hostile name can reach. This reader passes on keys and values one by one instead.
 */
export class HeaderCursor {
  /** Name of the tensor that is being read, for messages; null between tensors. */
  tensor: string | null = null;
  private position = 0;

  constructor(
    private readonly text: string,
    private readonly report: HeaderFailure,
  ) {}

  /** Reports a violated rule, with the tensor in which it happened. */
  fail(rule: string, reason: string, position?: number): never {
    // Built lazily: a label for each of 10,000 values would cost more than reading them.
    const where = this.tensor === null ? '' : `tensor ${shown(this.tensor)}: `;
    return this.report(rule, `${where}${reason}`, position);
  }

  /**
   * Reads `{`, then each `"key": value`; `readValue` must consume the value. Equal keys are refused.
   *
   * @param readUsual may consume a whole pair at once and return its key, or consume nothing and return null
   */
  object(what: string, readValue: (key: string) => void, readUsual?: () => string | null): void {
    this.expect('{', what);
    const seen = new Set<string>();
    if (this.accept('}')) return;
    do {
      const start = this.position;
      const usual = readUsual === undefined ? null : readUsual();
      const key = usual ?? this.key(what);
      if (seen.has(key)) this.fail('DuplicateKey', `${what} has the name ${shown(key)} twice`, start);
      seen.add(key);
      if (usual === null) readValue(key);
    } while (this.accept(','));
    this.expect('}', what);
  }

  /** Reads `[`, then each element through `readValue`. */
  array(what: string, readValue: () => void): void {
    this.expect('[', what);
    if (this.accept(']')) return;
    do readValue();
    while (this.accept(','));
    this.expect(']', what);
  }

  /** Reads a string. */
  string(what: string): string {
    this.skipSpace();
    const start = this.position;
    if (this.text.charCodeAt(start) !== QUOTE) this.unexpected(`a string as ${what}`);
    const end = this.text.indexOf('"', start + 1);
    const plain = this.text.slice(start + 1, end < 0 ? undefined : end);
    if (end < 0 || !PLAIN.test(plain)) return this.escapedString(start, what);
    this.position = end + 1;
    return plain;
  }

  /** Reads a string that has escapes, character by character, or says what is wrong with it. */
  private escapedString(start: number, what: string): string {
    let end = start + 1;
    for (; ; end++) {
      const code = this.text.charCodeAt(end);
      if (code === QUOTE) break;
      if (code === BACKSLASH) end++;
      // Also reached at the end of the text, where the code is NaN.
      else if (!(code >= 0x20)) {
        this.fail(
          'InvalidHeader',
          `${what} has a control character or no end`,
          Math.min(end, this.text.length),
        );
      }
    }
    this.position = end + 1;
    return this.unescape(start, end + 1, what);
  }

  /** Reads a string, or any other value as its JSON text. */
  stringOrText(what: string): string {
    this.skipSpace();
    const start = this.position;
    if (this.text.charCodeAt(start) === QUOTE) return this.string(what);
    this.skip(what);
    return this.text.slice(start, this.position);
  }

  /** Reads a size or an offset: digits only, exact, at most 2^53 - 1. */
  size(what: string): number {
    this.skipSpace();
    const start = this.position;
    let end = start;
    while (isDigit(this.text.charCodeAt(end))) end++;
    const digits = this.text.slice(start, end);
    const next = this.text[end];
    const isInteger = digits !== '' && next !== '.' && next !== 'e' && next !== 'E';
    if (!isInteger || (digits.length > 1 && digits.startsWith('0'))) {
      this.fail('InvalidHeaderDeserialization', `${what} must be a whole number from 0`, start);
    }
    const value = Number(digits);
    if (!Number.isSafeInteger(value)) {
      this.fail('ValidationOverflow', `${what} is ${digits.slice(0, 40)}, more than 2^53 - 1`, start);
    }
    this.position = end;
    return value;
  }

  /**
   * Consumes what `pattern` (sticky) matches next, and gives the match; null when it does not match.
   *
   * For the few forms that nearly every file uses; everything else goes through the methods above.
   */
  match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.position;
    const match = pattern.exec(this.text);
    if (match !== null) this.position = pattern.lastIndex;
    return match;
  }

  /** Consumes `null` when it comes next. */
  acceptNull(): boolean {
    this.skipSpace();
    if (!this.text.startsWith('null', this.position)) return false;
    this.position += 4;
    return true;
  }

  /** Reads any value strictly, and discards it. */
  skip(what: string, depth = 0): void {
    if (depth > MAX_HEADER_DEPTH) {
      this.fail('InvalidHeader', `${what} is nested deeper than ${MAX_HEADER_DEPTH} levels`, this.position);
    }
    this.skipSpace();
    const next = this.text[this.position];
    if (next === '{') this.object(what, () => this.skip(what, depth + 1));
    else if (next === '[') this.array(what, () => this.skip(what, depth + 1));
    else if (next === '"') this.string(what);
    else if (!this.acceptNull() && !this.acceptWord('true') && !this.acceptWord('false')) this.number(what);
  }

  /** Requires that nothing but white space is left. */
  end(): void {
    this.skipSpace();
    if (this.position === this.text.length) return;
    if (this.text.charCodeAt(this.position) === 0) {
      this.fail(
        'InvalidHeader',
        'the header is padded with NUL bytes, expected spaces: rewrite the file with a correct writer',
        this.position,
      );
    }
    this.unexpected('the end of the header');
  }

  /** Reads a key and the colon after it. */
  private key(what: string): string {
    const key = this.string(`a name in ${what}`);
    this.expect(':', shown(key));
    return key;
  }

  /** Consumes `character` when it comes next, after white space. */
  private accept(character: string): boolean {
    this.skipSpace();
    if (this.text[this.position] !== character) return false;
    this.position++;
    return true;
  }

  private acceptWord(word: string): boolean {
    if (!this.text.startsWith(word, this.position)) return false;
    this.position += word.length;
    return true;
  }

  private expect(character: string, what: string): void {
    if (!this.accept(character)) this.unexpected(`"${character}" in ${what}`);
  }

  private number(what: string): void {
    const match = this.match(NUMBER);
    if (match === null) this.unexpected(`a value in ${what}`);
    // The reference reader has no infinity: it fails at a number beyond the largest float64.
    else if (Math.abs(Number(match[0])) > LARGEST_NUMBER) {
      this.fail('InvalidHeaderDeserialization', `${what} has a number out of range`, this.position);
    }
  }

  private unescape(start: number, end: number, what: string): string {
    let value: string;
    try {
      value = JSON.parse(this.text.slice(start, end)) as string;
    } catch {
      return this.fail('InvalidHeader', `${what} has an invalid escape`, start);
    }
    if (LONE_SURROGATE.test(value)) {
      this.fail('InvalidHeader', `${what} has half of a surrogate pair`, start);
    }
    return value;
  }

  private skipSpace(): void {
    for (; ; this.position++) {
      const code = this.text.charCodeAt(this.position);
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) return;
    }
  }

  private unexpected(expected: string): never {
    const found = this.text[this.position];
    const received = found === undefined ? 'the end of the header' : shown(found);
    return this.fail('InvalidHeader', `expected ${expected}, received ${received}`, this.position);
  }
}

/** A name for a message: quoted, control characters escaped, cut to a reasonable length. */
export function shown(name: string): string {
  return JSON.stringify(name.length > 80 ? `${name.slice(0, 77)}...` : name);
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
