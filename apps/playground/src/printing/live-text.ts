import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';
import { canStyle } from '../terminal.js';
import { MarkdownLines, type RenderedLine } from './markdown-line.js';

/** Of a terminal that does not know its size. */
const DEFAULT_SIZE = { columns: 80, rows: 24 };
/** Rows narrower than this are not worth indenting. */
const LEAST_COLUMNS = 12;

/** A stream that is a terminal. */
type Terminal = Pick<NodeJS.WriteStream, 'write' | 'isTTY' | 'columns' | 'rows'>;

/**
 * Text that arrives in pieces, on a terminal: light Markdown, with words moved whole to the next row. The line that is
 * being written is redrawn as far as it changes; finished lines stay.
 */
export class LiveText {
  readonly #terminal: Terminal;
  readonly #markdown: MarkdownLines;
  #line = '';
  /** Rows of the line on the screen; the cursor is at the end of the last one. */
  #rows: string[] = [''];

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
    this.#markdown = new MarkdownLines(canStyle(terminal));
  }

  /** True if the cursor is not at the beginning of a line. */
  get isLineOpen(): boolean {
    return this.#line !== '';
  }

  /** Shows more text. Control characters, which could change the terminal, are left out. */
  write(text: string): void {
    const [first = '', ...more] = printable(text).split('\n');
    this.#extend(first);
    for (const line of more) {
      this.endLine();
      this.#extend(line);
    }
  }

  /** Ends the line, also an empty one. */
  endLine(): void {
    this.#markdown.next(this.#line);
    this.#line = '';
    this.#rows = [''];
    this.#terminal.write('\n');
  }

  #extend(text: string): void {
    if (text === '') return;
    this.#line += text;
    this.#draw(rowsOf(this.#markdown.render(this.#line), this.#size.columns - 1));
  }

  /** Replaces the rows on the screen from the first one that differs. */
  #draw(rows: string[]): void {
    const drawn = this.#rows;
    this.#rows = rows;
    const different = rows.findIndex((row, index) => row !== drawn[index]);
    // What has left the screen cannot be changed.
    const reachable = Math.max(0, drawn.length - this.#size.rows + 1);
    const last = drawn.length - 1;
    const from = Math.max(reachable, different < 0 ? last : Math.min(different, last));
    const old = drawn[last]!;
    const extended = from === last ? rows[last] : undefined;
    if (extended?.startsWith(old)) {
      this.#terminal.write([extended.slice(old.length), ...rows.slice(last + 1)].join('\n'));
      return;
    }
    const up = last - from;
    this.#terminal.write(`${up > 0 ? `\x1b[${up}A` : ''}\r\x1b[J${rows.slice(from).join('\n')}`);
  }

  get #size(): { readonly columns: number; readonly rows: number } {
    const { columns, rows } = this.#terminal;
    return { columns: columns || DEFAULT_SIZE.columns, rows: rows || DEFAULT_SIZE.rows };
  }
}

function rowsOf({ lead, text, isCode }: RenderedLine, columns: number): string[] {
  if (isCode) return wrapAnsi(text, columns, { hard: true, trim: false, wordWrap: false }).split('\n');
  const indent = stringWidth(lead);
  const isNarrow = columns - indent < LEAST_COLUMNS;
  const rows = wrapAnsi(text, isNarrow ? columns : columns - indent, { hard: true }).split('\n');
  const margin = isNarrow ? '' : ' '.repeat(indent);
  return rows.map((row, index) => (index === 0 ? lead : margin) + row);
}

function printable(text: string): string {
  return (
    text
      .replaceAll('\t', '    ')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters that are removed
      .replaceAll(/[\x00-\x09\x0b-\x1f\x7f-\x9f]/g, '')
  );
}
