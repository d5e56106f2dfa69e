import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { completionModel } from '../src/completion/completion-model.js';
import { completionScript, SHELLS } from '../src/completion/scripts.js';
import { createProgram } from '../src/program.js';
import { markbase } from './run-markbase.js';

const model = completionModel(createProgram());

/** Completions of bash for a line with an incomplete last word. */
function bashReplies(...words: string[]): string[] {
  const script = `${completionScript('bash', model)}
COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); _markbase; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', script, 'bash', ...words], { encoding: 'utf8' })
    .trim()
    .split('\n');
}

function hasShell(name: string): boolean {
  try {
    execFileSync(name, ['-c', 'true'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(!hasShell('bash'))('in bash', () => {
  it('completes commands, options and values of options', () => {
    expect(bashReplies('markbase', 'ch')).toEqual(['chat']);
    expect(bashReplies('markbase', 'chat', '--th')).toEqual(['--thinking', '--threads']);
    expect(bashReplies('markbase', 'chat', '--device', 'm')).toEqual(['metal', 'metal-sim']);
    expect(bashReplies('markbase', 'completion', 'f')).toEqual(['fish']);
    expect(bashReplies('markbase', 'inspect', '/usr/sh')).toEqual(['']);
    expect(bashReplies('markbase', 'chat', '--model', '/usr/sh')).toContain('/usr/share');
    expect(bashReplies('markbase', 'chat', '--seed', '')).toEqual(['']);
  });
});

it.each(SHELLS.filter(hasShell))('writes a script that %s can read', (shell) => {
  const parse = shell === 'fish' ? ['--no-execute'] : ['-n'];
  execFileSync(shell, parse, { input: completionScript(shell, model) });
});

it('includes every option of every command', () => {
  for (const shell of SHELLS) {
    const script = completionScript(shell, model);
    for (const { name, options } of model.commands) {
      expect(script).toContain(name);
      for (const { flag } of options)
        expect(script).toContain(shell === 'fish' ? `-l ${flag.slice(2)}` : flag);
    }
  }
});

it('is printed by a command', async () => {
  const { status, stdout } = await markbase(['completion', 'bash']);
  expect(status).toBe(0);
  expect(stdout).toBe(completionScript('bash', model));
});
