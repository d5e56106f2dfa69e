// `pnpm check:packages`: packs every package and checks the tarballs with publint and are-the-types-wrong.
// Sources may be in it once: in the source maps.
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { capture } from './lib/process.mjs';
import { writeReport } from './lib/report.mjs';
import { packPackage, publishedPackages } from './lib/workspace.mjs';

const folder = mkdtempSync(path.join(os.tmpdir(), 'markbase-packages-'));
const counts = { passed: 0, failed: 0, skipped: 0 };

/** @param {string} title @param {string} program @param {string[]} args */
function check(title, program, args) {
  const result = capture(program, args);
  if (result.status === 0) {
    counts.passed += 1;
    return;
  }
  counts.failed += 1;
  console.log(`${title}:\n${result.stdout}${result.stderr}`);
}

/** @param {string} name @param {string} tarball */
function checkSources(name, tarball) {
  const { stdout } = capture('tar', ['--list', '--gzip', '--file', tarball]);
  const sources = stdout.split('\n').filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.d.ts'));
  counts[sources.length === 0 ? 'passed' : 'failed'] += 1;
  if (sources.length > 0)
    console.log(`${name}: sources, which its source maps have already: ${sources.join(', ')}`);
}

try {
  for (const published of publishedPackages()) {
    const tarball = packPackage(published, folder);
    checkSources(published.name, tarball);
    // Addons of other platforms do not exist here, so publint would miss the file that "main" names.
    if (published.isPlatform) continue;
    check(`publint ${published.name}`, 'publint', ['run', tarball, '--strict']);
    // A package that only has a command has no types.
    if (published.manifest.exports?.['.'] === undefined) continue;
    check(`attw ${published.name}`, 'attw', [tarball, '--profile', 'esm-only', '--no-color']);
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
writeReport('packages', counts);
process.exitCode = counts.failed > 0 ? 1 : 0;
