import { fstatSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { InvalidArgumentError } from '@markbase/core';

/** Silence of a pipe after which its reader is told what the command waits for. */
const PATIENCE_MS = 3000;
const STANDARD_INPUT = 0;

/**
 * True if standard input is a file or a pipe of a shell. A socket, which is what Node gives to its child processes, may
 * stay open for ever.
 */
function isPiped(): boolean {
  try {
    const status = fstatSync(STANDARD_INPUT);
    return status.isFIFO() || (status.isFile() && status.size > 0);
  } catch {
    return false;
  }
}

/**
 * The prompt of a command: what was given, followed by what is piped in; `-`, or nothing, means standard input alone.
 *
 * @param isTaken true if standard input is something else, such as a picture
 * @throws InvalidArgumentError if there is no prompt, or if the input is not text
 */
export async function readPrompt(given: string | undefined, isTaken = false): Promise<string> {
  const isMissing = given === undefined || given === '-';
  if (!isMissing && (isTaken || !isPiped())) return given;
  if (isTaken || (given === undefined && process.stdin.isTTY)) throw missingPrompt();
  const input = textOf(await standardInput());
  const prompt = isMissing ? input : [given, input].filter((part) => part !== '').join('\n\n');
  if (prompt.trim() === '') throw missingPrompt();
  return prompt;
}

/** All bytes of standard input. */
export async function standardInput(): Promise<Buffer> {
  const impatience = setTimeout(() => {
    process.stderr.write(
      'waiting for standard input; end it with Ctrl-D, or run the command with < /dev/null\n',
    );
  }, PATIENCE_MS);
  try {
    return await buffer(process.stdin);
  } finally {
    clearTimeout(impatience);
  }
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes).replace(/\r?\n$/, '');
  } catch (cause) {
    throw new InvalidArgumentError({
      argument: 'standard input',
      expected: 'text in UTF-8; pass a picture with --image -, a sound with --audio -',
      received: `${bytes.length} bytes of something else`,
      cause,
    });
  }
}

function missingPrompt(): InvalidArgumentError {
  return new InvalidArgumentError({
    argument: 'prompt',
    expected: 'a prompt, as an argument or on standard input',
    received: undefined,
  });
}
