// `pnpm version-packages`: turns the changesets into versions and changelogs. Packages that share the version of another one, such as
// those with addons, often get a version without a change of their own: their changelogs say where the changes are.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { run } from './lib/process.mjs';
import { publishedPackages } from './lib/workspace.mjs';

if (run('changeset', ['version']) !== 0) process.exit(1);
for (const { folder, manifest, isPlatform } of publishedPackages()) {
  const file = path.join(folder, 'CHANGELOG.md');
  if (!isPlatform || !existsSync(file)) continue;
  const { name, version } = manifest;
  const runtime = name.replace(/-(?:linux|darwin)-\w+$/, '');
  const entry = `The addon of ${runtime} ${version}, built for this platform. What changed in it is in the changelog of ${runtime}.`;
  const text = readFileSync(file, 'utf8');
  // A heading with the next one, or nothing, after it.
  writeFileSync(
    file,
    `${text.replace(new RegExp(`^(## ${version.replaceAll('.', '\\.')})\\n+(?=## |$(?![^]))`, 'm'), `$1\n\n${entry}\n\n`).trimEnd()}\n`,
  );
}
