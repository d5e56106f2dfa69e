import { readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Projects in the order in which they run. Those without isolation share workers while files of the same follow each other. */
const PROJECTS = ['metal', 'cuda', 'cpu', 'device', 'unit'];

/**
 * Long test files first, so that no worker is left alone with one at the end: what vitest measured last time, or the bytes of
 * the file; of a kernel family the bytes of its tables, as its test is two lines.
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

/** Bytes of the tables of cases beside a family's test; 0 for any other test. */
function tableBytes(file: string): number {
  if (path.basename(file) !== 'oracle.test.ts') return 0;
  const folder = path.dirname(file);
  const tables = readdirSync(folder).filter((name) => /^oracle.*\.ts$/.test(name));
  return tables.reduce((sum, name) => sum + statSync(path.join(folder, name)).size, 0);
}
