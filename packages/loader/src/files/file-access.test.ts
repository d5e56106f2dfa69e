import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FileAccessError } from '@markbase/core';
import { afterAll, expect, it } from 'vitest';
import { withFile } from './file-access.js';

const folder = mkdtempSync(join(tmpdir(), 'markbase-file-access-'));
afterAll(() => rmSync(folder, { recursive: true }));

it.skipIf(process.platform === 'win32')('refuses a named pipe instead of waiting for a writer', async () => {
  const pipe = join(folder, 'model.safetensors');
  execFileSync('mkfifo', [pipe]);
  await expect(withFile(pipe, async () => 0)).rejects.toThrow(FileAccessError);
});

it('refuses a folder', async () => {
  await expect(withFile(folder, async () => 0)).rejects.toThrow('not a regular file');
});
