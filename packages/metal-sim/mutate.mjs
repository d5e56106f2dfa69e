// Leaves out one barrier or fence of a kernel at a time, and runs conformance cases that reach it: one must fail.
//   node packages/metal-sim/mutate.mjs [--sample 10%] [--seed 7] [--file metal_math.h[:114]] [--seconds 300] [--jobs 2] [--list]
// `--seconds`: how long a mutant may pass cases before it counts as a survivor. A barrier below the comment "No test can miss
// this barrier: ..." is printed and not tried. Returns 1 if any other one survives. Builds the addon if it is out of date.
import { fork } from 'node:child_process';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { findBarriers, readKernels } from './tools/barriers.mjs';
import { missingTools } from './tools/clang.mjs';
import { buildTarget } from './tools/compile.mjs';
import { bundleConformance } from './tools/conformance-bundle.mjs';
import { chooseSample, runsThatReach, systemThatReaches } from './tools/mutation-plan.mjs';
import { randomFrom } from './tools/random.mjs';
import { addonTarget, BuildError, packageRoot } from './tools/targets.mjs';

/**
 * @typedef {import('./tools/barriers.mjs').Barrier} Barrier
 * @typedef {import('./tools/mutation-worker.mjs').PlannedRun} PlannedRun
 * @typedef {import('./tools/mutation-worker.mjs').Job} Job
 * @typedef {import('./tools/mutation-worker.mjs').Outcome} Outcome
 */

/** A counter that is reset too late or too early shows in one of the two. */
const ORDERS = ['forward', 'reverse'];
const args = process.argv.slice(2);

/** @param {string} name */
function option(name) {
  const index = args.indexOf(name);
  return index < 0 ? undefined : args[index + 1];
}

/** A worker process that answers one request at a time and is restarted after a crash. */
class Worker {
  /** @type {import('node:child_process').ChildProcess | null} */
  #process = null;

  /**
   * @param {string} cases Folder of the bundled cases.
   * @param {Record<string, string>} env
   */
  constructor(cases, env) {
    this.cases = cases;
    this.env = env;
  }

  /** @param {'plan' | Job} request @returns {Promise<unknown>} The answer; null after a crash. */
  async ask(request) {
    this.#process ??= await this.#start();
    const child = this.#process;
    const answer = child && this.#next(child);
    child?.send(request);
    return answer;
  }

  /** The next message; null when the process ends. @param {import('node:child_process').ChildProcess} child */
  #next(child) {
    return new Promise((resolve) => {
      const onExit = () => {
        this.#process = null;
        resolve(null);
      };
      child.once('exit', onExit);
      child.once('message', (message) => {
        child.off('exit', onExit);
        resolve(message);
      });
    });
  }

  async #start() {
    const program = path.join(packageRoot, 'tools/mutation-worker.mjs');
    const child = fork(program, [this.cases], { env: { ...process.env, ...this.env } });
    return (await this.#next(child)) === 'ready' ? child : null;
  }

  stop() {
    this.#process?.disconnect();
  }
}

/**
 * Runs a job; retries once after a crash, because an earlier job may have damaged the process.
 *
 * @param {Worker} worker
 * @param {Job} job
 */
async function tryJob(worker, job) {
  const answer = (await worker.ask(job)) ?? (await worker.ask(job));
  return /** @type {Outcome | null} */ (answer);
}

/**
 * Leaves out one barrier.
 *
 * @param {Worker} worker
 * @param {Omit<Job, 'orders'>} job
 * @returns {Promise<{isKilled: boolean, text: string}>}
 */
async function judge(worker, job) {
  const outcome = await tryJob(worker, { ...job, orders: ORDERS });
  if (outcome === null) return { isKilled: false, text: 'CRASHES, twice' };
  if (outcome.failure === null) {
    return { isKilled: false, text: `SURVIVES ${outcome.tried} of ${job.runs.length} runs` };
  }
  const { run, order, message } = outcome.failure;
  // The device adds the name of the case at both ends.
  const fault = message.replace(`device error in ${run.name}: `, '').split(/ in encoder |\n/)[0];
  const text = `${run.family} '${run.name}' ${JSON.stringify(run.options)} ${order}: ${fault}`;
  // A failure that also occurs without the mutation proves nothing.
  const unmutated = await tryJob(worker, { ...job, place: '', runs: [run], orders: [order] });
  if (unmutated?.failure !== null) return { isKilled: false, text: `FAILS UNMUTATED  ${text}` };
  return { isKilled: true, text: `killed  ${text}` };
}

/** @param {Barrier[]} chosen @returns {Promise<number>} The exit status. */
async function judgeAll(chosen) {
  const seconds = Number(option('--seconds') ?? 300);
  const jobs = Number(option('--jobs') ?? Math.min(2, availableParallelism()));
  const sources = readKernels();
  const target = addonTarget('plain');
  const built = await buildTarget(target);
  if (!built.isOk) throw new BuildError(built.message);
  const cases = await bundleConformance();
  const env = { MARKBASE_SIM_ADDON: target.output, METAL_SIM_CHECK: '1' };
  const workers = Array.from({ length: jobs }, () => new Worker(cases, env));
  const planned = /** @type {PlannedRun[] | null} */ (await workers[0]?.ask('plan'));
  if (!planned) throw new Error('the cases cannot be planned');
  const counts = { killed: 0, explained: 0, survive: 0 };
  const waiting = [...chosen];
  const work = async (/** @type {Worker} */ worker) => {
    for (let barrier = waiting.shift(); barrier; barrier = waiting.shift()) {
      const place = `${barrier.file}:${barrier.line}`;
      if (barrier.explanation !== null) {
        counts.explained += 1;
        console.log(`${place}  explained  ${barrier.explanation}`);
        continue;
      }
      const started = Date.now();
      const runs = runsThatReach(sources, barrier, planned);
      const system = systemThatReaches(sources, barrier);
      const { isKilled, text } = await judge(worker, { place, system, runs, seconds });
      counts[isKilled ? 'killed' : 'survive'] += 1;
      console.log(`${place}  ${text}  (${((Date.now() - started) / 1000).toFixed(1)} s)`);
    }
    worker.stop();
  };
  await Promise.all(workers.map(work));
  console.log(
    `${chosen.length} barriers left out: ${counts.killed} killed, ${counts.explained} explained, ${counts.survive} survive`,
  );
  return counts.survive > 0 ? 1 : 0;
}

const missing = missingTools();
const seed = Number(option('--seed') ?? Date.now() % 2 ** 31);
const only = option('--file');
const all = findBarriers(readKernels()).filter(
  ({ file, line }) => only === undefined || only === file || only === `${file}:${line}`,
);
const share = Number.parseFloat(option('--sample') ?? '100') / 100;
const chosen = chooseSample(all, share, randomFrom(seed));
if (args.includes('--list')) {
  for (const { file, line, text } of chosen) console.log(`${file}:${line}  ${text}`);
} else if (missing !== null) {
  console.log(`mutate: skipped: ${missing}`);
} else {
  if (share < 1) console.log(`${chosen.length} of ${all.length} barriers, --seed ${seed}`);
  process.exitCode = await judgeAll(chosen);
}
