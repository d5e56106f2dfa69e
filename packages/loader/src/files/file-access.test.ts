import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { FileAccessError } from '@markbase/core';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { withFile } from './file-access.js';

it.skipIf(process.platform === 'win32')('refuses a named pipe instead of waiting for a writer', async () => {
  const pipe = join(temporaryFolder(), 'model.safetensors');
  execFileSync('mkfifo', [pipe]);
  await expect(withFile(pipe, async () => 0)).rejects.toThrow(FileAccessError);
});

it('refuses a folder', async () => {
  await expect(withFile(temporaryFolder(), async () => 0)).rejects.toThrow('not a regular file');
});
