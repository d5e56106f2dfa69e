// Runs the official JSON Schema Test Suite against the grammars of @markbase/text, and prints what they reject, accept and do not support.
// The suite is not part of this repository: `--suite <dir>` names a checkout of json-schema-org/JSON-Schema-Test-Suite. It counts the files
// directly in tests/<draft>, without optional/, and matches instances as written by JSON.stringify. Remote references stay unresolved.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { describeSchema } from '../packages/text/dist/index.js';

const { values } = parseArgs({
  options: { suite: { type: 'string' }, json: { type: 'boolean', default: false } },
});
if (!values.suite) {
  process.stderr.write('usage: node bench/schema-suite.mjs --suite <dir> [--json]\n');
  process.exit(1);
}

async function measure(draft) {
  const counts = {
    draft,
    schemas: 0,
    refused: 0,
    validAccepted: 0,
    validLeftOut: 0,
    invalidRejected: 0,
    invalidAccepted: 0,
  };
  const folder = join(values.suite, 'tests', draft);
  for (const name of (await readdir(folder)).filter((file) => file.endsWith('.json')).sort()) {
    for (const { schema, tests } of JSON.parse(await readFile(join(folder, name), 'utf8'))) {
      counts.schemas++;
      const answers = tests.map(({ data }) => JSON.stringify(data));
      const { supported, accepted } = await describeSchema(schema, { answers });
      if (!supported) {
        counts.refused++;
        continue;
      }
      for (const [index, { valid }] of tests.entries()) {
        if (valid) counts[accepted[index] ? 'validAccepted' : 'validLeftOut']++;
        else counts[accepted[index] ? 'invalidAccepted' : 'invalidRejected']++;
      }
    }
  }
  return counts;
}

const results = [await measure('draft2020-12'), await measure('draft7')];
if (values.json) process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
else console.table(results);
if (results.some(({ invalidAccepted }) => invalidAccepted > 0)) process.exitCode = 1;
