// A process that runs conformance cases on metal-sim, started by mutate.mjs: fork(..., [folder of the bundled cases]).
// Takes 'plan' and answers with every run of every case; takes a Job and answers with its Outcome.
import path from 'node:path';

/**
 * @typedef {{precision: 'high' | 'fast', fusions?: false, chunk?: number}} RunOptions
 * @typedef {{family: string, name: string, index: number, options: RunOptions}} Run A case of a family, and how it runs.
 * @typedef {Run & {cost: number, launches: string[]}} PlannedRun
 * @typedef {{place: string, system: string, runs: Run[], orders: string[], seconds: number}} Job Runs to try until one fails, without the
 * barrier at a place ('': with all), on a system as in METAL_SIM_MACOS.
 * @typedef {{run: Run, order: string, message: string}} Failure
 * @typedef {{failure: Failure | null, tried: number}} Outcome
 */

const folder = process.argv[2] ?? '';
/** @param {string} name */
const load = (name) => import(path.resolve(folder, `${name}.js`));
const [{ openDevice, openPlanDevice }, { FAMILIES }, { findRunFailure, planRun, runsOf }] = await Promise.all(
  ['runtime', 'families', 'runs'].map(load),
);
/** @type {Map<string, Awaited<ReturnType<typeof openDevice>>>} */
const devices = new Map();

/** The device of a system, which the simulator imitates from now on. @param {string} system */
async function deviceOn(system) {
  process.env.METAL_SIM_MACOS = system;
  const device = devices.get(system) ?? (await openDevice({ kind: 'metal-sim' }));
  devices.set(system, device);
  return device;
}

/** @returns {Promise<PlannedRun[]>} */
async function planAll() {
  const planner = await openPlanDevice('metal-sim');
  const planned = [];
  for (const { name: family, cases } of FAMILIES) {
    for (const [index, test] of cases.entries()) {
      for (const options of runsOf(test)) {
        planned.push({ family, name: test.name, index, options, ...planRun(planner, test, options) });
      }
    }
  }
  planner.dispose();
  return planned;
}

/** @param {Job} job @returns {Promise<Outcome>} */
async function firstFailure({ place, system, runs, orders, seconds }) {
  const device = await deviceOn(system);
  const end = Date.now() + seconds * 1000;
  // The simulator reads both when a command buffer is executed.
  process.env.METAL_SIM_MUTATE = place;
  for (const [tried, run] of runs.entries()) {
    if (Date.now() > end) return { failure: null, tried };
    const family = FAMILIES.find((/** @type {{name: string}} */ { name }) => name === run.family);
    for (const order of orders) {
      process.env.METAL_SIM_ORDER = order;
      const found = findRunFailure(device, family.cases[run.index], run.options);
      const message = await found.catch((/** @type {Error} */ error) => error.message);
      if (message !== null) return { failure: { run, order, message }, tried: tried + 1 };
    }
  }
  return { failure: null, tried: runs.length };
}

process.on('message', async (/** @type {'plan' | Job} */ request) => {
  process.send?.(await (request === 'plan' ? planAll() : firstFailure(request)));
});
process.once('disconnect', () => {
  for (const device of devices.values()) device.dispose();
});
process.send?.('ready');
