// Builds the native addon: `node scripts/build-native.mjs [--debug]` → build/markbase.node.
// Plain CMake: Node's headers come from npm (node-api-headers), so nothing is fetched.
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { writeLists } from './list-families.mjs';
import { FamilyError } from './read-params.mjs';

const packageRoot = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const cmakeFolder = path.join(packageRoot, 'build/cmake');
const addon = path.join(packageRoot, 'build/markbase.node');
const buildType = process.argv.includes('--debug') ? 'Debug' : 'Release';

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

/** The C++ compiler: CXX, or the first of the usual names that exists. */
function findCompiler() {
  const candidates = process.env.CXX ? [process.env.CXX] : ['c++', 'g++', 'clang++'];
  const found = candidates.find((name) => run(name, ['--version']).isOk);
  if (found === undefined) {
    throw new NativeBuildError(
      `no C++ compiler: tried ${candidates.join(', ')}. Install one: ${installCommand()}`,
    );
  }
  const standard = spawnSync(found, ['-std=c++20', '-fsyntax-only', '-x', 'c++', '-'], {
    input:
      '#include <bit>\n#include <concepts>\nstatic_assert(std::endian::native == std::endian::little);\n',
    encoding: 'utf8',
  });
  if (standard.status !== 0) {
    throw new NativeBuildError(
      `${found} does not compile C++20 (expected gcc 11, clang 14 or newer):\n${standard.stderr}\nInstall one: ${installCommand()}`,
    );
  }
  return found;
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
  const configure = [
    '-S',
    packageRoot,
    '-B',
    cmakeFolder,
    `-DCMAKE_BUILD_TYPE=${buildType}`,
    `-DCMAKE_CXX_COMPILER=${findCompiler()}`,
    `-DCMAKE_LIBRARY_OUTPUT_DIRECTORY=${path.dirname(addon)}`,
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
  console.log(`build/markbase.node (${buildType}, ${seconds} s)`);
} catch (error) {
  if (!(error instanceof NativeBuildError || error instanceof FamilyError)) throw error;
  console.error(`${error.name}: ${error.message}`);
  process.exitCode = 1;
}
