import { createInterface, type Interface } from 'node:readline';
import { AnswerPrinter } from '../answer-printer.js';
import { isAbort, reasonForUser } from '../errors.js';
import type { ChatState } from './chat-state.js';
import { runSlashCommand, SLASH_COMMANDS } from './slash-commands.js';

const PROMPT = '> ';
const PROMPT_FOR_MORE = '… ';

/**
 * Runs a chat in a terminal, or with the lines of a pipe, until the input ends, `/quit`, or Ctrl-C twice in a row.
 * Ctrl-C during an answer stops that answer.
 */
export async function terminalChat(chat: ChatState): Promise<void> {
  const isTerminal = process.stdin.isTTY && process.stdout.isTTY;
  const lines = createInterface({
    input: process.stdin,
    output: isTerminal ? process.stdout : undefined,
    terminal: isTerminal,
    prompt: PROMPT,
    completer: (line: string) => [completions(line), line],
  });
  const work = new Interruptible(lines, isTerminal);
  const prompt = (text = PROMPT) => {
    if (!isTerminal) return;
    lines.setPrompt(text);
    lines.prompt();
  };
  let begun = '';
  prompt();
  for await (const line of lines) {
    if (line.endsWith('\\')) {
      begun += `${line.slice(0, -1)}\n`;
      prompt(PROMPT_FOR_MORE);
      continue;
    }
    const text = `${begun}${line}`.trim();
    begun = '';
    const goesOn = text === '' || (await work.run((signal) => respond(chat, text, signal)));
    if (!goesOn) break;
    prompt();
  }
  lines.close();
  work.dispose();
}

/** Answers a line or runs it as a command. @returns false when the chat is over */
async function respond(chat: ChatState, text: string, signal: AbortSignal): Promise<boolean> {
  try {
    if (!text.startsWith('/')) {
      await printAnswer(chat.ask(text, signal));
      return true;
    }
    const { text: reply, ask, isEnd = false } = await runSlashCommand(chat, text, signal);
    if (reply !== undefined) process.stdout.write(`${reply}\n`);
    if (ask) await printAnswer(chat.answer(ask, signal));
    return !isEnd;
  } catch (error) {
    const reason = isAbort(error) ? 'stopped' : reasonForUser(error);
    // Anything that is not a user error is a bug and ends the program.
    if (reason === null) throw error;
    process.stderr.write(`${isAbort(error) ? '' : 'error: '}${reason}\n`);
    return true;
  }
}

async function printAnswer(events: ReturnType<ChatState['ask']>): Promise<void> {
  const printer = new AnswerPrinter();
  try {
    for await (const event of events) printer.print(event);
  } finally {
    printer.end();
  }
}

function completions(line: string): string[] {
  return line.startsWith('/')
    ? Object.keys(SLASH_COMMANDS)
        .map((name) => `/${name}`)
        .filter((name) => name.startsWith(line))
    : [];
}

/** Lets Ctrl-C stop the running answer; with nothing to stop, the second Ctrl-C in a row ends the chat. */
class Interruptible {
  readonly #lines: Interface;
  #current: AbortController | null = null;
  #isWarned = false;

  constructor(lines: Interface, isTerminal: boolean) {
    this.#lines = lines;
    // A terminal in raw mode passes Ctrl-C to the line reader; with a pipe it stays a signal.
    if (isTerminal) lines.on('SIGINT', this.#onInterrupt);
    process.on('SIGINT', this.#onInterrupt);
  }

  async run<Result>(work: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const controller = new AbortController();
    this.#current = controller;
    this.#isWarned = false;
    try {
      return await work(controller.signal);
    } finally {
      this.#current = null;
    }
  }

  dispose(): void {
    process.off('SIGINT', this.#onInterrupt);
  }

  readonly #onInterrupt = () => {
    if (this.#current && !this.#current.signal.aborted) {
      this.#current.abort();
    } else if (this.#isWarned || this.#current) {
      this.#lines.close();
    } else {
      this.#isWarned = true;
      process.stderr.write('\nPress Ctrl-C again to end the chat; /help lists the commands\n');
      this.#lines.prompt();
    }
  };
}
