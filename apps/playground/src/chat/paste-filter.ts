import { Transform, type TransformCallback } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

/** Makes a terminal mark what is pasted. */
export const PASTE_ON = '\x1b[?2004h';
/** Ends what `PASTE_ON` began. */
export const PASTE_OFF = '\x1b[?2004l';

const BEGIN = '\x1b[200~';
const END = '\x1b[201~';
/** Stands for a pasted text in the keys; a private character that no keyboard has. */
export const PASTE_KEY = '\uE0F0';

/**
 * Keys of a terminal on their way to a line reader: a pasted text, which would be read line by line, becomes the one key
 * `PASTE_KEY`, and waits in `pasted`.
 */
export class PasteFilter extends Transform {
  /** A line reader asks for raw mode only if its input is a terminal. */
  readonly isTTY = true;
  /** Pasted texts in the order of their keys. */
  readonly pasted: string[] = [];
  readonly #terminal: NodeJS.ReadStream;
  readonly #decoder = new StringDecoder('utf8');
  #rest = '';
  #paste: string | null = null;

  constructor(terminal: NodeJS.ReadStream) {
    super();
    this.#terminal = terminal;
  }

  setRawMode(isRaw: boolean): this {
    this.#terminal.setRawMode?.(isRaw);
    return this;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    let text = this.#rest + this.#decoder.write(chunk);
    this.#rest = '';
    while (text !== '') text = this.#paste === null ? this.#keys(text) : this.#pasting(text);
    done();
  }

  /** Passes keys on, up to the beginning of a paste. @returns what follows it */
  #keys(text: string): string {
    const at = text.indexOf(BEGIN);
    if (at >= 0) {
      this.push(text.slice(0, at));
      this.#paste = '';
      return text.slice(at + BEGIN.length);
    }
    // Two characters: one alone is the escape key.
    const kept = beginningAtEnd(text, BEGIN, 2);
    this.#rest = text.slice(text.length - kept);
    this.push(text.slice(0, text.length - kept));
    return '';
  }

  /** Collects a paste. @returns what follows it */
  #pasting(text: string): string {
    const at = text.indexOf(END);
    if (at < 0) {
      const kept = beginningAtEnd(text, END, 1);
      this.#paste += text.slice(0, text.length - kept);
      this.#rest = text.slice(text.length - kept);
      return '';
    }
    this.pasted.push(plainText(`${this.#paste}${text.slice(0, at)}`));
    this.#paste = null;
    this.push(PASTE_KEY);
    return text.slice(at + END.length);
  }
}

/** How many characters at the end of a text are the beginning of a mark that is cut off. */
function beginningAtEnd(text: string, mark: string, least: number): number {
  for (let length = mark.length - 1; length >= least; length--) {
    if (text.endsWith(mark.slice(0, length))) return length;
  }
  return 0;
}

/** With plain line ends, without the one at the end, and without control characters. */
function plainText(pasted: string): string {
  return (
    pasted
      .replaceAll(/\r\n?/g, '\n')
      .replace(/\n$/, '')
      .replaceAll('\t', '    ')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they would move the cursor
      .replaceAll(/[\x00-\x09\x0b-\x1f\x7f]/g, '')
  );
}
