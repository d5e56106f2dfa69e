import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { missingTools } from '../tools/clang.mjs';
import { packageRoot } from '../tools/targets.mjs';

const root = path.resolve(packageRoot, '../..');

describe.skipIf(missingTools() !== null)('docs/metal-on-linux.md', { timeout: 300_000 }, () => {
  const [script, output] = [
    ...readFileSync(path.join(root, 'docs/metal-on-linux.md'), 'utf8').matchAll(/```\w+\n([\s\S]*?)```/g),
  ].map((match) => match[1]!);
  const run = (text: string) => {
    const folder = temporaryFolder();
    const absolute = text.replaceAll('node packages/', `node ${root}/packages/`);
    const done = spawnSync('bash', ['-c', absolute], { cwd: folder, encoding: 'utf8' });
    return done.stdout;
  };

  it('shows ten lines that print the documented output', () => {
    expect(script!.trim().split('\n')).toHaveLength(10);
    expect(run(script!).replace(/ $/m, '')).toBe(output);
  });

  it('shows the fault that a missing bounds check causes', () => {
    expect(run(script!.replace('if (i < n) ', ''))).toContain(
      'error: scale: read of 4 bytes, 4 bytes after the end of in at index 0 (32 bytes) (program_source:5, thread 8,0,0 of threadgroup 0,0,0)',
    );
  });
});
