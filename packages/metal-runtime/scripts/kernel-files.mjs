// Finds the kernels: those of families in their folders, shared code in kernels/.
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { FamilyError } from './read-params.mjs';

const packageRoot = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');
const families = path.join(packageRoot, 'families');
const shared = path.join(packageRoot, 'kernels');

/** Folders whose headers kernels include, besides their own. */
export const INCLUDE_FOLDERS = [shared, families];

/** `linear_cores_nvidia.metal` is only for NVIDIA GPUs, and so are the headers in kernels/nvidia. @param {string} file */
function isForNvidia(file) {
  return /_nvidia\.\w+$/.test(file) || path.basename(path.dirname(file)) === 'nvidia';
}

/**
 * The kernels and their headers, sorted by name. Without `withNvidia`, only those that Metal compiles.
 *
 * @param {{ withNvidia?: boolean }} [options]
 */
export function kernelFiles({ withNvidia = false } = {}) {
  const inFamilies = readdirSync(families, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => path.join(families, entry.name));
  return [...inFamilies, shared, path.join(shared, 'nvidia')]
    .flatMap((folder) => readdirSync(folder).map((name) => path.join(folder, name)))
    .filter(
      (file) => /(?:\.metal|\.h)$/.test(file) && !/^(?:cpu|plan)(?:_\w+)?\.h$/.test(path.basename(file)),
    )
    .filter((file) => withNvidia || !isForNvidia(file))
    .sort((a, b) => (path.basename(a) < path.basename(b) ? -1 : 1));
}

/** The `.metal` files among `kernelFiles`. @param {{ withNvidia?: boolean }} [options] */
export function metalFiles(options) {
  return kernelFiles(options).filter((file) => file.endsWith('.metal'));
}

/** The name of a kernel file in plans and PTX: `linear_cores` for `linear_cores_nvidia.metal`. @param {string} file */
export function sourceName(file) {
  return path.basename(file, '.metal').replace(/_nvidia$/, '');
}

/**
 * The file that a kernel includes.
 *
 * @param {string} from
 * @param {string} name
 */
export function includedFile(from, name) {
  const folders = [path.dirname(from), ...INCLUDE_FOLDERS];
  const found = folders.map((folder) => path.join(folder, name)).find((file) => existsSync(file));
  if (found === undefined) throw new FamilyError(`${from}: there is no "${name}" in ${folders.join(', ')}`);
  return found;
}
