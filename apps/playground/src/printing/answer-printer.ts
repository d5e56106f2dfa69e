import type { GenerateEvent, Usage } from '@markbase/text';
import { note } from '../progress.js';
import { canRedraw, canStyle, wrapped } from '../terminal.js';
import { LiveText } from './live-text.js';

type Finish = Extract<GenerateEvent, { type: 'finish' }>;

const DIM = '\x1b[2m';
const PLAIN = '\x1b[0m';

/**
 * Prints an answer while it is generated: text and tool calls on standard output, so that a pipe receives only the
 * answer, and reasoning on standard error, dimmed on a terminal. A terminal shows light Markdown.
 *
 * @param summarise the last line, on a terminal only
 */
export async function printAnswer(
  events: AsyncIterable<GenerateEvent>,
  summarise: (finish: Finish) => string = summary,
): Promise<void> {
  const printer = new AnswerPrinter();
  try {
    for await (const event of events) {
      printer.print(event);
      if (event.type !== 'finish') continue;
      printer.end();
      note(dimmed(wrapped(summarise(event), process.stderr)));
    }
  } finally {
    printer.end();
  }
}

class AnswerPrinter {
  readonly #text = sinkOf(process.stdout);
  #isReasoning = false;

  /** Prints one event immediately. */
  print(event: GenerateEvent): void {
    if (event.type === 'reasoning') {
      this.#reason(event.text);
      return;
    }
    this.#endReasoning();
    if (event.type === 'text') {
      this.#text.write(event.text);
    } else if (event.type === 'tool-call') {
      this.#endLine();
      this.#text.write(`[tool call] ${event.name} ${event.argumentsJson}\n`);
    }
  }

  /** Ends open lines; also called after an interruption. */
  end(): void {
    this.#endReasoning();
    this.#endLine();
  }

  #reason(text: string): void {
    if (!this.#isReasoning) {
      this.#endLine();
      process.stderr.write(canStyle(process.stderr) ? `${DIM}[reasoning] ` : '[reasoning] ');
    }
    this.#isReasoning = true;
    process.stderr.write(text);
  }

  #endReasoning(): void {
    if (!this.#isReasoning) return;
    this.#isReasoning = false;
    process.stderr.write(canStyle(process.stderr) ? `${PLAIN}\n` : '\n');
  }

  #endLine(): void {
    if (this.#text.isLineOpen) this.#text.endLine();
  }
}

/** Where text goes: as it is into a pipe, laid out on a terminal. */
function sinkOf(stream: NodeJS.WriteStream): Pick<LiveText, 'write' | 'endLine' | 'isLineOpen'> {
  if (canRedraw(stream)) return new LiveText(stream);
  return {
    isLineOpen: false,
    write(text) {
      stream.write(text);
      if (text !== '') this.isLineOpen = !text.endsWith('\n');
    },
    endLine() {
      stream.write('\n');
      this.isLineOpen = false;
    },
  } as { isLineOpen: boolean } & Pick<LiveText, 'write' | 'endLine'>;
}

function dimmed(text: string): string {
  return canStyle(process.stderr) ? `${DIM}${text}${PLAIN}` : text;
}

function summary({ usage, timings, reason }: Finish): string {
  const decodeSeconds = (timings.totalMs - timings.firstTokenMs) / 1000;
  const rate = decodeSeconds > 0 ? (usage.completionTokens - 1) / decodeSeconds : 0;
  return (
    `${usage.promptTokens} tokens in, first token after ${timings.firstTokenMs.toFixed(0)} ms; ` +
    `${usage.completionTokens} tokens out, ${rate.toFixed(1)} tokens/s${guessed(usage)}; finish reason: ${reason}`
  );
}

/** What was guessed, if anything. */
function guessed({ acceptedTokens, rejectedTokens }: Usage): string {
  const count = acceptedTokens + rejectedTokens;
  return count === 0 ? '' : `, ${acceptedTokens} of ${count} guessed tokens right`;
}
