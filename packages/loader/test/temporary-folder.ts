import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** A folder that exists while the tests of the calling file run. */
export async function temporaryFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'markbase-loader-'));
  afterAll(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
