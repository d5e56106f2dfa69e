import { createInterface, type Interface } from 'node:readline';
import { type ContextLengthError, hasErrorCode } from '@markbase/core';
import { isAbort, reasonForUser } from '../errors.js';
import { printAnswer } from '../printing/answer-printer.js';
import { startProgress } from '../progress.js';
import { canRedraw, wrapped } from '../terminal.js';
import type { ChatHistory } from './chat-history.js';
import type { ChatState } from './chat-state.js';
import { completeLine } from './complete-line.js';
import { answerSummary } from './context-gauge.js';
import { LineEditor } from './line-editor.js';
import { runSlashCommand } from './slash-commands.js';

const PROMPT = '> ';
const PROMPT_FOR_MORE = '… ';

/** How a chat begins. */
export interface TerminalChatOptions {
  /** The first message; empty = ask for it. */
  readonly first: string;
  /** Messages of earlier chats; null: none are kept. */
  readonly history: ChatHistory | null;
  /** Called when the model begins to read. */
  readonly onFirstStep: () => void;
}

/**
 * Runs a chat in a terminal, or with the lines of a pipe, until the input ends, `/quit`, or Ctrl-C twice in a row.
 * Ctrl-C during an answer stops that answer.
 */
export async function terminalChat(chat: ChatState, options: TerminalChatOptions): Promise<void> {
  const isTerminal = process.stdin.isTTY && canRedraw(process.stdout);
  const history = isTerminal ? options.history : null;
  const editor = isTerminal
    ? new LineEditor({ history: (await history?.read()) ?? [], complete: completeLine })
    : null;
  const lines = editor?.lines ?? createInterface({ input: process.stdin, terminal: false });
  const work = new Interruptible(lines, {
    dropLine: () => editor?.clear() ?? false,
    promptAgain: () => editor?.prompt(PROMPT),
  });
  const progress = startProgress('reading the prompt', (tokens) => `${Math.round(tokens)} tokens`);
  chat.onPrefill = ({ doneTokens, totalTokens }) => {
    options.onFirstStep();
    if (doneTokens < totalTokens) progress.update(doneTokens, totalTokens);
    else progress.finish();
  };
  const answer = async (text: string): Promise<boolean> => {
    if (editor) editor.isMuted = true;
    await history?.add(text);
    try {
      return await work.run((signal) =>
        respond(chat, text, signal, () => progress.say('reading the message')),
      );
    } finally {
      progress.finish();
      if (editor) editor.isMuted = false;
    }
  };
  try {
    if (options.first !== '') {
      if (editor) process.stdout.write(`${PROMPT}${options.first}\n`);
      if (!(await answer(options.first))) return;
    }
    let begun = '';
    editor?.prompt(PROMPT);
    for await (const line of lines) {
      if (line.endsWith('\\')) {
        begun += `${line.slice(0, -1)}\n`;
        editor?.prompt(PROMPT_FOR_MORE);
        continue;
      }
      const text = `${begun}${line}`.trim();
      begun = '';
      if (text !== '' && !(await answer(text))) return;
      editor?.prompt(PROMPT);
    }
    // Ctrl-D and Ctrl-C leave the cursor after the prompt.
    if (editor) process.stdout.write('\n');
  } finally {
    if (editor) editor.close();
    else lines.close();
    work.dispose();
  }
}

/** Answers a line or runs it as a command. @returns false when the chat is over */
async function respond(
  chat: ChatState,
  text: string,
  signal: AbortSignal,
  onAsk: () => void,
): Promise<boolean> {
  const print = (events: ReturnType<ChatState['ask']>) => {
    onAsk();
    return printAnswer(events, (finish) => answerSummary(finish, chat.model.settings.contextTokens));
  };
  try {
    if (!text.startsWith('/')) {
      await print(chat.ask(text, signal));
      return true;
    }
    const { text: reply, ask, isEnd = false } = await runSlashCommand(chat, text, signal);
    if (reply !== undefined) process.stdout.write(`${wrapped(reply, process.stdout)}\n`);
    if (ask) await print(chat.answer(ask, signal));
    return !isEnd;
  } catch (error) {
    const reason = isAbort(error) ? 'stopped' : reasonForUser(withAdvice(error));
    // Anything that is not a user error is a bug and ends the program.
    if (reason === null) throw error;
    process.stderr.write(`${wrapped(isAbort(error) ? reason : `error: ${reason}`, process.stderr)}\n`);
    return true;
  }
}

/** What helps in a chat whose context is full. */
function withAdvice(error: unknown): unknown {
  if (!hasErrorCode(error, 'CONTEXT_LENGTH')) return error;
  return (error as ContextLengthError).changedBy(
    'begin again with /clear, remove the last question with /undo, or start the chat with a larger --context',
  );
}

/** Lets Ctrl-C stop the running answer; with nothing to stop, it drops the line, and the second one in a row ends the chat. */
class Interruptible {
  readonly #lines: Interface;
  readonly #editing: { dropLine(): boolean; promptAgain(): void };
  #current: AbortController | null = null;
  #isWarned = false;

  constructor(lines: Interface, editing: { dropLine(): boolean; promptAgain(): void }) {
    this.#lines = lines;
    this.#editing = editing;
    // A terminal in raw mode passes Ctrl-C to the line reader; with a pipe it stays a signal.
    lines.on('SIGINT', this.#onInterrupt);
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
    } else if (this.#editing.dropLine()) {
      process.stderr.write('^C\n');
      this.#editing.promptAgain();
    } else {
      this.#isWarned = true;
      process.stderr.write('\nPress Ctrl-C again to end the chat; /help lists the commands\n');
      this.#editing.promptAgain();
    }
  };
}
