import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { capture, repositoryRoot } from './process.mjs';

/**
 * A published package of the workspace.
 *
 * @typedef {object} PublishedPackage
 * @property {string} name
 * @property {string} folder Absolute path.
 * @property {any} manifest Its package.json.
 * @property {boolean} isPlatform True for a package that only contains a native addon.
 */

/** Folders whose children are packages, dependencies first. */
const PARENTS = ['packages', 'packages/metal-runtime/npm', 'apps'];

/** @returns {PublishedPackage[]} Every package that is not private. */
export function publishedPackages() {
  return PARENTS.flatMap((parent) => {
    const absolute = path.join(repositoryRoot, parent);
    const names = existsSync(absolute) ? readdirSync(absolute).sort() : [];
    return names.map((name) => path.join(absolute, name));
  })
    .filter((folder) => existsSync(path.join(folder, 'package.json')))
    .map((folder) => {
      const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
      return { name: manifest.name, folder, manifest, isPlatform: manifest.os !== undefined };
    })
    .filter(({ manifest }) => manifest.private !== true);
}

/**
 * Packs a package as it would be published.
 *
 * @param {PublishedPackage} published
 * @param {string} target Folder for the tarball.
 * @returns {string} Path of the tarball.
 */
export function packPackage(published, target) {
  mkdirSync(target, { recursive: true });
  const packed = capture('pnpm', ['pack', '--pack-destination', target, '--json'], { cwd: published.folder });
  if (packed.status !== 0) {
    console.error(packed.stdout + packed.stderr);
    console.error(`${published.name} could not be packed`);
    process.exit(1);
  }
  const { filename } = JSON.parse(packed.stdout.slice(packed.stdout.indexOf('{')));
  return path.resolve(target, filename);
}
