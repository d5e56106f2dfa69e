// Builds the native addon: `node scripts/build-native.mjs [--debug] [--sysroot FOLDER] [--sanitize]` → build/markbase.node.
// Plain CMake: Node's headers come from npm (node-api-headers), so nothing is fetched.
//
// With a sysroot, the headers and libraries of an old Linux distribution (tools/lib/old-glibc.mjs), clang builds an addon for every
// Linux that is as old or newer → build/release/markbase.node. It needs clang-19, lld-19, libc++-19-dev and libc++abi-19-dev.
//
// With `--sanitize`, clang's AddressSanitizer and UndefinedBehaviorSanitizer check the addon while it runs → build/sanitize/markbase.node;
// see tools/sanitize.mjs.
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeLists } from './list-families.mjs';
import { FamilyError } from './read-params.mjs';

const packageRoot = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const sysroot = optionValue('--sysroot');
const isSanitized = process.argv.includes('--sanitize');
const outputFolder = path.join(packageRoot, outputName());
const cmakeFolder = path.join(outputFolder, 'cmake');
const addon = path.join(outputFolder, 'markbase.node');
const buildType = isSanitized ? 'None' : process.argv.includes('--debug') ? 'Debug' : 'Release';
/** The runtime of the sanitizers is loaded before Node. Types of classes and functions are not checked: that would need its part for C++. */
const SANITIZE_FLAGS =
  '-O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize=vptr,function -fno-sanitize-recover=all -shared-libsan';

/** A tool that the build needs is missing, too old, or failed; the message says what to install. */
class NativeBuildError extends Error {
  /** @param {string} message */
  constructor(message) {
    super(message);
    this.name = 'NativeBuildError';
  }
}

/** How to get the tools on this machine, as one line to paste. */
function installCommand() {
  if (process.platform === 'darwin') return 'xcode-select --install && brew install cmake';
  return `${process.getuid?.() === 0 ? '' : 'sudo '}apt-get install -y cmake make g++`;
}

/**
 * Runs a program; its output is captured and shown only if it fails.
 *
 * @param {string} program
 * @param {string[]} args
 */
function run(program, args) {
  const result = spawnSync(program, args, { encoding: 'utf8', maxBuffer: 64 * 2 ** 20 });
  const output = `${result.stdout ?? ''}${result.stderr ?? ''}`;
  return { isMissing: result.error !== undefined, isOk: result.status === 0, output };
}

/** Folder of the build; builds of other kinds do not replace the usual one. */
function outputName() {
  if (sysroot !== null) return 'build/release';
  return isSanitized ? 'build/sanitize' : 'build';
}

/** The value of an option of the command line, or null. @param {string} name */
function optionValue(name) {
  const at = process.argv.indexOf(name);
  return at === -1 ? null : (process.argv[at + 1] ?? null);
}

/** What the sources need from a compiler, in addition to the library of C++20. */
const PROBE = `#include <bit>
#include <concepts>
static_assert(std::endian::native == std::endian::little);
typedef float Four __attribute__((vector_size(16)));
Four swapped(Four v) { return __builtin_shufflevector(v, v, 2, 3, 0, 1); }
`;

/** The C++ compiler: CXX, or the first of the usual names that compiles what the sources need. */
function findCompiler() {
  const usual = isSanitized ? ['clang++-19'] : ['c++', 'g++', 'clang++', 'g++-12', 'clang++-19'];
  const named = process.env.CXX ? [process.env.CXX] : usual;
  const candidates = sysroot === null ? named : ['clang++-19'];
  const existing = candidates.filter((name) => run(name, ['--version']).isOk);
  if (existing.length === 0) {
    throw new NativeBuildError(
      `no C++ compiler: tried ${candidates.join(', ')}. Install one: ${installCommand()}`,
    );
  }
  const refusals = [];
  for (const name of existing) {
    const arguments_ = ['-std=c++20', '-fsyntax-only', '-x', 'c++', '-'];
    const { status, stderr } = spawnSync(name, arguments_, { input: PROBE, encoding: 'utf8' });
    if (status === 0) return name;
    refusals.push(`${name}: ${stderr.trim().split('\n')[0]}`);
  }
  throw new NativeBuildError(
    `no C++ compiler that is new enough: expected gcc 12, clang 14 or Xcode 16, or newer; tried\n${refusals.join('\n')}\nInstall one: ${installCommand()}`,
  );
}

/**
 * What CMake needs to know for a build against the sysroot: a static libc++, and no symbol that is newer than glibc 2.28.
 *
 * @param {string} compiler
 */
function sysrootArguments(compiler) {
  if (sysroot === null) return [];
  const compile = `-stdlib=libc++ -include ${path.join(packageRoot, 'native/device/old_glibc.h')}`;
  // The sysroot has no libc++: it is the one of the compiler.
  const link = '-fuse-ld=lld -nostdlib++ -static-libgcc -Wl,--exclude-libs,ALL';
  const libraries = ['libc++.a', 'libc++abi.a'].map((name) =>
    run(compiler, [`-print-file-name=${name}`]).output.trim(),
  );
  return [
    `-DCMAKE_SYSROOT=${path.resolve(sysroot)}`,
    `-DCMAKE_CXX_FLAGS=${compile}`,
    `-DCMAKE_EXE_LINKER_FLAGS=${link}`,
    `-DCMAKE_MODULE_LINKER_FLAGS=${link}`,
    `-DCMAKE_CXX_STANDARD_LIBRARIES=${libraries.join(' ')}`,
  ];
}

/**
 * The include folder of a header package that npm installed.
 *
 * @param {string} name
 * @param {string} header A file that must exist.
 * @param {string} folder Relative to the package.
 */
function headerFolder(name, header, folder = '.') {
  const require = createRequire(import.meta.url);
  try {
    const found = path.join(path.dirname(require.resolve(`${name}/package.json`)), folder);
    if (existsSync(path.join(found, header))) return found;
  } catch {
    // Reported below: not installed and incomplete have the same remedy.
  }
  throw new NativeBuildError(
    `${name} with ${header} is not in node_modules: run "npx -y pnpm@10.34.9 install" first`,
  );
}

function buildAddon() {
  if (run('cmake', ['--version']).isMissing) {
    throw new NativeBuildError(`cmake was not found in PATH. Install it: ${installCommand()}`);
  }
  const compiler = findCompiler();
  const configure = [
    '-S',
    packageRoot,
    '-B',
    cmakeFolder,
    `-DCMAKE_BUILD_TYPE=${buildType}`,
    `-DCMAKE_CXX_COMPILER=${compiler}`,
    `-DCMAKE_LIBRARY_OUTPUT_DIRECTORY=${outputFolder}`,
    // Set each time: CMake would remember the last value.
    `-DMARKBASE_WERROR=${process.env.CI === 'true' ? 'ON' : 'OFF'}`,
    ...sysrootArguments(compiler),
    ...(isSanitized ? [`-DCMAKE_CXX_FLAGS=${SANITIZE_FLAGS}`, '-DMARKBASE_LINEAR_OPTIMIZATION=-O1'] : []),
    `-DNODE_ADDON_API_DIR=${headerFolder('node-addon-api', 'napi.h')}`,
    `-DNODE_API_HEADERS_DIR=${headerFolder('node-api-headers', 'node_api.h', 'include')}`,
  ];
  let configured = run('cmake', configure);
  if (!configured.isOk) {
    // The cache of another checkout, compiler or generator cannot be reused: start over.
    rmSync(cmakeFolder, { recursive: true, force: true });
    configured = run('cmake', configure);
  }
  if (!configured.isOk) throw new NativeBuildError(`cmake could not configure:\n${configured.output}`);

  const jobs = process.env.CMAKE_BUILD_PARALLEL_LEVEL ?? String(os.availableParallelism());
  const built = run('cmake', ['--build', cmakeFolder, '--parallel', jobs]);
  if (!built.isOk) throw new NativeBuildError(`the native build failed:\n${built.output}`);
  if (!existsSync(addon)) {
    throw new NativeBuildError(`the build finished, but did not write ${path.relative(packageRoot, addon)}`);
  }
}

const started = Date.now();
try {
  writeLists();
  buildAddon();
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  console.log(
    `${path.relative(packageRoot, addon)} (${isSanitized ? 'sanitized' : buildType}, ${seconds} s)`,
  );
} catch (error) {
  if (!(error instanceof NativeBuildError || error instanceof FamilyError)) throw error;
  console.error(`${error.name}: ${error.message}`);
  process.exitCode = 1;
}
