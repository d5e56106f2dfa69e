import { join } from 'node:path';
import { ContextLengthError, FileAccessError, InvalidArgumentError, OutOfMemoryError } from '@markbase/core';
import { Command, CommanderError } from 'commander';
import { afterEach, expect, test, vi } from 'vitest';
import { reportError } from './errors.js';

const written: string[] = [];
vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
  written.push(String(text));
  return true;
});

afterEach(() => {
  written.length = 0;
  vi.unstubAllEnvs();
});

test('prints only the message of an error of a package', () => {
  const error = new InvalidArgumentError({ argument: '--seed', expected: 'a number', received: 'x' });
  expect(reportError(error)).toBe(1);
  expect(written.join('')).toBe(`error: ${error.message}\n`);
});

test('an error of the operating system says what failed and why', () => {
  const error = Object.assign(new Error('ENOSPC: …'), {
    code: 'ENOSPC',
    syscall: 'write',
    path: '/full/file',
  });
  expect(reportError(error)).toBe(1);
  expect(written.join('')).toBe('error: cannot write /full/file: no space left on the device\n');
});

test('other errors ask for a bug report, and show the stack only on request', () => {
  const error = new TypeError('x is not a function');
  expect(reportError(error)).toBe(1);
  expect(written.join('')).toMatch(/^error: x is not a function\n.*please report it/);
  expect(written.join('')).not.toContain('    at ');

  vi.stubEnv('MARKBASE_DEBUG', '1');
  reportError(new FileAccessError({ path: '/p', operation: 'open', reason: 'it does not exist' }));
  expect(written.join('')).toContain('    at ');
});

test('names the options of the command, not the arguments of packages', () => {
  const command = new Command('serve')
    .argument('<source>')
    .option('--model <dir>')
    .option('--context <n>')
    .option('--sequences <n>')
    .option('--top-k <n>')
    .option('--device <kind>', '', 'auto');
  command.parse(['checkpoint', '--model', 'my/model', '--top-k', '7'], { from: 'user' });
  const reported = (error: unknown) => {
    written.length = 0;
    reportError(error, command);
    return written.join('').trim();
  };
  const argument = (name: string) =>
    reported(new InvalidArgumentError({ argument: name, expected: 'a number', received: 'x' }));
  expect(argument('contextTokens')).toMatch(/^error: --context: expected/);
  expect(argument('maxSequences')).toMatch(/^error: --sequences: /);
  expect(argument('topK')).toMatch(/^error: --top-k: /);
  expect(argument('source')).toMatch(/^error: <source>: /);
  expect(argument('unknown')).toMatch(/^error: unknown: /);
  expect(reported(new ContextLengthError({ promptTokens: 9, maxTokens: 8 }))).toMatch(
    /pass a larger --context$/,
  );
  expect(reported(new OutOfMemoryError({ requestedBytes: 9, label: 'cache' }))).toBe(
    'error: out of memory: cache needs 9 bytes; lower --context or --sequences',
  );
  const file = (path: string) => reported(new FileAccessError({ path, operation: 'open', reason: 'gone' }));
  expect(file('my/model')).toBe('error: --model: cannot open my/model: gone');
  expect(file(join(process.cwd(), 'my/model'))).toMatch(/^error: --model: /);
  // "auto" is the default, which nobody chose.
  expect(file('auto')).toBe('error: cannot open auto: gone');
});

test('an interruption exits with 130, and messages of commander are not repeated', () => {
  expect(reportError(new DOMException('aborted', 'AbortError'))).toBe(130);
  expect(written.join('')).toBe('interrupted\n');
  written.length = 0;
  expect(reportError(new CommanderError(0, 'commander.help', ''))).toBe(0);
  expect(written).toEqual([]);
});
