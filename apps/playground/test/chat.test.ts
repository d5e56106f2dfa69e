import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { environment, hasDemoModel, markbase } from './run-markbase.js';

const CLI = fileURLToPath(new URL('../dist/cli.js', import.meta.url));

/** Runs a chat; each line is written once the expected text has appeared. */
async function chat(
  turns: readonly { readonly line: string; readonly until: RegExp; readonly interruptOn?: RegExp }[],
  args: readonly string[] = [],
): Promise<{ status: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, [CLI, 'chat', '--temperature', '0', ...args], {
    env: environment({ MARKBASE_CONFIG: '' }),
  });
  const output = { stdout: '', stderr: '' };
  let index = 0;
  let begin = 0;
  let isInterrupted = false;
  const next = () => {
    const turn = turns[index];
    if (!turn) child.stdin.end();
    else child.stdin.write(`${turn.line}\n`);
  };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text;
      const turn = turns[index];
      if (!turn) return;
      const all = output.stdout + output.stderr;
      if (turn.interruptOn?.test(output.stdout.slice(begin)) && !isInterrupted) {
        isInterrupted = true;
        child.kill('SIGINT');
      }
      if (!turn.until.test(all)) return;
      index += 1;
      begin = output.stdout.length;
      next();
    });
  }
  next();
  const status = await new Promise<number | null>((resolve) => {
    child.on('close', resolve);
  });
  return { status, ...output };
}

it.skipIf(!hasDemoModel)('answers line by line, remembers, and runs slash commands', async () => {
  const file = join(temporaryFolder(), 'chat.json');
  const { status, stdout, stderr } = await chat([
    { line: '/help', until: /Ctrl-C stops an answer/ },
    { line: 'What is 31 + 90?', until: /= 121\n/ },
    { line: '/retry', until: /= 121\n[\s\S]*= 121\n/ },
    { line: '/system Reply only with JSON.', until: /applies from the next answer/ },
    { line: 'What is 97 - 54?', until: /43[\s\S]*\n/ },
    { line: '/stats', until: /tokens of context/ },
    { line: `/save ${file}`, until: /saved to/ },
    { line: '/undo', until: /removed/ },
    { line: `/load ${file}`, until: /4 messages from/ },
    { line: '/set temperature hot', until: /error: .*a number/ },
    { line: '/nonsense', until: /error: .*\/nonsense/ },
    { line: '/image /no/such.png', until: /error: .*\/no\/such\.png/ },
    { line: '/quit', until: /never/ },
  ]);
  expect({ status, stdout, stderr }).toMatchObject({ status: 0 });
  expect(stdout).toContain('/audio FILE');
  expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({
    system: 'Reply only with JSON.',
    messages: [
      { role: 'user', content: 'What is 31 + 90?' },
      { role: 'assistant', content: expect.stringContaining('121') },
      { role: 'user' },
      { role: 'assistant' },
    ],
  });
});

it.skipIf(!hasDemoModel)('stops an answer on Ctrl-C, and continues', async () => {
  const { status, stdout, stderr } = await chat([
    { line: 'Tell me a story about a fox and a lantern.', until: /stopped\n/, interruptOn: /\w/ },
    { line: 'What is 31 + 90?', until: /= 121\n/ },
  ]);
  expect({ status, stdout, stderr }).toMatchObject({ status: 0, stdout: expect.stringContaining('121') });
});

it('refuses a missing model', async () => {
  const { status, stderr } = await markbase(['chat', '--model', '/no/such/folder']);
  expect(status).toBe(1);
  expect(stderr).toContain('/no/such/folder');
});
