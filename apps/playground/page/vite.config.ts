import { fileURLToPath } from 'node:url';
import { defineConfig, type Plugin } from 'vite';

/** KaTeX names each of its fonts in three formats, of which all browsers read the first. */
const oneFontFormat: Plugin = {
  name: 'one-font-format',
  enforce: 'pre',
  transform: (code, id) =>
    id.endsWith('katex.min.css') ? code.replace(/,url\([^)]*\.(?:woff|ttf)\) format\("\w+"\)/g, '') : null,
};

export default defineConfig({
  root: fileURLToPath(new URL('.', import.meta.url)),
  // The server's URL is not known at build time, so all paths are relative.
  base: './',
  plugins: [oneFontFormat],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  worker: { format: 'es', rolldownOptions: { output: { entryFileNames: 'assets/worker-[hash].js' } } },
  build: {
    outDir: '../dist/page',
    emptyOutDir: true,
    target: 'es2022',
    // A data: URL would require an exception in the Content-Security-Policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // The server takes no names with several dots.
    rolldownOptions: {
      output: { chunkFileNames: ({ name }) => `assets/${name.replaceAll('.', '-')}-[hash].js` },
    },
  },
  // `npx vite apps/playground/page` works on the page, with the APIs of a running `markbase playground`.
  server: { proxy: { '/v1': 'http://127.0.0.1:8080', '/playground': 'http://127.0.0.1:8080' } },
});
