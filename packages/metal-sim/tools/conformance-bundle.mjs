// The conformance cases of metal-runtime as plain JavaScript, which loads quickly.
import path from 'node:path';
import { build } from 'vite';
import { packageRoot, runtimeRoot } from './targets.mjs';

/** Writes runtime.js, families.js and runs.js. @returns {Promise<string>} Their folder. */
export async function bundleConformance() {
  const folder = path.join(packageRoot, 'build/conformance');
  const input = {
    runtime: path.join(runtimeRoot, 'src/index.ts'),
    families: path.join(runtimeRoot, 'conformance/index.ts'),
    runs: path.join(runtimeRoot, 'conformance/case-runs.ts'),
  };
  await build({
    configFile: false,
    root: runtimeRoot,
    logLevel: 'error',
    ssr: { noExternal: true },
    build: {
      ssr: true,
      outDir: folder,
      emptyOutDir: true,
      target: 'node20',
      minify: false,
      rollupOptions: { input, output: { entryFileNames: '[name].js' } },
    },
  });
  return folder;
}
