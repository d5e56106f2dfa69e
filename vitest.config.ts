import { defineConfig } from 'vitest/config';
import { writeLists } from './packages/metal-runtime/scripts/list-families.mjs';
import { LongestFirst } from './tools/lib/longest-first.js';

/** The conformance cases of every kernel family on one kind of backend. Workers keep what they import, but open devices again. */
function conformanceOn(backend: 'cpu' | 'metal' | 'cuda') {
  const more = backend === 'cuda' ? ['packages/metal-runtime/test/cuda-tiles.test.ts'] : [];
  return {
    extends: true as const,
    test: {
      name: backend,
      include: ['packages/metal-runtime/families/*/oracle.test.ts', ...more],
      env: { MARKBASE_CONFORMANCE_BACKEND: backend },
      isolate: false,
    },
  };
}

/** Projects that another check of CI runs: `coverage.mjs` counts the lines that the GPU backends reach. */
const leftOut = new Set(process.env.MARKBASE_LEAVE_OUT_PROJECTS?.split(','));

/** What only the GPU backends do: plans, devices, limits, faults. */
const GPU_TESTS = [
  'packages/metal-runtime/test/{metal-tensor,metal-device,cuda-device,cuda-plans,gpu-limits,gpu-faults}.test.ts',
  'apps/playground/test/merged-launches.test.ts',
];

// Tests read sources, which import the lists of families.
writeLists();

export default defineConfig({
  test: {
    setupFiles: ['fixtures/setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Native tests share two cores with the engine's own threads.
    maxWorkers: 2,
    sequence: { sequencer: LongestFirst },
    projects: [
      ...(['metal', 'cuda', 'cpu'] as const).filter((name) => !leftOut.has(name)).map(conformanceOn),
      ...(leftOut.has('gpu') ? [] : [{ extends: true as const, test: { name: 'gpu', include: GPU_TESTS } }]),
      {
        extends: true,
        test: {
          name: 'device',
          include: ['{packages,apps}/*/test/**/*.test.ts'],
          exclude: ['packages/metal-runtime/test/cuda-tiles.test.ts', ...GPU_TESTS],
          // A busy machine needs longer than the default of a second.
          expect: { poll: { timeout: 20_000 } },
        },
      },
      {
        extends: true,
        test: {
          name: 'unit',
          include: [
            'packages/*/src/**/*.test.ts',
            'apps/*/{src,page/src}/**/*.test.ts',
            'tools/**/*.test.ts',
          ],
          // Importing a package costs more than most of these tests: files of a worker share what they import.
          isolate: false,
        },
      },
    ],
  },
});
