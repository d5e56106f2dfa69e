import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // The server's URL is not known at build time, so all paths are relative.
  base: './',
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: '../dist/page',
    emptyOutDir: true,
    target: 'es2022',
    // A data: URL would require an exception in the Content-Security-Policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  // `npx vite apps/playground/page` works on the page, with the APIs of a running `markbase playground`.
  server: { proxy: { '/v1': 'http://127.0.0.1:8080', '/playground': 'http://127.0.0.1:8080' } },
});
