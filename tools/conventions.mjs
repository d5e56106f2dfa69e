// Checks the conventions of the repository: `node tools/conventions.mjs`. One rule per file in tools/conventions/.

import { openRepository } from './conventions/repository.mjs';
import { rules } from './conventions/rules.mjs';
import { repositoryRoot } from './lib/process.mjs';
import { writeReport } from './lib/report.mjs';

const repository = openRepository(repositoryRoot);
let failed = 0;
for (const rule of rules) {
  const findings = rule.check(repository);
  if (findings.length === 0) continue;
  failed += 1;
  console.log(`${rule.name}: ${findings.length}`);
  for (const finding of findings) console.log(`  ${finding}`);
}
writeReport('conventions', { passed: rules.length - failed, failed, skipped: 0 });
process.exitCode = failed > 0 ? 1 : 0;
