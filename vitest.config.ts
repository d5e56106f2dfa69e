import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    setupFiles: ['fixtures/setup.ts'],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Native tests share two cores with the engine's own threads.
    maxWorkers: 2,
    projects: [
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
      {
        extends: true,
        test: { name: 'device', include: ['{packages,apps}/*/{test,families}/**/*.test.ts'] },
      },
    ],
  },
});
