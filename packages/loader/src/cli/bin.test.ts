import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { fixture } from '../../../../fixtures/locate.js';

const PACKAGE = join(dirname(fileURLToPath(import.meta.url)), '../..');
const manifest = JSON.parse(readFileSync(join(PACKAGE, 'package.json'), 'utf8'));

function run(...args: string[]) {
  const bin = join(PACKAGE, manifest.bin['markbase-loader']);
  const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args], { encoding: 'utf8' });
  return { status, stdout, stderr };
}

describe('the built markbase-loader', () => {
  it('prints its version', () => {
    expect(run('--version')).toEqual({ status: 0, stdout: `${manifest.version}\n`, stderr: '' });
  });

  it('inspects, and reports a failure with a status and one line', () => {
    const { status, stdout } = run('inspect', fixture('12b-mlx-4bit'), '--json');
    expect([status, JSON.parse(stdout).variant]).toEqual([0, '12b']);
    const failed = run('inspect', '/nowhere/at/all');
    expect([failed.status, failed.stdout]).toEqual([2, '']);
    expect(failed.stderr).toMatch(/^markbase-loader: .*the folder does not exist\n$/);
  });
});
