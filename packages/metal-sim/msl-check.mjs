// Checks Metal kernels with a strict front end: `node packages/metal-sim/msl-check.mjs [file.metal ...]`. Without files, all
// kernels of metal-runtime. Address spaces are real types here, overloads are Metal's, and features that Metal lacks are rejected.
import { checkKernel, metalFiles, prepareCheck } from './tools/check.mjs';
import { missingTools } from './tools/clang.mjs';

const chosen = process.argv.slice(2);
const files = chosen.length > 0 ? chosen : metalFiles();
const missing = missingTools();
if (missing !== null) {
  console.log(`msl-check: skipped: ${missing}`);
} else {
  await prepareCheck();
  let refused = 0;
  for (const file of files) {
    const problem = checkKernel(file);
    if (problem === null) continue;
    refused += 1;
    console.error(problem);
  }
  console.log(`msl-check: ${files.length - refused} of ${files.length} files accepted`);
  process.exitCode = refused > 0 ? 1 : 0;
}
