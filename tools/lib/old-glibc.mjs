import { lstatSync, mkdirSync, readdirSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { capture } from './process.mjs';

/** The newest glibc that a published addon may need: that of RHEL 8. Node 20 itself needs it. */
export const GLIBC_FLOOR = '2.28';
/** What the addon is linked against: Debian 11, which has glibc 2.31. */
const SUITE = 'bullseye';
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const PACKAGES = ['libc6', 'libc6-dev', 'libgcc-10-dev', 'linux-libc-dev'];
const ARCHITECTURES = /** @type {const} */ ({ x64: 'amd64', arm64: 'arm64' });

/**
 * Makes a folder with the headers and libraries of Debian 11, from the Debian mirror that this machine's apt is configured with.
 * Does not need root, and takes 60 MB.
 *
 * @param {string} folder Replaced.
 * @param {'x64' | 'arm64'} architecture
 * @returns {string | null} What went wrong.
 */
export function makeSysroot(folder, architecture) {
  rmSync(folder, { recursive: true, force: true });
  const state = path.join(folder, 'apt');
  for (const name of ['lists/partial', 'cache/archives/partial', 'packages'])
    mkdirSync(path.join(state, name), { recursive: true });
  const targets = capture('apt-get', ['indextargets', '--format', '$(REPO_URI)']);
  const mirror = targets.stdout.split('\n').find((uri) => /\/debian\/?$/.test(uri));
  if (mirror === undefined) return `apt knows no Debian mirror here:\n${targets.stdout}${targets.stderr}`;
  const source = path.join(state, 'sources.list');
  writeFileSync(source, `deb [signed-by=${KEYRING}] ${mirror} ${SUITE} main\n`);
  writeFileSync(path.join(state, 'status'), '');
  const settings = {
    'APT::Architecture': ARCHITECTURES[architecture],
    'APT::Architectures': ARCHITECTURES[architecture],
    'APT::Sandbox::User': '',
    'Dir::Etc::SourceList': source,
    'Dir::Etc::SourceParts': '-',
    'Dir::State::Lists': path.join(state, 'lists'),
    'Dir::State::Status': path.join(state, 'status'),
    'Dir::Cache': path.join(state, 'cache'),
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  const packages = path.join(state, 'packages');
  for (const args of [['update'], ['download', ...PACKAGES]]) {
    const result = capture('apt-get', ['-qq', ...options, ...args], { cwd: packages });
    if (result.status !== 0) return `apt-get ${args[0]} failed: ${result.stderr}`;
  }
  for (const name of readdirSync(packages)) {
    const result = capture('dpkg-deb', ['--extract', path.join(packages, name), folder]);
    if (result.status !== 0) return `dpkg-deb failed: ${result.stderr}`;
  }
  rmSync(state, { recursive: true });
  relativeLinks(folder);
  return null;
}

/** Links to absolute paths would lead out of the folder. @param {string} folder */
function relativeLinks(folder) {
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const link = path.join(folder, name);
    if (!lstatSync(link).isSymbolicLink() || !path.isAbsolute(readlinkSync(link))) continue;
    const target = path.relative(path.dirname(link), path.join(folder, readlinkSync(link)));
    rmSync(link);
    symlinkSync(target, link);
  }
}

/**
 * What an addon needs of glibc: the newest version, and the symbols that need more than the floor.
 *
 * @param {string} file
 * @returns {{ newest: string, above: string[] }}
 */
export function neededGlibc(file) {
  const { status, stdout, stderr } = capture('objdump', ['-T', file]);
  if (status !== 0) throw new Error(`objdump -T ${file} failed: ${stderr.trim()}`);
  return readSymbols(stdout);
}

/**
 * The same from what `objdump -T` prints.
 *
 * @param {string} symbols
 * @returns {{ newest: string, above: string[] }}
 */
export function readSymbols(symbols) {
  const needed = [...symbols.matchAll(/\bGLIBC_([\d.]+)\)?\s+(\S+)$/gm)].map(
    ([, version = '', symbol = '']) => ({
      version,
      symbol,
    }),
  );
  needed.sort((a, b) => compareVersions(a.version, b.version));
  return {
    newest: needed.at(-1)?.version ?? 'none',
    above: needed
      .filter(({ version }) => compareVersions(version, GLIBC_FLOOR) > 0)
      .map(({ version, symbol }) => `${symbol} (${version})`),
  };
}

/** @param {string} a @param {string} b */
function compareVersions(a, b) {
  const [left, right] = [a, b].map((version) => version.split('.').map(Number));
  for (let i = 0; i < 3; ++i) {
    const difference = (left?.[i] ?? 0) - (right?.[i] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
