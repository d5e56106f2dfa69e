/** Stands between `<|channel>` and the thought. */
const HEADER = 'thought\n';

/** Maximum amount of white space that is held back at the end of a thought. */
const MAX_HELD_SPACE = 256;

/** The text of a thought as it arrives, without its header and without trailing white space. */
export class ReasoningText {
  // Text that may turn out to be the header; null once that is decided.
  #header: string | null;
  #space = '';

  /** @param hasHeader false when the header is already part of the prompt */
  constructor(hasHeader: boolean) {
    this.#header = hasHeader ? '' : null;
  }

  /** Adds text; returns the text that is known to belong to the thought. */
  push(text: string): string {
    if (this.#header === null) return this.#addBody(text);
    const header = this.#header + text;
    if (header.startsWith(HEADER)) {
      this.#header = null;
      return this.#addBody(header.slice(HEADER.length));
    }
    if (HEADER.startsWith(header)) {
      this.#header = header;
      return '';
    }
    // The channel has another name or none: everything counts as thinking.
    this.#header = null;
    return this.#addBody(header);
  }

  /** Ends the thought; returns held-back text that belongs to it. */
  finish(): string {
    const rest = this.#header ?? '';
    this.#header = null;
    this.#space = '';
    return HEADER.startsWith(rest) ? '' : rest;
  }

  #addBody(text: string): string {
    const all = this.#space + text;
    let end = all.length;
    while (end > 0 && all.length - end < MAX_HELD_SPACE && isSpace(all.charCodeAt(end - 1))) end--;
    this.#space = all.slice(end);
    return all.slice(0, end);
  }
}

function isSpace(unit: number): boolean {
  return unit === 0x20 || unit === 0x0a || unit === 0x0d || unit === 0x09;
}
