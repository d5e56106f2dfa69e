import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Projects in the order in which they run. Projects without isolation share workers as long as their files are consecutive. */
const PROJECTS = ['metal', 'cuda', 'cpu', 'gpu', 'device', 'unit'];

/**
 * Sorts long test files first, so that no worker is left with one at the end: by the duration of vitest's last run, or by file size; for a
 * kernel family, by the size of its tables, because its test has only two lines.
 */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const tables = new Map(sorted.map(({ moduleId }) => [moduleId, tableBytes(moduleId)]));
    const project = ({ project: { name } }: TestSpecification) => PROJECTS.indexOf(name);
    return sorted.sort(
      (a, b) => project(a) - project(b) || tables.get(b.moduleId)! - tables.get(a.moduleId)!,
    );
  }
}

/** Size of the tables of cases next to a family's test; 0 for any other test. */
function tableBytes(file: string): number {
  if (path.basename(file) !== 'oracle.test.ts') return 0;
  const folder = path.dirname(file);
  const tables = readdirSync(folder).filter((name) => /^oracle.*\.ts$/.test(name));
  return tables.reduce((sum, name) => sum + statSync(path.join(folder, name)).size, 0);
}
