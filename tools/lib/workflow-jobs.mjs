import { readFileSync } from 'node:fs';
import { parse } from 'yaml';

/**
 * A step of a job: a command for a shell, or an action by name.
 *
 * @typedef {object} JobStep
 * @property {string} title
 * @property {string | null} run
 * @property {string | null} uses Such as "actions/checkout".
 * @property {Record<string, any>} inputs Of an action.
 * @property {Record<string, string>} env
 * @property {string | null} condition As written.
 */

/**
 * A job that runs on Linux in a container, once per entry of its matrix.
 *
 * @typedef {object} LinuxJob
 * @property {string} name
 * @property {string} image Such as "node:20-bookworm".
 * @property {JobStep[]} steps
 */

/**
 * The jobs of a workflow that run on Linux with this machine's processor.
 *
 * @param {string} file
 * @returns {LinuxJob[]}
 */
export function linuxJobs(file) {
  const workflow = parse(readFileSync(file, 'utf8'));
  return Object.entries(workflow.jobs).flatMap(([name, job]) =>
    matrixEntries(job).flatMap((matrix) => {
      /** @param {string} text */
      const filled = (text) => text.replace(/\$\{\{ *matrix\.(\w+) *\}\}/g, (_, key) => String(matrix[key]));
      const runner = filled(String(job['runs-on']));
      const isOfThisProcessor = runner.endsWith('-arm') === (process.arch === 'arm64');
      if (!runner.startsWith('ubuntu') || !isOfThisProcessor) return [];
      const image = typeof job.container === 'string' ? job.container : job.container?.image;
      if (image === undefined) throw new Error(`${file}: job ${name} runs on ${runner} without a container`);
      return [{ name, image, steps: job.steps.map((/** @type {any} */ step) => readStep(step, filled)) }];
    }),
  );
}

/** @param {any} job @returns {Record<string, unknown>[]} */
function matrixEntries(job) {
  return job.strategy?.matrix?.include ?? [{}];
}

/**
 * @param {any} step
 * @param {(text: string) => string} filled
 * @returns {JobStep}
 */
function readStep(step, filled) {
  const text = (/** @type {unknown} */ value) => (value === undefined ? null : filled(String(value)));
  const run = text(step.run);
  const uses = text(step.uses)?.replace(/@.*/, '') ?? null;
  const inputs = Object.entries(step.with ?? {}).map(([name, value]) => [name, filled(String(value))]);
  const env = Object.entries(step.env ?? {}).map(([name, value]) => [name, filled(String(value))]);
  return {
    title: text(step.name) ?? run ?? uses ?? '',
    run,
    uses,
    inputs: Object.fromEntries(inputs),
    env: Object.fromEntries(env),
    condition: text(step.if),
  };
}
