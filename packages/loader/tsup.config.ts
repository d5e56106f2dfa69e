import { defineConfig } from 'tsup';

export default defineConfig({
  entry: { index: 'src/index.ts', browser: 'src/browser.ts', cli: 'src/cli/index.ts', bin: 'src/cli/bin.ts' },
  format: 'esm',
  dts: true,
  sourcemap: true,
  clean: true,
  target: 'node20',
});
