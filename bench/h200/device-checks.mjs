import { removeTemporaryFolders } from '../../fixtures/temporary-folder.ts';
import { openDevice } from '../../packages/metal-runtime/src/index.ts';
import { runTests } from './test-registry.mjs';

/**
 * Runs cuda-device.test.ts; prints `{ name, error, isSkipped }` for each test. @throws without a device, because all tests would be skipped
 */
export async function device(_parameters, print) {
  (await openDevice({ kind: 'cuda' })).dispose();
  await import('../../packages/metal-runtime/test/cuda-device.test.ts');
  await runTests(({ name, error }) =>
    print({ name, error: error ? error.message : null, isSkipped: error === undefined }),
  );
  removeTemporaryFolders();
}
