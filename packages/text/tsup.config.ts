import { defineConfig } from 'tsup';

export default defineConfig({
  // Large conversations are rendered in a worker thread.
  entry: { index: 'src/index.ts', 'render-worker': 'src/chat/render-worker.ts' },
  format: 'esm',
  dts: true,
  sourcemap: true,
  clean: true,
  target: 'node20',
});
