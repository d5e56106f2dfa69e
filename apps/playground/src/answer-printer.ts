import type { GenerateEvent, Usage } from '@markbase/text';
import { note } from './progress.js';
import { canStyle } from './terminal.js';

const DIM = '\x1b[2m';
const PLAIN = '\x1b[0m';

/**
 * Prints an answer as it is generated: text and tool calls on standard output, so that a pipe receives only the answer,
 * and reasoning on standard error, dimmed on a terminal.
 */
export class AnswerPrinter {
  #isReasoning = false;
  #isLineOpen = false;

  /** Prints one event immediately. */
  print(event: GenerateEvent): void {
    if (event.type === 'reasoning') {
      this.#reason(event.text);
      return;
    }
    this.#endReasoning();
    if (event.type === 'text') {
      process.stdout.write(event.text);
      this.#isLineOpen = !event.text.endsWith('\n');
    } else if (event.type === 'tool-call') {
      this.#endLine();
      process.stdout.write(`[tool call] ${event.name} ${event.argumentsJson}\n`);
    } else if (event.type === 'finish') {
      this.end();
      note(summary(event));
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
    if (!this.#isLineOpen) return;
    this.#isLineOpen = false;
    process.stdout.write('\n');
  }
}

function summary({ usage, timings, reason }: Extract<GenerateEvent, { type: 'finish' }>): string {
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
