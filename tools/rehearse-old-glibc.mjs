// `node tools/rehearse-old-glibc.mjs [--kept]`: builds the addon of a release, installs the packages with it, and answers a prompt
// with the demo model in a fresh Debian 11, whose glibc is 2.31. Needs root, debootstrap and what `tools/pack-native.mjs --release`
// needs. --kept: takes the addon that is already packed.
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { giveToUser, installNode, makeChroot, runInChroot } from './lib/chroot.mjs';
import { capture, run } from './lib/process.mjs';
import { packPackage, publishedPackages } from './lib/workspace.mjs';

const NEEDED = [
  'core',
  'loader',
  'metal-runtime',
  'text',
  'demo-model',
  `metal-runtime-linux-${process.arch}`,
];
const FOLDER = '/srv/project';
const PROGRAM = `
import { modelPath } from '@markbase/demo-model';
import { openDevice } from '@markbase/metal-runtime';
import { generate, loadTextModel } from '@markbase/text';
const device = await openDevice({ kind: 'cpu' });
const model = await loadTextModel(modelPath, device);
const messages = [{ role: 'user', content: 'Tell me a story about a fox.' }];
const { text, usage } = await generate(model, { messages, maxTokens: 40, temperature: 0 });
const { glibcVersionRuntime } = process.report.getReport().header;
console.log(JSON.stringify({ glibc: glibcVersionRuntime, node: process.version, isa: device.info.isa, tokens: usage.completionTokens, text }));
`;

if (!process.argv.includes('--kept') && run(process.execPath, ['tools/pack-native.mjs', '--release']) !== 0)
  process.exit(1);
const scratch = mkdtempSync(path.join(os.tmpdir(), 'markbase-old-glibc-'));
try {
  const project = installPackages();
  const here = capture(process.execPath, ['answer.mjs'], { cwd: project });
  console.log(`here: ${here.stdout}${here.stderr}`.trim());
  const root = path.join(scratch, 'debian-11');
  makeChroot(root, 'bullseye', ['ca-certificates']);
  installNode(root, 20, scratch);
  cpSync(project, path.join(root, FOLDER), { recursive: true });
  giveToUser(root, FOLDER);
  const there = runInChroot(root, FOLDER, ['node', 'answer.mjs']);
  console.log(`Debian 11: ${there.stdout}${there.stderr}`.trim());
  const isSame = there.status === 0 && JSON.parse(there.stdout).text === JSON.parse(here.stdout).text;
  console.log(isSame ? 'the same answer' : 'not the same answer');
  process.exitCode = isSame ? 0 : 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** A project with the packed packages and a program that answers. @returns {string} */
function installPackages() {
  const project = path.join(scratch, 'project');
  mkdirSync(project);
  const names = new Set(NEEDED.map((name) => `@markbase/${name}`));
  const tarballs = publishedPackages()
    .filter(({ name }) => names.has(name))
    .map((published) => [published.name, `file:${packPackage(published, path.join(scratch, 'tarballs'))}`]);
  const manifest = { private: true, type: 'module', dependencies: Object.fromEntries(tarballs) };
  writeFileSync(path.join(project, 'package.json'), JSON.stringify(manifest));
  writeFileSync(path.join(project, 'answer.mjs'), PROGRAM);
  if (run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: project }) !== 0)
    throw new Error('npm could not install the packages');
  return project;
}
