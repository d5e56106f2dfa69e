// `node tools/rehearse-jobs.mjs [--job NAME] [--out FILE]`: executes the shell steps of the Linux jobs of ci.yml and release.yml, in
// order, each job in a fresh Debian as an ordinary user with sudo. It needs root, debootstrap and hours for all of them; the results
// are written as a table. Instead of the actions: the checkout is a clone of this one's commit, artifacts are files that an earlier
// job of the same run left (empty ones for other platforms), and publishing is a dry run.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { giveToUser, installNode, makeChroot, removeChroot, runInChroot } from './lib/chroot.mjs';
import { capture, repositoryRoot } from './lib/process.mjs';
import { linuxJobs } from './lib/workflow-jobs.mjs';

const CHECKOUT = '/srv/checkout';
/** Output of the running step. */
const LOG = '/tmp/step.log';
/** What the images of the jobs have in addition to what `debootstrap` installs. */
const PACKAGES = ['ca-certificates', 'git', 'g++', 'make', 'python3', 'sudo', 'xz-utils'];
const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-arm64'];

/** @typedef {import('./lib/workflow-jobs.mjs').JobStep} JobStep */
/** @typedef {{ status: number | null, output: string }} StepEnd */
/** @typedef {{ job: string, title: string, outcome: string, seconds: number }} StepResult */

/** @type {StepEnd} */
const NOT_RUN = { status: null, output: '' };

const { values: flags } = parseArgs({
  options: { job: { type: 'string' }, out: { type: 'string' } },
});
const scratch = mkdtempSync(path.join(os.tmpdir(), 'markbase-jobs-'));
const artifacts = path.join(scratch, 'artifacts');
/** @type {StepResult[]} */
const results = [];
let hasFailed = false;

try {
  const base = path.join(scratch, 'base');
  makeChroot(base, 'bookworm', PACKAGES);
  for (const workflow of ['ci.yml', 'release.yml']) {
    for (const job of linuxJobs(path.join(repositoryRoot, '.github/workflows', workflow))) {
      if (flags.job !== undefined && flags.job !== job.name) continue;
      hasFailed = !rehearse(job, base) || hasFailed;
    }
  }
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
process.exitCode = hasFailed ? 1 : 0;

/**
 * @param {import('./lib/workflow-jobs.mjs').LinuxJob} job
 * @param {string} base
 */
function rehearse(job, base) {
  const root = path.join(scratch, job.name);
  // Devices and owners too, which Node does not copy.
  const copied = capture('cp', ['--archive', '--reflink=auto', base, root]);
  if (copied.status !== 0) throw new Error(copied.stderr);
  const major = Number(/^node:(\d+)-bookworm$/.exec(job.image)?.[1]);
  const version = installNode(root, major, scratch);
  console.log(`\n=== ${job.name}: Debian 12, Node ${version}`);
  let isOk = true;
  for (const step of job.steps) {
    const started = Date.now();
    const end = isOk ? execute(step, root) : NOT_RUN;
    const seconds = Math.round((Date.now() - started) / 1000);
    const outcome = end.status === null ? 'not run' : end.status === 0 ? 'ok' : `failed (${end.status})`;
    results.push({ job: job.name, title: titleOf(step), outcome, seconds });
    console.log(`${outcome.padEnd(8)} ${titleOf(step)}, ${seconds} s`);
    if ((end.status ?? 0) !== 0) {
      console.log(end.output.slice(-20_000));
      isOk = false;
    }
    if (flags.out !== undefined) writeFileSync(flags.out, table());
  }
  removeChroot(root);
  return isOk;
}

/**
 * @param {JobStep} step
 * @param {string} root
 * @returns {StepEnd} Status null: it was not executed.
 */
function execute(step, root) {
  if (step.condition !== null) return NOT_RUN;
  if (step.uses !== null) return standIn(step, root);
  const variables = { CI: 'true', GITHUB_WORKSPACE: CHECKOUT, GITHUB_OUTPUT: '/dev/null', ...step.env };
  // Into a file, which can be followed while the step runs.
  const command = `exec >${LOG} 2>&1\n${step.run}`;
  const { status } = runInChroot(root, CHECKOUT, ['bash', '-e', '-o', 'pipefail', '-c', command], variables);
  return { status, output: readFileSync(path.join(root, LOG), 'utf8') };
}

/**
 * What replaces an action.
 *
 * @param {JobStep} step
 * @param {string} root
 * @returns {{ status: number | null, output: string }}
 */
function standIn(step, root) {
  const checkout = path.join(root, CHECKOUT);
  switch (step.uses) {
    case 'actions/checkout': {
      const cloned = capture('git', ['clone', '--quiet', repositoryRoot, checkout]);
      giveToUser(root, CHECKOUT);
      return outputOf(cloned);
    }
    case 'actions/upload-artifact':
      cpSync(path.join(checkout, step.inputs.path), path.join(artifacts, step.inputs.name, 'markbase.node'));
      return { status: 0, output: '' };
    case 'actions/download-artifact':
      for (const platform of PLATFORMS) {
        const name = `native-${platform}`;
        const target = path.join(checkout, step.inputs.path, name);
        mkdirSync(target, { recursive: true });
        if (existsSync(path.join(artifacts, name)))
          cpSync(path.join(artifacts, name), target, { recursive: true });
        if (readdirSync(target).length === 0) writeFileSync(path.join(target, 'markbase.node'), '');
      }
      giveToUser(root, path.join(CHECKOUT, step.inputs.path));
      return { status: 0, output: '' };
    case 'changesets/action': {
      const commands = [
        step.inputs.version,
        'npx -y pnpm@10.34.9 publish --recursive --no-git-checks --dry-run',
      ];
      return outputOf(
        runInChroot(root, CHECKOUT, ['bash', '-e', '-c', commands.join(' && ')], { CI: 'true' }),
      );
    }
    default:
      return NOT_RUN;
  }
}

/** @param {{ status: number, stdout: string, stderr: string }} result */
function outputOf({ status, stdout, stderr }) {
  return { status, output: stdout + stderr };
}

/** @param {JobStep} step */
function titleOf({ title }) {
  return title.split('\n')[0] ?? '';
}

function table() {
  const rows = results.map(
    ({ job, title, outcome, seconds }) => `| ${job} | \`${title}\` | ${outcome} | ${seconds} |`,
  );
  return ['| job | step | result | s |', '|---|---|---|---|', ...rows, ''].join('\n');
}
