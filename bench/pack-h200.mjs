// Packs everything that bench/h200.sh needs on a machine with only an NVIDIA driver: this Node, the addon, the PTX, the CLI and the checks
// as plain JavaScript. Everything must be built first. usage: node bench/pack-h200.mjs [--out DIR] (default: markbase-h200 in the folder
// for temporary files) The folder then contains run.tar.xz, about 25 MB, and about.json. The target needs a POSIX shell, tar, and xz or
// Python 3 with lzma.

import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'vite';

const LARGEST_BYTES = 28e6;
const root = fileURLToPath(new URL('..', import.meta.url));
const { values: flags } = parseArgs({
  options: { out: { type: 'string', default: path.join(tmpdir(), 'markbase-h200') } },
});
const staging = mkdtempSync(path.join(tmpdir(), 'markbase-pack-'));
try {
  await bundleScripts(path.join(staging, 'dist'));
  mkdirSync(path.join(staging, 'bin'));
  mkdirSync(path.join(staging, 'build'));
  copyFileSync(process.execPath, path.join(staging, 'bin/node'));
  execFileSync('strip', [path.join(staging, 'bin/node')]);
  const runtime = path.join(root, 'packages/metal-runtime/build');
  copyFileSync(path.join(runtime, 'markbase.node'), path.join(staging, 'build/markbase.node'));
  // The addon looks for the kernels in its own folder.
  cpSync(path.join(runtime, 'ptx'), path.join(staging, 'build/ptx'), { recursive: true });
  copyFileSync(path.join(root, 'apps/playground/package.json'), path.join(staging, 'package.json'));
  copyFileSync(path.join(root, 'bench/h200/driver.py'), path.join(staging, 'driver.py'));

  mkdirSync(flags.out, { recursive: true });
  const archive = path.join(flags.out, 'run.tar.xz');
  execFileSync('tar', ['-C', staging, '--sort=name', '-cJf', archive, '.'], {
    env: { ...process.env, XZ_OPT: process.env.XZ_OPT ?? '-6 -T0' },
  });
  const about = { commit: commitOf(root), packed: new Date().toISOString(), node: process.version };
  writeFileSync(path.join(flags.out, 'about.json'), `${JSON.stringify(about)}\n`);
  const { size } = statSync(archive);
  console.log(`${archive}: ${(size / 1e6).toFixed(1)} MB, commit ${about.commit}`);
  if (size > LARGEST_BYTES)
    console.log(`that is more than ${LARGEST_BYTES / 1e6} MB: it may be too large to transfer`);
} finally {
  rmSync(staging, { recursive: true, force: true });
}

/** The CLI, the parts of h200.sh and their workers, with every package that they import. */
async function bundleScripts(outDir) {
  const fromVitest = createRequire(createRequire(import.meta.url).resolve('vitest'));
  await build({
    configFile: false,
    root,
    logLevel: 'error',
    ssr: { noExternal: true, external: ['sharp'] },
    resolve: {
      alias: {
        vitest: path.join(root, 'bench/h200/test-registry.mjs'),
        '@vitest/expect': fromVitest.resolve('@vitest/expect'),
      },
    },
    build: {
      ssr: true,
      outDir,
      emptyOutDir: true,
      target: 'node20',
      minify: false,
      rollupOptions: {
        // Test files only have side effects, but their package.json declares none.
        treeshake: false,
        input: {
          cli: path.join(root, 'apps/playground/src/cli.ts'),
          main: path.join(root, 'bench/h200/main.mjs'),
          worker: path.join(root, 'bench/h200/worker.mjs'),
        },
        output: { entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' },
      },
    },
  });
}

function commitOf(folder) {
  const git = (...args) => execFileSync('git', args, { cwd: folder, encoding: 'utf8' }).trim();
  return `${git('rev-parse', '--short', 'HEAD')}${git('status', '--porcelain') === '' ? '' : ' with changes'}`;
}
