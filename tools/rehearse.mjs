// `pnpm rehearse [--keep] [--matrix] [--packed]`: packs every package, installs the tarballs into an empty folder outside the repository, and runs
// every example of the READMEs and of the site there, and the command, as somebody would who only knows these.
// Then it uses the packages in other ways: from CommonJS, by TypeScript with other settings, bundled, in a browser; with --matrix in
// other versions of Node, Bun and Deno too, and it prints a table of all that. --packed takes the addon that is already packed, such as
// that of a release.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import ts from 'typescript';
import { TOOLS, writeConsumers } from './lib/consumers.mjs';
import { capture, repositoryRoot, run } from './lib/process.mjs';
import { commandsOf, examplesOf } from './lib/readme-example.mjs';
import { writeReport } from './lib/report.mjs';
import { packPackage, publishedPackages } from './lib/workspace.mjs';

const counts = { passed: 0, failed: 0, skipped: 0 };
const packages = publishedPackages();
const root = mkdtempSync(path.join(os.tmpdir(), 'markbase-rehearsal-'));
const project = path.join(root, 'project');
const SITE = path.join(repositoryRoot, 'docs/site');
const DEMO_MODEL = 'node_modules/@markbase/demo-model/model';
/** Packages that examples use in addition to ours, and their types. */
const COMPANIONS = { ai: '6.0.326', zod: '4.6.7', '@types/json-schema': '7.0.15', esbuild: '0.27.7' };
const MEDIA = {
  'photo.jpg': 'scenes/01.jpg',
  'one.png': 'scenes/03.png',
  'two.webp': 'scenes/02.webp',
  'recording.flac': 'speech/20.flac',
};
const isKept = process.argv.includes('--keep');
const isComplete = process.argv.includes('--matrix');

/**
 * Runs one command in the project and counts it.
 *
 * @param {string} title
 * @param {string} program
 * @param {string[]} args
 */
function check(title, program, args) {
  const { status, stdout, stderr } = capture(program, args, { cwd: project });
  return note(title, status === 0, stdout + stderr);
}

/** @param {string} title @param {boolean} isOk @param {string} output Shown where it is not. */
function note(title, isOk, output) {
  counts[isOk ? 'passed' : 'failed'] += 1;
  console.log(`${isOk ? 'ok    ' : 'FAILED'} ${title}`);
  if (!isOk) console.log(output);
  return isOk;
}

function nodeTypesFolder() {
  return path.dirname(path.dirname(createRequire(import.meta.url).resolve('@types/node/package.json')));
}

/** Installs all tarballs into an empty project. As for users, the platform packages are optional. */
function install() {
  /** @type {Record<'dependencies' | 'optionalDependencies', Record<string, string>>} */
  const wanted = { dependencies: { ...COMPANIONS }, optionalDependencies: {} };
  for (const published of packages) {
    const tarball = packPackage(published, path.join(root, 'tarballs'));
    wanted[published.isPlatform ? 'optionalDependencies' : 'dependencies'][published.name] =
      `file:${tarball}`;
  }
  mkdirSync(project);
  const manifest = { name: 'rehearsal', version: '1.0.0', private: true, type: 'module', ...wanted };
  writeFileSync(path.join(project, 'package.json'), JSON.stringify(manifest, null, 2));
  return check('npm install of the tarballs', 'npm', [
    'install',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ]);
}

/**
 * Writes the examples into the project, as TypeScript for type checking and as JavaScript for running.
 *
 * @returns {{ title: string, file: string }[]}
 */
function writeExamples() {
  const readmes = packages
    .filter((published) => !published.isPlatform && published.manifest.exports?.['.'] !== undefined)
    .map((published) => {
      const readme = path.join(published.folder, 'README.md');
      const examples = existsSync(readme) ? examplesOf(readFileSync(readme, 'utf8')) : [];
      return {
        title: published.name,
        examples: examples.length > 0 ? examples : ['throw new Error("no ```ts block in a README.md");'],
      };
    });
  const examples = examplesOf(readFileSync(path.join(repositoryRoot, 'README.md'), 'utf8'));
  readmes.push({ title: 'the README of the repository', examples });
  for (const page of sitePages()) {
    const text = readFileSync(path.join(SITE, page), 'utf8');
    readmes.push({ title: `the site's ${page}`, examples: examplesOf(text) });
  }
  return readmes.flatMap(({ title, examples }, readme) =>
    examples.map((example, index) => {
      const source = withDemoModel(example);
      const file = `example-${readme}-${index}`;
      const options = { module: ts.ModuleKind.ESNext, target: ts.ScriptTarget.ES2022 };
      writeFileSync(path.join(project, `${file}.ts`), source);
      writeFileSync(
        path.join(project, `${file}.mjs`),
        ts.transpileModule(source, { compilerOptions: options }).outputText,
      );
      return { title: `${title}, example ${index + 1}`, file };
    }),
  );
}

/**
 * Examples name checkpoints that a user would have downloaded, as `models/<name>` or by their name on the hub: here each of them is
 * replaced by the demo model.
 *
 * @param {string} example
 */
function withDemoModel(example) {
  return example.replace(/(['"])(?:\/?models|google)\/[\w.-]+\1/g, `'${DEMO_MODEL}'`);
}

/** Commands that the site shows and that end by themselves. */
function siteCommands() {
  return sitePages().flatMap((page) =>
    commandsOf(readFileSync(path.join(SITE, page), 'utf8'), /^npx markbase (?:generate|transcribe) /),
  );
}

/** The pages that are written by hand, without one whose examples need a hub: the loader's tests run those over a local one. */
function sitePages() {
  return readdirSync(SITE, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.md') && file !== path.join('packages', 'loader.md'))
    .sort();
}

/** Examples name a user's pictures and sounds: here they are held-out files of the demo model. */
function writeMedia() {
  const heldOut = path.join(project, 'node_modules/@markbase/demo-model/held-out');
  for (const [name, source] of Object.entries(MEDIA))
    copyFileSync(path.join(heldOut, source), path.join(project, name));
}

/**
 * Uses the packages in many ways; all of them must give the same answer.
 *
 * @param {{ file: string }[]} examples
 */
function checkConsumers(examples) {
  const files = examples.map(({ file }) => `${file}.ts`);
  const settings = {
    typeRoots: nodeTypesFolder(),
    types: ['node'],
    files,
    tools: isComplete ? installTools() : null,
  };
  const consumers = writeConsumers(project, settings).filter(({ isSampled }) => isComplete || isSampled);
  const expected = { answer: '', page: 'read 1.5 -2, function', none: '' };
  const rows = ['| how the packages are used | result |', '|---|---|'];
  for (const { name, commands, prints } of consumers) {
    let result = { status: 0, stdout: '', stderr: '' };
    for (const [program = '', ...args] of commands) {
      if (result.status === 0) result = capture(program, args, { cwd: project });
    }
    const printed = result.stdout.trim().split('\n').at(-1) ?? '';
    if (prints === 'answer' && expected.answer === '' && printed.includes('"isServedAlike":true'))
      expected.answer = printed;
    const isOk =
      result.status === 0 && (prints === 'none' || (printed !== '' && printed === expected[prints]));
    note(name, isOk, result.stdout + result.stderr);
    rows.push(`| ${name} | ${isOk ? 'ok' : 'failed'} |`);
  }
  if (isComplete) console.log(`\n${rows.join('\n')}\n`);
}

/** @returns {string} The folder with all programs that consumers are run with. */
function installTools() {
  const tools = path.join(root, 'tools');
  for (const [folder, name] of Object.entries(TOOLS)) {
    const target = path.join(tools, folder);
    mkdirSync(target, { recursive: true });
    writeFileSync(path.join(target, 'package.json'), '{"private":true}');
    check(`npm install ${name}`, 'npm', [
      'install',
      '--prefix',
      target,
      '--no-save',
      '--loglevel=error',
      name,
    ]);
  }
  return tools;
}

/** Without the package of the platform, `markbase doctor` says so once, and what to do. */
function checkWithoutAddon() {
  for (const { name, isPlatform } of packages)
    if (isPlatform) rmSync(path.join(project, 'node_modules', name), { recursive: true, force: true });
  const { status, stdout, stderr } = capture('npx', ['--no-install', 'markbase', 'doctor'], { cwd: project });
  const isSaidOnce =
    stdout.split('no native addon for').length === 2 &&
    stdout.includes('npm install @markbase/metal-runtime-');
  note('markbase doctor without an addon', status === 1 && isSaidOnce, stdout + stderr);
}

/** @param {{ file: string }[]} examples */
function checkTypes(examples) {
  const compilerOptions = {
    target: 'ES2022',
    lib: ['ES2023', 'ESNext.Disposable', 'DOM'],
    module: 'NodeNext',
    strict: true,
    noUncheckedIndexedAccess: true,
    noEmit: true,
    typeRoots: [nodeTypesFolder()],
    types: ['node'],
  };
  const files = examples.map(({ file }) => `${file}.ts`);
  writeFileSync(path.join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions, files }));
  check('types of the examples', 'tsc', ['-p', 'tsconfig.json']);
}

try {
  // If this fails, an example below that needs the addon shows it.
  if (!process.argv.includes('--packed')) run(process.execPath, ['tools/pack-native.mjs']);
  run(process.execPath, ['tools/pack-ptx.mjs']);
  if (install()) {
    const examples = writeExamples();
    writeMedia();
    checkTypes(examples);
    for (const { title, file } of examples) check(title, process.execPath, [`${file}.mjs`]);
    check('markbase doctor', 'npx', ['--no-install', 'markbase', 'doctor']);
    const request = ['--model', DEMO_MODEL, '--prompt', 'Tell me a story about a fox.'];
    check('markbase generate', 'npx', ['--no-install', 'markbase', 'generate', ...request]);
    for (const command of siteCommands()) check(command, 'bash', ['-c', command]);
    checkConsumers(examples);
    checkWithoutAddon();
  }
} finally {
  if (isKept) console.log(`kept: ${root}`);
  else rmSync(root, { recursive: true, force: true });
}
writeReport('rehearsal', counts);
process.exitCode = counts.failed > 0 ? 1 : 0;
