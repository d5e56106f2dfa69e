// Host tests of the stand-in for Metal and of the GPU backends: `node packages/metal-sim/host-tests.mjs [--asan]`.
// `--asan` runs them under AddressSanitizer and UBSan. Ends with one line of totals; returns 1 when something failed.
import { missingTools } from './tools/clang.mjs';
import { buildHostProgram, HOST_PROGRAMS, runHostProgram } from './tools/host-tests.mjs';

const mode = process.argv.includes('--asan') ? 'asan' : 'plain';
const missing = missingTools();
if (missing === null) await runAll();
else console.log(`host tests: skipped: ${missing}`);

async function runAll() {
  let passed = 0;
  let failed = 0;
  for (const program of HOST_PROGRAMS) {
    const { file, error } = await buildHostProgram(program, mode);
    if (error !== null) {
      console.error(`${program.name}: it does not compile:\n${error}`);
      failed += 1;
      continue;
    }
    for (const { name, env } of program.environments) {
      const result = runHostProgram(program, file, env);
      passed += result.passed;
      console.log(`${program.name}, ${name}: ${result.isOk ? `${result.passed} tests` : 'FAILED'}`);
      if (result.isOk) continue;
      failed += 1;
      console.error(result.output);
    }
  }
  console.log(`host tests (${mode}): ${passed} passed, ${failed} failed`);
  process.exitCode = failed > 0 ? 1 : 0;
}
