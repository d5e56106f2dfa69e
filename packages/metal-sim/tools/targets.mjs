// The build targets, with their sources and flags.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeLists } from '../../metal-runtime/scripts/list-families.mjs';

export const packageRoot = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
export const runtimeRoot = path.resolve(packageRoot, '../metal-runtime');

/** The simulator cannot be built; the message says what is missing. */
export class BuildError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = 'BuildError';
  }
}

/**
 * @typedef {{source: string, flags: string[]}} Unit
 * @typedef {{output: string, objects: string, units: Unit[], link: string[]}} Target
 */

const WARNINGS = ['-Wall', '-Wextra', '-Werror', '-Wno-psabi'];
/** `@available` asks the simulator for its system: it becomes a boxed string, or nil. */
const AVAILABILITY = [
  '-Wno-objc-literal-conversion',
  '-Davailable(...)=(metal_sim_available(#__VA_ARGS__))',
  '-include',
  path.join(packageRoot, 'native/foundation/available.h'),
];

/** Line counters are in the mapped profile file, so that even a killed process has written them. */
const COUNTERS = [
  '-O0',
  '-fprofile-instr-generate',
  '-fcoverage-mapping',
  '-mllvm',
  '-runtime-counter-relocation',
];

/** @param {string} mode */
function modeFlags(mode) {
  if (mode === 'asan')
    return [
      '-O1',
      '-g',
      '-fsanitize=address,undefined',
      '-fno-sanitize-recover=undefined',
      '-fno-omit-frame-pointer',
    ];
  return ['-O2', '-g1'];
}

/** @param {string} mode */
function commonFlags(mode) {
  return ['-std=c++20', '-fPIC', '-fvisibility=hidden', ...WARNINGS, ...modeFlags(mode)];
}

/** The name of the Metal backend over the simulator. */
const METAL_KIND = '-DMARKBASE_METAL_KIND="metal-sim"';

const OBJECTIVE_C = ['-fobjc-runtime=gnustep-2.0', '-fblocks', '-fobjc-arc'];

const simulatorIncludes = [
  path.join(packageRoot, 'native/foundation/include'),
  path.join(packageRoot, 'native/metal/include'),
].map((folder) => `-I${folder}`);

/** @param {string} folder @param {RegExp} pattern */
function filesIn(folder, pattern) {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => pattern.test(name))
    .sort()
    .map((name) => path.join(folder, name));
}

/** A key of everything that affects how kernels are compiled. */
function simulatorHash() {
  const hash = createHash('sha256');
  for (const name of ['tokens.cc', 'rewriter.cc', 'kernel_parameters.cc', 'library.cc']) {
    hash.update(readFileSync(path.join(packageRoot, 'native/msl', name)));
  }
  return hash.digest('hex').slice(0, 16);
}

/**
 * The simulator's own sources: Objective-C runtime, Foundation, Metal, kernels on the CPU.
 *
 * @param {string} mode
 * @returns {Unit[]}
 */
function simulatorUnits(mode) {
  const native = path.join(packageRoot, 'native');
  const flags = [
    ...commonFlags(mode),
    ...simulatorIncludes,
    `-I${path.join(packageRoot, 'msl/include')}`,
    `-DMETAL_SIM_MSL_FOLDER="${path.join(packageRoot, 'msl')}"`,
    `-DMETAL_SIM_BUILD_HASH="${simulatorHash()}"`,
  ];
  const units = [];
  for (const folder of ['objc', 'foundation', 'metal', 'msl']) {
    for (const source of filesIn(path.join(native, folder), /\.(?:cc|mm)$/)) {
      const hasArc = source.endsWith('.mm') && path.basename(source) !== 'ns_object.mm';
      const objectiveC = hasArc ? OBJECTIVE_C : source.endsWith('.mm') ? OBJECTIVE_C.slice(0, 2) : [];
      units.push({ source, flags: [...flags, ...objectiveC] });
    }
  }
  return units;
}

/** Only the backend itself has counters; everything else is as in the plain build. @param {string} mode */
function objectFolder(mode) {
  return path.join(packageRoot, 'build/objects', mode === 'coverage' ? 'plain' : mode);
}

/** @param {string} mode */
function linkFlags(mode) {
  const common = ['-fuse-ld=lld', '-pthread', '-ldl', '-lm'];
  const runtime = modeFlags(mode).filter((flag) => flag.includes('sanitize='));
  if (mode === 'coverage') runtime.push('-fprofile-instr-generate');
  return [...runtime, ...common];
}

/** The sources that run kernels on the CPU, without Metal's host API. @param {string} mode @returns {Unit[]} */
function kernelUnits(mode) {
  return simulatorUnits(mode).filter((unit) => unit.source.startsWith(path.join(packageRoot, 'native/msl/')));
}

/**
 * A stand-in for NVIDIA's driver, which runs the Metal sources that PTX was generated from.
 *
 * @param {string} mode
 * @returns {Target}
 */
export function cudaTarget(mode) {
  const flags = [
    ...commonFlags(mode),
    `-I${path.join(packageRoot, 'msl/include')}`,
    `-I${path.join(runtimeRoot, 'native/backends/metal')}`,
  ];
  const sources = [...filesIn(path.join(packageRoot, 'native/cuda'), /\.cc$/), embedKernels('nvidia')];
  const suffix = mode === 'plain' ? '' : `-${mode}`;
  return {
    output: path.join(packageRoot, `build/libcuda-sim${suffix}.so`),
    objects: objectFolder(mode),
    units: [...kernelUnits(mode), ...sources.map((source) => ({ source, flags }))],
    link: ['-shared', '-Wl,-z,nodelete', ...linkFlags(mode)],
  };
}

/**
 * A program from one Objective-C++ source.
 *
 * @param {string} source
 * @param {string} mode
 * @returns {Target}
 */
export function hostTarget(source, mode) {
  const name = path.basename(source, '.mm');
  const flags = [
    ...commonFlags(mode),
    ...OBJECTIVE_C,
    ...simulatorIncludes,
    `-I${path.join(packageRoot, 'native/metal')}`,
    ...AVAILABILITY,
  ];
  const suffix = mode === 'plain' ? '' : `-${mode}`;
  return {
    output: path.join(packageRoot, 'build', `${name}${suffix}`),
    objects: objectFolder(mode),
    units: [...simulatorUnits(mode), { source: path.resolve(source), flags }],
    link: linkFlags(mode),
  };
}

/**
 * The host test of a GPU backend: the addon's objects without Node's, and a test program that orders failures. The test of the CUDA
 * backend finds no other.
 *
 * @public Tests of metal-runtime import it by a path that they compute.
 * @param {string} mode
 * @param {'metal' | 'cuda'} backend
 * @returns {Target}
 */
export function backendTestTarget(mode, backend) {
  const addon = addonTarget(mode);
  const native = path.join(runtimeRoot, 'native');
  const choice = path.join(native, 'backends/open_device.cc');
  const flags = (addon.units.find(({ source }) => source === choice)?.flags ?? []).filter(
    (flag) => backend === 'metal' || flag !== METAL_KIND,
  );
  const source = path.join(native, `test/${backend}_backend_test.cc`);
  return {
    ...addon,
    output: path.join(packageRoot, `build/${backend}_backend_test${mode === 'plain' ? '' : `-${mode}`}`),
    units: [
      ...addon.units.filter(
        (unit) => !unit.source.startsWith(path.join(native, 'binding')) && unit.source !== choice,
      ),
      { source: choice, flags },
      { source, flags: [...flags, `-I${path.join(packageRoot, 'native', backend)}`] },
    ],
    link: addon.link.filter((flag) => flag !== '-shared' && flag !== '-Wl,-z,nodelete'),
  };
}

/** The program that msl-check.mjs runs. @returns {Target} */
export function checkTarget() {
  const native = path.join(packageRoot, 'native');
  const names = [
    'msl/tokens.cc',
    'msl/rewriter.cc',
    'msl/kernel_parameters.cc',
    'msl/ptx_entry.cc',
    'msl/strict_rules.cc',
    'check/main.cc',
  ];
  return {
    output: path.join(packageRoot, 'build/msl-rewrite'),
    objects: path.join(packageRoot, 'build/objects/check'),
    units: names.map((name) => ({ source: path.join(native, name), flags: commonFlags('plain') })),
    link: linkFlags('plain'),
  };
}

/** @param {string} name @param {string} folder */
function headerPackage(name, folder = '.') {
  const require = createRequire(path.join(runtimeRoot, 'package.json'));
  return path.join(path.dirname(require.resolve(`${name}/package.json`)), folder);
}

/** Writes the kernels as C++ text, as the real build does, if they have changed. @param {'metal' | 'nvidia'} [kind] */
function embedKernels(kind = 'metal') {
  const output = path.join(
    packageRoot,
    `build/${kind === 'metal' ? 'kernel_sources' : 'nvidia_kernel_sources'}.cc`,
  );
  mkdirSync(path.dirname(output), { recursive: true });
  const fresh = `${output}.new`;
  const script = path.join(runtimeRoot, 'scripts/embed-kernels.mjs');
  const words = kind === 'nvidia' ? ['--nvidia', fresh] : [fresh];
  const done = spawnSync(process.execPath, [script, ...words], { encoding: 'utf8' });
  if (done.status !== 0) throw new BuildError(`${script} failed:\n${done.stderr}`);
  if (existsSync(output) && readFileSync(output, 'utf8') === readFileSync(fresh, 'utf8')) rmSync(fresh);
  else renameSync(fresh, output);
  return output;
}

/** Where the sources of the GPU backends find headers. */
function gpuIncludes() {
  return [
    'kernels',
    'families',
    'build/lists',
    'native/device',
    'native/ops',
    'native/backends/gpu',
    'native/backends/metal',
    'native/backends/cuda',
  ].map((folder) => `-I${path.join(runtimeRoot, folder)}`);
}

/** The sources of families that every GPU backend needs, and the list of families. */
function familySources() {
  writeLists(runtimeRoot);
  const families = path.join(runtimeRoot, 'families');
  const own = filesIn(families, /^\w+$/).flatMap((folder) =>
    filesIn(folder, /^(?:check|plan(?:_\w+)?)\.cc$/),
  );
  return [...own, path.join(runtimeRoot, 'build/lists/family_schemas.cc')];
}

/** Whether coverage counts the lines of a source: GPU backends, and the checks and plans of families. @param {string} source */
function isCounted(source) {
  return /\/native\/backends\/(?:metal|gpu|cuda)\/|\/families\//.test(source);
}

/**
 * The addon with the backends for GPUs and, of the CPU backend, only what every build needs.
 *
 * @param {string} mode
 * @returns {Target}
 */
export function addonTarget(mode) {
  const native = path.join(runtimeRoot, 'native');
  const flags = [
    ...commonFlags(mode),
    ...gpuIncludes(),
    METAL_KIND,
    '-DMARKBASE_CUDA=1',
    '-DMARKBASE_NO_CPU',
  ];
  const node = [
    `-isystem${headerPackage('node-addon-api')}`,
    `-isystem${headerPackage('node-api-headers', 'include')}`,
    '-DNAPI_VERSION=8',
    '-DNAPI_CPP_EXCEPTIONS',
    '-DNODE_ADDON_API_CPP_EXCEPTIONS_ALL',
    '-DNODE_API_SWALLOW_UNTHROWABLE_EXCEPTIONS',
  ];
  const plain = ['device', 'ops', 'backends'].flatMap((folder) =>
    filesIn(path.join(native, folder), /\.cc$/),
  );
  const binding = filesIn(path.join(native, 'binding'), /\.cc$/);
  const gpu = ['backends/metal', 'backends/gpu', 'backends/cuda'].flatMap((folder) =>
    filesIn(path.join(native, folder), /\.(?:mm|cc)$/),
  );
  gpu.push(...familySources(), embedKernels());
  const counters = (/** @type {string} */ source) =>
    mode === 'coverage' && isCounted(source) ? COUNTERS : [];
  const suffix = mode === 'plain' ? '' : `-${mode}`;
  return {
    output: path.join(runtimeRoot, `build/markbase-sim${suffix}.node`),
    objects: objectFolder(mode),
    units: [
      ...simulatorUnits(mode),
      ...plain.map((source) => ({ source, flags })),
      ...binding.map((source) => ({ source, flags: [...flags, ...node] })),
      ...gpu.map((source) => ({
        source,
        flags: source.endsWith('.mm')
          ? [...flags, ...OBJECTIVE_C, ...simulatorIncludes, ...AVAILABILITY, ...counters(source)]
          : [...flags, ...counters(source)],
      })),
    ],
    link: ['-shared', '-Wl,-z,nodelete', ...linkFlags(mode)],
  };
}
