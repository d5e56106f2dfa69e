import { existsSync } from 'node:fs';
import path from 'node:path';
import { countCtest } from './ctest-counts.mjs';
import { capture, findProgram, repositoryRoot } from './process.mjs';
import { addCounts, writeReport } from './report.mjs';

const SOURCE = path.join(repositoryRoot, 'packages/metal-runtime/native/test');
const BUILD = path.join(repositoryRoot, 'packages/metal-runtime/build');
/** As in the build of the addon, warnings are errors only in continuous integration. */
const WERROR = `-DMARKBASE_WERROR=${process.env.CI === 'true' ? 'ON' : 'OFF'}`;
const JOBS = process.env.CMAKE_BUILD_PARALLEL_LEVEL ?? '2';

/**
 * A machine to run the C++ tests on.
 *
 * @typedef {object} Target
 * @property {string} name
 * @property {readonly string[]} tools Programs that must be in PATH.
 * @property {readonly string[]} configure Additional arguments for CMake.
 */

/** @returns {Target[]} */
function targets() {
  // The build of the addon has compiled it already.
  const library = path.join(BUILD, 'liblinear_core.a');
  const host = {
    name: 'native',
    tools: ['cmake', 'ctest'],
    configure: [`-DMARKBASE_LINEAR_LIBRARY=${existsSync(library) ? library : ''}`],
  };
  if (process.platform !== 'linux' || process.arch !== 'x64') return [host];
  // On an x86 machine, the NEON code runs in an emulator that supports every extension.
  const arm64 = {
    name: 'native-arm64',
    tools: ['cmake', 'ctest', 'aarch64-linux-gnu-g++', 'qemu-aarch64'],
    configure: [
      '-DCMAKE_SYSTEM_NAME=Linux',
      '-DCMAKE_SYSTEM_PROCESSOR=aarch64',
      '-DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++',
      '-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-aarch64;-cpu;max;-L;/usr/aarch64-linux-gnu',
    ],
  };
  return [host, arm64];
}

/**
 * Builds and runs the C++ tests on this machine and, on x86-64 Linux, for ARM64 in an emulator. A missing tool counts as one skipped test,
 * or as a failure if `CI` is "true".
 *
 * @returns {import('./report.mjs').Counts[]}
 */
export function runNativeTests() {
  if (!existsSync(path.join(SOURCE, 'CMakeLists.txt'))) return [];
  return targets().map((target) => {
    const counts = runTarget(target);
    writeReport(target.name, counts);
    return counts;
  });
}

/** @param {Target} target */
function runTarget(target) {
  const missing = target.tools.filter((tool) => findProgram(tool) === null);
  if (missing.length > 0) {
    const isError = process.env.CI === 'true';
    console.log(`${target.name}: ${isError ? 'failed' : 'skipped'}, not in PATH: ${missing.join(', ')}`);
    return { passed: 0, failed: isError ? 1 : 0, skipped: isError ? 0 : 1 };
  }
  const folder = path.join(BUILD, `test-${target.name}`);
  const steps = [
    ['cmake', '-S', SOURCE, '-B', folder, '-DCMAKE_BUILD_TYPE=Release', WERROR, ...target.configure],
    ['cmake', '--build', folder, '--parallel', JOBS],
  ];
  for (const [program, ...args] of steps) {
    const result = capture(/** @type {string} */ (program), args);
    if (result.status !== 0) {
      console.log(`${result.stdout}${result.stderr}`);
      return { passed: 0, failed: 1, skipped: 0 };
    }
  }
  const result = capture('ctest', [
    '--test-dir',
    folder,
    '--verbose',
    '--no-tests=error',
    '--parallel',
    JOBS,
  ]);
  const counts = countCtest(result.stdout);
  const isLost = result.status !== 0 && counts.failed === 0;
  if (result.status !== 0) console.log(`${result.stdout}${result.stderr}`);
  return addCounts([counts, { passed: 0, failed: isLost ? 1 : 0, skipped: 0 }]);
}
