// `node tools/format-native.mjs [--check]`: formats C++ and Metal sources in the style of .clang-format; with --check, lists the files that
// differ. clang-format's output changes between versions, so exactly one version is accepted. If it is missing, that counts as a skip, and
// as a failure if CI=true.
import { openRepository } from './conventions/repository.mjs';
import { capture, findProgram, repositoryRoot } from './lib/process.mjs';
import { writeReport } from './lib/report.mjs';

const VERSION = '19';
const SOURCES = /\.(?:cc|h|mm|metal)$/;

/** The program in the right version, or null. */
function findFormatter() {
  for (const name of [`clang-format-${VERSION}`, 'clang-format']) {
    const program = findProgram(name);
    if (program && capture(program, ['--version']).stdout.includes(`version ${VERSION}.`)) return program;
  }
  return null;
}

const isCheck = process.argv.includes('--check');
const program = findFormatter();
if (program === null) {
  const isFailure = process.env.CI === 'true';
  console.log(`clang-format ${VERSION} is not installed (apt-get install clang-format-${VERSION})`);
  writeReport('native-format', { passed: 0, failed: isFailure ? 1 : 0, skipped: isFailure ? 0 : 1 });
  process.exitCode = isFailure ? 1 : 0;
} else {
  const sources = openRepository(repositoryRoot).files.filter((file) => SOURCES.test(file));
  const { status, stderr } = capture(program, [...(isCheck ? ['--dry-run', '-Werror'] : ['-i']), ...sources]);
  const differing = new Set([...stderr.matchAll(/^(\S+?):\d+:\d+: error: /gm)].map((match) => match[1]));
  for (const file of differing) console.log(`${file}: not formatted: run "pnpm format"`);
  if (status !== 0 && differing.size === 0) console.log(stderr);
  writeReport('native-format', { passed: status === 0 ? 1 : 0, failed: status === 0 ? 0 : 1, skipped: 0 });
  process.exitCode = status === 0 ? 0 : 1;
}
