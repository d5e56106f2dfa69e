import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vite';

export default defineConfig({
  // In this repository the page uses the sources; elsewhere, the installed package.
  resolve: {
    alias: { '@markbase/loader/browser': fileURLToPath(new URL('../../src/browser.ts', import.meta.url)) },
  },
});
