import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: [
      'packages/*/{src,test,conformance}/**/*.test.ts',
      'apps/*/{src,test}/**/*.test.ts',
      'apps/*/page/src/**/*.test.ts',
      'tools/**/*.test.ts',
    ],
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Native tests share two cores with the engine's own threads.
    maxWorkers: 2,
  },
});
