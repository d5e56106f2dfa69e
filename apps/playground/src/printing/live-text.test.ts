import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { LiveText } from './live-text.js';

/** A terminal that understands what LiveText writes. */
class Screen {
  readonly isTTY = true;
  readonly lines: string[] = [''];
  written = '';
  #row = 0;

  constructor(
    readonly columns: number,
    readonly rows = 24,
  ) {}

  write(text: string): boolean {
    this.written += text;
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences are what is read
    for (const [piece] of text.matchAll(/\x1b\[\d*[A-Za-z]|[\r\n]|[^\x1b\r\n]+/g)) this.#take(piece);
    return true;
  }

  #take(piece: string): void {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: see above
    const up = /^\x1b\[(\d+)A$/.exec(piece);
    if (up) this.#row -= Number(up[1]);
    else if (piece === '\n') this.lines[++this.#row] ??= '';
    else if (piece === '\r') this.lines[this.#row] = '';
    else if (piece === '\x1b[J') this.lines.length = this.#row + 1;
    else if (!piece.startsWith('\x1b')) this.lines[this.#row] += piece;
  }
}

/** The screen after a text that arrives in pieces of `size` characters. */
function shown(text: string, columns: number, size: number): Screen {
  const screen = new Screen(columns);
  const live = new LiveText(screen as unknown as NodeJS.WriteStream);
  for (let at = 0; at < text.length; at += size) live.write(text.slice(at, at + size));
  return screen;
}

it.each([1, 3, 1000])('moves words whole to the next row, in pieces of %i', (size) => {
  const text = 'One morning, Sofia looked out of the window.\nShe put on a coat.\n\nEnd';
  const { lines } = shown(text, 21, size);
  expect(lines).toEqual([
    'One morning, Sofia',
    'looked out of the',
    'window.',
    'She put on a coat.',
    '',
    'End',
  ]);
});

it('shows light Markdown: the marks are gone, lists hang, code stays', () => {
  const text =
    '# Title\n- a **bold** and `x * y` thing that wraps\n```js\nconst a = 1;  // **\n```\n2*3*4 and a_b_c\n';
  const { lines, written } = shown(text, 24, 2);
  expect(lines.map((line) => stripVTControlCharacters(line))).toEqual([
    'Title',
    '• a bold and x * y',
    '  thing that wraps',
    '```js',
    'const a = 1;  // **',
    '```',
    '2*3*4 and a_b_c',
    '',
  ]);
  expect(written).toContain('\x1b[1mbold\x1b[22m');
});

it('leaves out control characters, and what has left the screen', () => {
  expect(shown('a\x1b]0;title\x07b\x9b31mc', 80, 100).lines).toEqual(['a]0;titleb31mc']);
  const screen = new Screen(12, 3);
  const live = new LiveText(screen as unknown as NodeJS.WriteStream);
  for (const word of '**one two three four five six seven eight**'.split(/(?= )/)) live.write(word);
  // The first rows keep their mark: they could only be redrawn while they were visible.
  expect(screen.lines[0]).toBe('**one two');
  expect(screen.lines.at(-1)).toContain('eight');
});
