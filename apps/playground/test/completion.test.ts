import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { CLI, markbase } from './run-markbase.js';

const bash = await markbase(['completion', 'bash']);

/** Completions of bash for a line, as if Tab were pressed at its end; what the shell's own file completion adds is not here. */
function bashReplies(line: string): string[] {
  const script = `markbase() { "${process.execPath}" "${CLI}" "$@"; }
${bash.stdout}
COMP_LINE="$1"; COMP_POINT=\${#1}; read -ra COMP_WORDS <<< "$1"; [[ "$1" == *" " ]] && COMP_WORDS+=("")
COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 )); _markbase_completion; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const output = execFileSync('bash', ['-c', script, 'bash', line], { encoding: 'utf8' });
  return output.split('\n').filter((reply) => reply !== '');
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
  it.each([
    ['markbase ch', ['chat']],
    ['markbase chat --th', ['--thinking', '--threads']],
    ['markbase chat --device m', ['metal', 'metal-sim']],
    ['markbase completion f', ['fish']],
    ['markbase run de', ['demo', 'demo-experts']],
    ['markbase run demo --image ', []],
    ['markbase chat --seed ', []],
  ])('completes %j', (line, replies) => {
    expect(bashReplies(line)).toEqual(replies);
  });
});

it.each(['bash', 'zsh', 'fish'].filter(hasShell))('writes a script that %s can read', async (shell) => {
  const { status, stdout } = await markbase(['completion', shell]);
  expect(status).toBe(0);
  execFileSync(shell, shell === 'fish' ? ['--no-execute'] : ['-n'], { input: stdout });
});
