import { diffCheckpoints } from '../report/diff-checkpoints.js';
import { validateCheckpoint } from '../report/validate-checkpoint.js';
import { type CliOutput, formatBytes, printable, progressLine, table } from './output.js';

/** Number of names that a list shows before "n more". */
const SHOWN_NAMES = 40;

/** Checks a checkpoint completely. @returns whether it is valid */
export async function validate(
  request: {
    readonly path: string;
    readonly values?: boolean;
    readonly json?: boolean;
    readonly signal?: AbortSignal;
  },
  output: CliOutput,
): Promise<boolean> {
  const progress = progressLine(output);
  const { values, signal } = request;
  const report = await validateCheckpoint(request.path, {
    values,
    signal,
    onProgress: ({ doneBytes, totalBytes }) =>
      progress.show(`read ${formatBytes(doneBytes)} of ${formatBytes(totalBytes)}`),
  });
  progress.done();
  if (request.json) {
    output.out(`${JSON.stringify(report, null, 2)}\n`);
    return report.isValid;
  }
  const errors = report.findings.filter(({ level }) => level === 'error').length;
  const lines = report.findings.map(({ level, code, message }) => `${level} ${code}: ${printable(message)}`);
  const read = values ? `, the values of ${report.readTensorCount} read` : '';
  lines.push(
    `${report.isValid ? 'valid' : 'not valid'}: ${report.tensorCount} tensors, ${formatBytes(report.sizeBytes)}${read}; ` +
      `${errors} errors, ${report.findings.length - errors} warnings`,
  );
  output.out(`${lines.join('\n')}\n`);
  return report.isValid;
}

/** Compares two checkpoints or files. @returns whether they are equal */
export async function diff(
  request: {
    readonly left: string;
    readonly right: string;
    /** Compares headers alone. */
    readonly headers?: boolean;
    readonly json?: boolean;
    readonly signal?: AbortSignal;
  },
  output: CliOutput,
): Promise<boolean> {
  const { left, right, signal } = request;
  const made = await diffCheckpoints(left, right, { values: !request.headers, signal });
  if (request.json) {
    output.out(`${JSON.stringify(made, null, 2)}\n`);
    return made.isEqual;
  }
  const rows = made.different.map(({ name, kind, left: one, right: other, maxAbsDifference }) => [
    printable(name),
    kind,
    kind === 'values' ? one : `${one} / ${other}`,
    maxAbsDifference === null ? '' : `at most ${maxAbsDifference.toPrecision(3)}`,
  ]);
  const lines = [
    ...named('only in the first', made.onlyLeft),
    ...named('only in the second', made.onlyRight),
    ...named('differs in config.json', made.configKeys),
    ...table(rows),
    `${made.isEqual ? 'equal' : 'different'}: ${made.equalCount} equal tensors, ${made.different.length} different, ` +
      `${made.onlyLeft.length} and ${made.onlyRight.length} in only one of them`,
  ];
  output.out(`${lines.join('\n')}\n`);
  return made.isEqual;
}

function named(title: string, names: readonly string[]): string[] {
  const shown = names.slice(0, SHOWN_NAMES).map((name) => `${title}: ${printable(name)}`);
  return names.length > SHOWN_NAMES ? [...shown, `${title}: ${names.length - SHOWN_NAMES} more`] : shown;
}
