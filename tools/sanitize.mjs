// `node tools/sanitize.mjs [filter …]`: runs the C++ of the addon under clang's AddressSanitizer and UndefinedBehaviorSanitizer: all
// conformance cases on the CPU with every instruction set of this machine, texts, towers, faults, and arrays that lie about themselves.
// Needs Linux, clang-19 and its runtime; the build is kept apart from the usual one. Filters are those of vitest: `device.test` runs the
// files whose path contains it. Ends with one line of totals; the status is 1 if a test failed or a sanitizer reported something.
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { capture, repositoryRoot, run } from './lib/process.mjs';
import { addCounts, describeCounts } from './lib/report.mjs';
import { runVitest } from './lib/run-vitest.mjs';

const RUNTIME = path.join(repositoryRoot, 'packages/metal-runtime');
const ADDON = path.join(RUNTIME, 'build/sanitize/markbase.node');
const COMPILER = process.env.CXX ?? 'clang++-19';

/** What runs besides the conformance cases. Backends other than the CPU have host programs: packages/metal-sim/host-tests.mjs --asan. */
const FILES = [
  'packages/metal-runtime/src/',
  'packages/metal-runtime/test/border.test.ts',
  'packages/metal-runtime/test/device.test.ts',
  'packages/metal-runtime/test/hostile-arrays.test.ts',
  'packages/text/test/demo-model.test.ts',
  'packages/text/test/generate.golden.test.ts',
  'packages/text/test/load.golden.test.ts',
  'packages/text/test/structured-output.test.ts',
  'packages/text/test/verify.golden.test.ts',
  'packages/audio/test/',
  'packages/moe/test/',
  'packages/vision/test/',
];

const filters = process.argv.slice(2);
const library = capture(COMPILER, ['-print-file-name=libclang_rt.asan-x86_64.so']).stdout.trim();
if (!existsSync(library)) {
  console.error(
    `sanitize: ${COMPILER} with its runtime was not found: apt-get install -y clang-19 libclang-rt-19-dev`,
  );
  process.exit(1);
}
const built = run(process.execPath, [path.join(RUNTIME, 'scripts/build-native.mjs'), '--sanitize']);
if (built !== 0) process.exit(built);

const reports = mkdtempSync(path.join(os.tmpdir(), 'markbase-sanitize-'));
try {
  const env = environment();
  const selected = (/** @type {readonly string[]} */ files) => (filters.length > 0 ? filters : files);
  const counts = [
    runVitest('sanitize-conformance', ['--project', 'cpu', '--passWithNoTests', ...filters], env),
    runVitest(
      'sanitize-tests',
      ['--project', 'device', '--project', 'unit', '--passWithNoTests', ...selected(FILES)],
      env,
    ),
  ];
  const found = readdirSync(reports);
  for (const name of found) console.error(readFileSync(path.join(reports, name), 'utf8'));
  const sum = addCounts(counts);
  console.log(`sanitize: ${describeCounts(sum)}, ${found.length} reports of the sanitizers`);
  process.exitCode = sum.failed > 0 || found.length > 0 ? 1 : 0;
} finally {
  rmSync(reports, { recursive: true, force: true });
}

/** Node itself is not instrumented, so its leaks and its own handlers of signals are left alone. */
function environment() {
  const log = `log_path=${path.join(reports, 'report')}`;
  const options = ['detect_leaks=0', 'allocator_may_return_null=1', 'quarantine_size_mb=64', log];
  return {
    LD_PRELOAD: library,
    ASAN_OPTIONS: options.join(':'),
    UBSAN_OPTIONS: `print_stacktrace=1:${log}`,
    MARKBASE_ADDON: ADDON,
  };
}
