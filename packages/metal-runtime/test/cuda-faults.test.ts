import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { cudaKernels, cudaLibrary, missingCudaParts } from './cuda-host.js';
import { loadHostTools, simulator } from './host-tools.js';

const { missingTools, buildTarget, cudaHostTarget } = await loadHostTools();

describe.runIf(missingCudaParts() === null && missingTools() === null)(
  'the CUDA backend when the driver fails',
  () => {
    const target = cudaHostTarget(path.join(simulator, '../metal-runtime/native/test/cuda_backend_test.cc'));

    beforeAll(async () => {
      expect((await buildTarget(target)).message).toBe('');
    }, 600_000);

    it('gives typed errors, continues where it can, and leaks nothing', { timeout: 120_000 }, () => {
      const env = { ...process.env, MARKBASE_LIBCUDA: cudaLibrary, MARKBASE_PTX: cudaKernels };
      const done = spawnSync(target.output, [temporaryFolder()], { encoding: 'utf8', env });
      expect(done.stdout).not.toMatch(/FAILED/);
      expect(done.stdout.match(/^ok /gm)).toHaveLength(20);
      expect(done.status).toBe(0);
    });
  },
);
