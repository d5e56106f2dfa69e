import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { repositoryRoot } from './process.mjs';

/**
 * A way to use the packages: commands, run in order in a project in which they are installed.
 *
 * @typedef {object} Consumer
 * @property {string} name
 * @property {string[][]} commands
 * @property {'answer' | 'page' | 'none'} prints What the last of them prints.
 * @property {boolean} isSampled Part of `.ci/run`.
 */

/** Programs from npm that the consumers are run with, by the name of the folder that they are installed in. */
export const TOOLS = {
  'node-22': `node-linux-${process.arch}@22`,
  'node-24': `node-linux-${process.arch}@24`,
  bun: 'bun@1.4.5',
  deno: 'deno@2.9.6',
};
/** What a bundler leaves in node_modules, as the README of the runtime says. */
const EXTERNAL = ['@markbase/metal-runtime-*', 'sharp', 'opus-decoder', 'mpg123-decoder'];
const RESOLUTIONS = /** @type {const} */ ({
  bundler: { module: 'ESNext', moduleResolution: 'Bundler' },
  node16: { module: 'Node16', moduleResolution: 'Node16' },
  nodenext: { module: 'NodeNext', moduleResolution: 'NodeNext' },
});

/**
 * Writes the programs of all consumers into a project, and lists what to run there.
 *
 * @param {string} project
 * @param {{ typeRoots: string, types: string[], files: string[], tools: string | null }} settings `files`: TypeScript to check.
 *   `tools`: the folder in which TOOLS are installed; null: without them.
 * @returns {Consumer[]}
 */
export function writeConsumers(project, settings) {
  const sources = path.join(repositoryRoot, 'tools/consumers');
  for (const name of ['answer.mjs', 'page.mjs'])
    copyFileSync(path.join(sources, name), path.join(project, name));
  const answer = readFileSync(path.join(sources, 'answer.mjs'), 'utf8');
  const required = answer.replaceAll(/^import (\{.*\}) from ('.*');$/gm, 'const $1 = require($2);');
  writeFileSync(path.join(project, 'answer.cjs'), required);
  return [...onRuntimes(settings.tools), ...types(project, settings), ...bundles(project), ...pages(project)];
}

/** @param {string | null} tools @returns {Consumer[]} */
function onRuntimes(tools) {
  /** @param {string} name @param {string[]} command @param {boolean} isSampled */
  const both = (name, command, isSampled) =>
    ['answer.mjs', 'answer.cjs'].map((file) => ({
      name: `${name}, ${file.endsWith('.cjs') ? 'CommonJS' : 'ES modules'}`,
      commands: [[...command, file]],
      prints: /** @type {const} */ ('answer'),
      isSampled,
    }));
  const here = both(`Node ${process.versions.node}`, [process.execPath], true);
  if (tools === null) return here;
  /** @param {keyof typeof TOOLS} folder @param {string} file */
  const tool = (folder, file) => path.join(tools, folder, 'node_modules', file);
  return [
    ...here,
    ...both('Node 22', [tool('node-22', `node-linux-${process.arch}/bin/node`)], false),
    ...both('Node 24', [tool('node-24', `node-linux-${process.arch}/bin/node`)], false),
    ...both('Bun', [tool('bun', '.bin/bun'), 'run'], false),
    ...both('Deno', [tool('deno', '.bin/deno'), 'run', '--allow-all', '--no-lock'], false),
  ];
}

/** @param {string} project @param {{ typeRoots: string, types: string[], files: string[] }} settings @returns {Consumer[]} */
function types(project, { typeRoots, types, files }) {
  return Object.entries(RESOLUTIONS).flatMap(([resolution, options]) =>
    [true, false].map((skipLibCheck) => {
      const compilerOptions = {
        target: 'ES2022',
        lib: ['ES2023', 'ESNext.Disposable', 'DOM'],
        ...options,
        strict: true,
        noUncheckedIndexedAccess: true,
        noEmit: true,
        skipLibCheck,
        typeRoots: [typeRoots],
        types,
      };
      const config = `tsconfig.${resolution}-${skipLibCheck}.json`;
      writeFileSync(path.join(project, config), JSON.stringify({ compilerOptions, files }));
      return {
        name: `TypeScript, moduleResolution ${resolution}${skipLibCheck ? ', skipLibCheck' : ''}`,
        commands: [['tsc', '-p', config]],
        prints: /** @type {const} */ ('none'),
        // The examples are checked with nodenext in any case.
        isSampled: !skipLibCheck && resolution === 'bundler',
      };
    }),
  );
}

/** @param {string} project @returns {Consumer[]} */
function bundles(project) {
  const external = EXTERNAL.map((name) => `--external:${name}`);
  const shared = [
    'node_modules/.bin/esbuild',
    'answer.mjs',
    '--bundle',
    '--platform=node',
    '--target=node20',
  ];
  const esbuild = /** @type {const} */ (['esm', 'cjs']).map((format) => {
    const out = `out/esbuild.${format === 'esm' ? 'mjs' : 'cjs'}`;
    return {
      name: `esbuild, ${format}, run by Node`,
      commands: [
        [...shared, `--format=${format}`, '--log-level=error', ...external, `--outfile=${out}`],
        [process.execPath, out],
      ],
      prints: /** @type {const} */ ('answer'),
      isSampled: true,
    };
  });
  writeFileSync(
    path.join(project, 'vite.server.config.mjs'),
    `export default {
  logLevel: 'warn',
  build: { ssr: 'answer.mjs', outDir: 'out/vite', emptyOutDir: true },
  ssr: { noExternal: true, external: ['sharp', 'opus-decoder', 'mpg123-decoder'] },
};
`,
  );
  return [
    ...esbuild,
    {
      name: 'Vite, server, run by Node',
      commands: [
        ['vite', 'build', '--config', 'vite.server.config.mjs'],
        [process.execPath, 'out/vite/answer.js'],
      ],
      prints: 'answer',
      isSampled: true,
    },
  ];
}

/** @param {string} project @returns {Consumer[]} */
function pages(project) {
  const open = [process.execPath, path.join(repositoryRoot, 'tools/consumers/open-page.mjs')];
  const html = '<!doctype html><title>nothing</title><script type="module" src="./page.mjs"></script>';
  writeFileSync(path.join(project, 'index.html'), html);
  mkdirSync(path.join(project, 'out/esbuild-page'), { recursive: true });
  writeFileSync(path.join(project, 'out/esbuild-page/index.html'), html);
  writeFileSync(
    path.join(project, 'vite.page.config.mjs'),
    `export default { logLevel: 'warn', build: { outDir: 'out/vite-page', emptyOutDir: true } };\n`,
  );
  const esbuild = ['node_modules/.bin/esbuild', 'page.mjs', '--bundle', '--format=esm', '--log-level=error'];
  return [
    {
      name: 'esbuild, a page in Chromium',
      commands: [
        [...esbuild, '--outfile=out/esbuild-page/page.mjs'],
        [...open, 'out/esbuild-page'],
      ],
      prints: 'page',
      isSampled: false,
    },
    {
      name: 'Vite, a page in Chromium',
      commands: [
        ['vite', 'build', '--config', 'vite.page.config.mjs'],
        [...open, 'out/vite-page'],
      ],
      prints: 'page',
      isSampled: true,
    },
  ];
}
