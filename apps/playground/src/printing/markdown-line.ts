const ESCAPE = '\x1b[';
const STYLES = {
  bold: [1, 22],
  dim: [2, 22],
  italic: [3, 23],
  underline: [4, 24],
  strike: [9, 29],
  code: [36, 39],
} as const;

type Style = keyof typeof STYLES;

/** One line of an answer, for a terminal. */
export interface RenderedLine {
  /** What stands before the first row; later rows are indented as far. */
  readonly lead: string;
  readonly text: string;
  /** Code keeps its spaces, and is broken anywhere. */
  readonly isCode: boolean;
}

/** Renders lines of Markdown one after another: headings, lists, quotes, emphasis, links, code. */
export class MarkdownLines {
  readonly #isStyled: boolean;
  #fence: string | null = null;

  /** @param isStyled false: lines stay as they are */
  constructor(isStyled: boolean) {
    this.#isStyled = isStyled;
  }

  /** Renders a line, which may be incomplete. */
  render(line: string): RenderedLine {
    const isFence = this.#fenceOf(line) !== null;
    if (isFence || this.#fence !== null) {
      return { lead: '', text: isFence ? this.#style('dim', line) : line, isCode: true };
    }
    const [, indent = '', mark = '', rest = ''] = /^(\s*)((?:[-*+]|\d{1,4}[.)]|>|#{1,6})\s+)?(.*)$/s.exec(
      line,
    )!;
    if (!this.#isStyled) return { lead: indent + mark, text: rest, isCode: false };
    const text = this.#spans(rest);
    if (mark.startsWith('#')) return { lead: indent, text: this.#style('bold', text), isCode: false };
    if (mark.startsWith('>')) return { lead: `${indent}│ `, text: this.#style('dim', text), isCode: false };
    return { lead: indent + mark.replace(/^[-*+]\s+/, '• '), text, isCode: false };
  }

  /** Goes on to the next line after a complete one. */
  next(line: string): void {
    const fence = this.#fenceOf(line);
    if (fence !== null) this.#fence = this.#fence === null ? fence : null;
  }

  /** The fence that opens or closes a block of code. */
  #fenceOf(line: string): string | null {
    const [, fence = null, info = ''] = /^\s*(`{3,}|~{3,})(.*)$/.exec(line) ?? [];
    if (fence === null || this.#fence === null) return fence;
    return info.trim() === '' && fence.startsWith(this.#fence) ? fence : null;
  }

  #spans(text: string): string {
    // Code first: nothing in it is a mark.
    return text
      .split(/(`[^`]+`)/)
      .map((part, index) => (index % 2 === 1 ? this.#style('code', part.slice(1, -1)) : this.#emphasis(part)))
      .join('');
  }

  #emphasis(text: string): string {
    return text
      .replaceAll(/\*\*(?=\S)(.+?)(?<=\S)\*\*/g, (_, inner: string) => this.#style('bold', inner))
      .replaceAll(/(?<![\w*])\*(?=[^\s*])([^*]+?)(?<=\S)\*(?![\w*])/g, (_, inner: string) =>
        this.#style('italic', inner),
      )
      .replaceAll(/(?<![\w_])_(?=[^\s_])([^_]+?)(?<=\S)_(?![\w_])/g, (_, inner: string) =>
        this.#style('italic', inner),
      )
      .replaceAll(/~~(?=\S)(.+?)(?<=\S)~~/g, (_, inner: string) => this.#style('strike', inner))
      .replaceAll(/\[([^\]]+)\]\((\S+?)\)/g, (_, label: string, url: string) =>
        label === url ? this.#style('underline', url) : `${label} (${this.#style('underline', url)})`,
      );
  }

  #style(style: Style, text: string): string {
    if (!this.#isStyled || text === '') return text;
    const [on, off] = STYLES[style];
    return `${ESCAPE}${on}m${text}${ESCAPE}${off}m`;
  }
}
