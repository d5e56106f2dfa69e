import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FAMILY_MEMBERS } from '../scripts/family-members.mjs';
import { readFamilies, writeLists } from '../scripts/list-families.mjs';

const own = fileURLToPath(new URL('../families', import.meta.url));
let root = '';

/** A package with a family of a two-word name, derived from pool_rows. */
beforeEach(() => {
  root = mkdtempSync(path.join(os.tmpdir(), 'families-'));
  const folder = path.join(root, 'families/pool_sums');
  cpSync(path.join(own, 'pool_rows'), folder, { recursive: true });
  for (const [from, to] of [
    ['pool_rows_params.h', 'pool_sums_params.h'],
    ['pool_rows.metal', 'pool_sums.metal'],
  ] as const) {
    const text = readFileSync(path.join(folder, from), 'utf8');
    const renamed = text.replaceAll('POOL_ROWS', 'POOL_SUMS').replaceAll('PoolRows', 'PoolSums');
    rmSync(path.join(folder, from));
    writeFileSync(path.join(folder, to), renamed);
  }
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const read = (file: string) => readFileSync(path.join(root, file), 'utf8');

describe('lists of families', () => {
  it('contain every folder', () => {
    expect(writeLists(root)).toBe(1);
    expect(read('families/nodes.ts')).toContain(
      "import { poolSums, type PoolSumsNode, type PoolSumsOps } from './pool_sums/node.js';",
    );
    expect(read('families/oracles.ts')).toContain("import { poolSums } from './pool_sums/oracle.js';");
    expect(read('build/lists/family_list.h')).toContain('X(pool_sums, PoolSums)');
    expect(read('build/lists/family_schemas.cc')).toContain(
      '.params_bytes = sizeof(PoolSumsParams), .operands = 2, .row_set = 1}',
    );
  });

  it.each(FAMILY_MEMBERS.map((member) => member('pool_sums')))('are not generated without %s', (member) => {
    rmSync(path.join(root, 'families/pool_sums', member));
    expect(() => writeLists(root)).toThrow(`families/pool_sums has no ${member}`);
  });

  it.each([
    ['  float scale;', '  half scale;', '"half scale;" is neither a word nor weight[n]'],
    ['#define MARKBASE_POOL_SUMS_OPERANDS 2', '', 'MARKBASE_POOL_SUMS_OPERANDS, or a check.cc'],
    ['#define MARKBASE_POOL_SUMS_ROW_SET 1', '', 'a field row_set or MARKBASE_POOL_SUMS_ROW_SET'],
    ['struct PoolSumsParams', 'class PoolSumsParams', 'has no struct'],
  ])('are not generated from a header with %s as %s', (before, after, message) => {
    const file = path.join(root, 'families/pool_sums/pool_sums_params.h');
    const text = readFileSync(file, 'utf8');
    expect(text).toContain(before);
    writeFileSync(file, text.replace(before, after));
    expect(() => writeLists(root)).toThrow(message);
  });
});

describe('schemas', () => {
  it('contain every field of a family and of its weights', () => {
    const families = new Map(readFamilies().map((family) => [family.name, family]));
    expect(families.get('rope_table')).toMatchObject({
      struct: 'RopeTableParams',
      fields: [
        { name: 'row_set', type: 'uint32_t' },
        { name: 'pairs', type: 'uint32_t' },
      ],
      operands: 2,
      rowSet: null,
      weights: null,
    });
    expect(families.get('linear')?.weights).toMatchObject({ struct: 'LinearWeightParams', count: 3 });
    expect(families.get('linear')?.weights?.fields).toHaveLength(11);
  });
});
