import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // The page is served from the root of a server that this configuration does not know.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/page',
    emptyOutDir: true,
    target: 'es2022',
    // A data: URL would need a hole in the Content-Security-Policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  // `pnpm vite page` in this folder works on the page, with the APIs of a `markbase playground` that runs beside it.
  server: { proxy: { '/v1': 'http://127.0.0.1:8080', '/playground': 'http://127.0.0.1:8080' } },
});
