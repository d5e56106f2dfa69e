import { describeSchema, type JsonSchema } from '@markbase/text';
import { Command } from 'commander';
import { withInterrupt } from '../interrupt.js';
import { readJsonFile, readTextFile } from '../json-file.js';
import { printJson, printLines } from '../output.js';

interface SchemaFlags {
  readonly accepts: readonly string[];
  readonly json: boolean;
}

/** `markbase schema`: shows whether a JSON Schema is supported for answers, and whether it accepts given answers. */
export function schemaCommand(): Command {
  return new Command('schema')
    .description(
      'Show whether a JSON Schema is supported for answers, which of its keywords are not, and whether it accepts given answers. No model is needed.',
    )
    .argument('<file>', 'JSON Schema; - reads standard input')
    .option('--accepts <file>', 'file with an answer to check against the schema; repeatable', collect, [])
    .option('--json', 'print the result as JSON', false)
    .action(async (file: string, { accepts, json }: SchemaFlags) => {
      const schema = await readJsonFile<JsonSchema>(file, { argument: file, expected: 'a JSON Schema' });
      const texts = await Promise.all(accepts.map(async (answer) => (await readTextFile(answer)).trim()));
      const { accepted, ...description } = await withInterrupt((signal) =>
        describeSchema(schema, { answers: texts, signal }),
      );
      const answers = accepts.map((answer, index) => ({ file: answer, accepted: accepted[index]! }));
      const report = { ...description, answers };
      if (json) printJson(report);
      else printLines(linesOf(report));
      if (!report.supported || answers.some((answer) => !answer.accepted)) process.exitCode = 1;
    });
}

type Report = Omit<Awaited<ReturnType<typeof describeSchema>>, 'accepted'> & {
  readonly answers: readonly { readonly file: string; readonly accepted: boolean }[];
};

function linesOf({ supported, unsupported, reason, states, answers }: Report): string[] {
  const lines = supported ? [`supported: a grammar with ${states} states`] : [`not supported: ${reason}`];
  for (const { path, keyword } of unsupported) if (keyword) lines.push(`  ${path}: ${keyword}`);
  for (const { file, accepted } of answers) lines.push(`${accepted ? 'accepted' : 'not accepted'}: ${file}`);
  return lines;
}

function collect(value: string, before: readonly string[]): string[] {
  return [...before, value];
}
