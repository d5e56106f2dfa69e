import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';
import { PASTE_KEY, PASTE_OFF, PASTE_ON, PasteFilter } from './paste-filter.js';

/** A line reader whose line can be changed. */
interface EditableLine {
  line: string;
  cursor: number;
}

/** What the reader of a terminal writes: nothing while an answer is being printed. */
class Echo extends Writable {
  readonly isTTY = true;
  isMuted = false;
  readonly #onResize = () => this.emit('resize');

  constructor() {
    super({ decodeStrings: false });
    process.stdout.on('resize', this.#onResize);
  }

  get columns(): number {
    return process.stdout.columns || 80;
  }

  override _write(text: string, _encoding: BufferEncoding, done: () => void): void {
    if (!this.isMuted) process.stdout.write(text);
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    process.stdout.off('resize', this.#onResize);
    done(error);
  }
}

/**
 * Edits messages in a terminal: a pasted text with several lines is one message, Up and Down go through earlier ones, Tab
 * completes.
 */
export class LineEditor {
  readonly lines: Interface;
  readonly #echo = new Echo();
  readonly #keys = new PasteFilter(process.stdin);

  /** @param history earlier messages, newest first */
  constructor(options: {
    readonly history: readonly string[];
    readonly complete: (line: string) => Promise<[string[], string]>;
  }) {
    process.stdin.pipe(this.#keys);
    process.stdout.write(PASTE_ON);
    this.lines = createInterface({
      input: this.#keys,
      output: this.#echo,
      terminal: true,
      history: [...options.history],
      historySize: options.history.length + 1000,
      removeHistoryDuplicates: true,
      completer: (line: string, done: (error: Error | null, result: [string[], string]) => void) => {
        options.complete(line).then(
          (result) => done(null, result),
          () => done(null, [[], line]),
        );
      },
    });
    // After the reader's own listener, which has put the key into the line.
    this.#keys.on('keypress', () => this.#insertPasted());
  }

  /** Hides what is typed while something else is printed. */
  set isMuted(isMuted: boolean) {
    this.#echo.isMuted = isMuted;
  }

  /** Shows the prompt and what has been typed meanwhile. */
  prompt(text: string): void {
    this.lines.setPrompt(text);
    this.lines.prompt(true);
  }

  /** Drops what has been typed. @returns false if there was nothing */
  clear(): boolean {
    const edited = this.lines as unknown as EditableLine;
    if (edited.line === '') return false;
    edited.line = '';
    edited.cursor = 0;
    return true;
  }

  /** Gives the terminal back. */
  close(): void {
    this.lines.close();
    process.stdin.unpipe(this.#keys);
    process.stdin.pause();
    process.stdout.write(PASTE_OFF);
    this.#echo.destroy();
  }

  #insertPasted(): void {
    const edited = this.lines as unknown as EditableLine;
    let isChanged = false;
    for (let at = edited.line.indexOf(PASTE_KEY); at >= 0; at = edited.line.indexOf(PASTE_KEY)) {
      const pasted = this.#keys.pasted.shift() ?? '';
      edited.line = edited.line.slice(0, at) + pasted + edited.line.slice(at + PASTE_KEY.length);
      if (edited.cursor > at) edited.cursor += pasted.length - PASTE_KEY.length;
      isChanged = true;
    }
    if (isChanged) this.lines.prompt(true);
  }
}
