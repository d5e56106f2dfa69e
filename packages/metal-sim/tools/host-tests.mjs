// The host programs: tests of the stand-in for Metal, and of the GPU backends over the stand-ins for Metal and NVIDIA's driver.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { buildTarget } from './compile.mjs';
import { backendTestTarget, cudaTarget, hostTarget, packageRoot, runtimeRoot } from './targets.mjs';

/** What the CUDA backend finds its driver and kernels by. */
export const CUDA_ENVIRONMENT = {
  MARKBASE_LIBCUDA: cudaTarget('plain').output,
  MARKBASE_PTX: path.join(runtimeRoot, 'build/ptx'),
};

/** @typedef {{name: string, env: Record<string, string>}} HostEnvironment */

/** Every access of memory is checked. */
const CHECKED = { name: 'with checks', env: { METAL_SIM_CHECK: '1' } };
/** The system is an older one, and lanes run backwards. */
const REVERSED = {
  name: 'without checks, in reverse order, on macOS 14',
  env: { METAL_SIM_ORDER: 'reverse', METAL_SIM_MACOS: '14' },
};

/**
 * @typedef {object} HostProgram
 * @property {string} name
 * @property {(mode: string) => import('./targets.mjs').Target} target
 * @property {boolean} isOfBackend It tests a GPU backend, not the stand-in alone.
 * @property {readonly HostEnvironment[]} environments It passes in each.
 * @property {number} fewestTests Fewer lines of "ok" mean that it ended early.
 */

/** @type {readonly HostProgram[]} */
export const HOST_PROGRAMS = [
  {
    name: 'stand-in for Metal',
    target: (mode) => hostTarget(path.join(packageRoot, 'test/host/host_tests.mm'), mode),
    isOfBackend: false,
    environments: [CHECKED, REVERSED],
    fewestTests: 15,
  },
  {
    name: 'Metal backend',
    target: (mode) => backendTestTarget(mode, 'metal'),
    isOfBackend: true,
    environments: [CHECKED, REVERSED],
    fewestTests: 25,
  },
  {
    name: 'CUDA backend',
    target: (mode) => backendTestTarget(mode, 'cuda'),
    isOfBackend: true,
    environments: [CHECKED],
    fewestTests: 21,
  },
];

const LONGEST_RUN_MS = 240_000;

/**
 * Builds a host program.
 *
 * @param {HostProgram} program
 * @param {string} mode 'plain', 'asan' or 'coverage'.
 * @returns {Promise<{file: string, error: string | null}>}
 */
export async function buildHostProgram(program, mode) {
  const target = program.target(mode);
  const built = await buildTarget(target);
  return { file: target.output, error: built.isOk ? null : built.message };
}

/**
 * Runs a host program in an environment, with its own folder.
 *
 * @param {HostProgram} program
 * @param {string} file
 * @param {Record<string, string>} env
 * @returns {{isOk: boolean, passed: number, output: string}}
 */
export function runHostProgram(program, file, env) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'metal-host-'));
  try {
    const done = spawnSync(file, [folder], {
      encoding: 'utf8',
      timeout: LONGEST_RUN_MS,
      env: { ...process.env, ...CUDA_ENVIRONMENT, UBSAN_OPTIONS: 'print_stacktrace=1', ...env },
    });
    const passed = done.stdout.match(/^ok /gm)?.length ?? 0;
    const isOk = done.status === 0 && passed >= program.fewestTests && !/^FAILED/m.test(done.stdout);
    const end = done.error?.message ?? (done.signal === null ? '' : `ended by ${done.signal}`);
    return { isOk, passed, output: `${done.stdout}${done.stderr}${end}` };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
