import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';

/**
 * The input of the rules: the files that a commit of the working tree would contain.
 *
 * @typedef {object} Repository
 * @property {string | null} root Folder on the disk, for rules that run a program; null for a sample in memory.
 * @property {readonly string[]} files Paths with forward slashes, relative to the root, sorted.
 * @property {(file: string) => string} text Content of a text file; empty for a binary one.
 * @property {(file: string) => number} sizeBytes Length of a file.
 * @property {(file: string) => boolean} isBinary True if the first 8 KiB contain a zero byte.
 */

/**
 * One convention. `check` returns a line per finding, which starts with the path concerned.
 *
 * @typedef {object} Rule
 * @property {string} name Kebab-case, as its file.
 * @property {(repository: Repository) => string[]} check
 */

const PROBE_BYTES = 8192;

/**
 * The working tree at `root` as git sees it: tracked and new files, without ignored ones.
 *
 * @param {string} root
 * @returns {Repository}
 */
export function openRepository(root) {
  // Also reads a checkout that belongs to another user, because listing files runs none of its code.
  const trust = ['-c', `safe.directory=${root}`];
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
  const listed = execFileSync('git', [...trust, ...list], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
  });
  // A file that was deleted but not yet committed is still listed.
  const files = [...new Set(listed.split('\0'))].filter(
    (file) => file !== '' && existsSync(path.join(root, file)),
  );
  return repositoryOf(root, files.sort(), {
    read: (file) => readFileSync(path.join(root, file)),
    sizeBytes: (file) => statSync(path.join(root, file)).size,
  });
}

/**
 * A repository in memory, as a sample for the tests of the rules.
 *
 * @param {Record<string, string | Uint8Array>} contents
 * @returns {Repository}
 */
export function sampleRepository(contents) {
  /** @param {string} file */
  const read = (file) => Buffer.from(/** @type {string} */ (contents[file] ?? ''));
  return repositoryOf(null, Object.keys(contents).sort(), { read, sizeBytes: (file) => read(file).length });
}

/**
 * @param {string | null} root
 * @param {string[]} files
 * @param {{ read: (file: string) => Buffer, sizeBytes: (file: string) => number }} source
 * @returns {Repository}
 */
function repositoryOf(root, files, source) {
  /** @type {Map<string, string>} */
  const texts = new Map();
  /** @param {string} file */
  const isBinary = (file) => source.read(file).subarray(0, PROBE_BYTES).includes(0);
  return {
    root,
    files,
    sizeBytes: source.sizeBytes,
    isBinary,
    text(file) {
      let text = texts.get(file);
      if (text === undefined) {
        text = isBinary(file) ? '' : source.read(file).toString('utf8');
        texts.set(file, text);
      }
      return text;
    },
  };
}

/**
 * Calls `visit` for every line of a file; numbers start at 1.
 *
 * @param {string} text
 * @param {(line: string, number: number) => void} visit
 */
export function eachLine(text, visit) {
  text.split('\n').forEach((line, index) => {
    visit(line, index + 1);
  });
}

/** @param {string} file */
export function isTypeScript(file) {
  return /\.(?:ts|tsx|mts)$/.test(file);
}

/**
 * True for tests and files that only tests import.
 *
 * @param {string} file
 */
export function isTest(file) {
  return /\.test(?:-d)?\.tsx?$/.test(file) || /^(?:packages|apps)\/[^/]+\/(?:test|conformance)\//.test(file);
}

/**
 * The folder of the package that a file belongs to, such as `packages/text`, or null.
 *
 * @param {string} file
 */
export function packageFolderOf(file) {
  return /^(?:packages\/metal-runtime\/npm|packages|apps)\/[^/]+(?=\/)/.exec(file)?.[0] ?? null;
}
