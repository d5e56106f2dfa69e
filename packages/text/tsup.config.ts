import { defineConfig } from 'tsup';

export default defineConfig({
  // Large conversations are rendered, and large grammars built, in worker threads.
  entry: {
    index: 'src/index.ts',
    'render-worker': 'src/chat/render-worker.ts',
    'grammar-worker': 'src/constraint/grammar-worker.ts',
  },
  format: 'esm',
  dts: true,
  sourcemap: true,
  clean: true,
  target: 'node20',
});
