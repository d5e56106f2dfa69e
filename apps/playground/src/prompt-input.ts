import { fstatSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { InvalidArgumentError } from '@markbase/core';

/** Silence of a pipe after which its reader is told what the command waits for, or that it does not wait. */
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
 * The prompt of a command: what was given, followed by what is piped in; `-`, or nothing, means standard input alone. If there
 * is a prompt, a pipe that stays silent is ignored, with a notice on standard error: whoever started the command may have left
 * its end open.
 *
 * @param isTaken true if standard input is something else, such as a picture
 * @throws InvalidArgumentError if there is no prompt, or if the input is not text
 */
export async function readPrompt(given: string | undefined, isTaken = false): Promise<string> {
  const isMissing = given === undefined || given === '-';
  if (!isMissing && (isTaken || !isPiped())) return given;
  if (isTaken || (given === undefined && process.stdin.isTTY)) throw missingPrompt();
  if (!isMissing && (await isSilent())) return given;
  const input = textOf(await standardInput());
  const prompt = isMissing ? input : [given, input].filter((part) => part !== '').join('\n\n');
  if (prompt.trim() === '') throw missingPrompt();
  return prompt;
}

/** True if nothing comes from standard input for a while, not even its end; it is then closed. */
async function isSilent(): Promise<boolean> {
  const { stdin } = process;
  const timer = new AbortController();
  const silence = delay(PATIENCE_MS, true, { signal: timer.signal }).catch(() => false);
  const sign = new Promise<false>((resolve) => {
    stdin.once('readable', () => resolve(false));
  });
  const isQuiet = await Promise.race([silence, sign]);
  timer.abort();
  if (!isQuiet) return false;
  stdin.destroy();
  process.stderr.write(
    'nothing came on standard input, so it is ignored; use `--prompt -` to wait for it, or < /dev/null if there is no input\n',
  );
  return true;
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
