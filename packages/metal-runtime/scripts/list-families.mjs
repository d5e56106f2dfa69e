// Generates the lists of families from their folders: `node scripts/list-families.mjs`. Git ignores the output:
//   families/nodes.ts              their nodes and operations, for the recorder
//   families/oracles.ts            their conformance cases
//   build/lists/family_list.h      their names, for tables of kernels and plans
//   build/lists/family_schemas.cc  the fields of their parameters, for the binding
// Fails with the name of the file if a family lacks a member.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { FAMILY_MEMBERS } from './family-members.mjs';
import { FamilyError, readParams } from './read-params.mjs';

const packageRoot = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..');

/** @param {string} name snake_case */
const pascal = (name) => name.replace(/(?:^|_)([a-z])/g, (_, letter) => letter.toUpperCase());

/** @param {string} name snake_case */
const camel = (name) => name.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());

/**
 * The families by their names.
 *
 * @param {string} [root] of the package
 */
export function readFamilies(root = packageRoot) {
  const folder = path.join(root, 'families');
  const entries = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return entries
    .map(({ name }) => name)
    .sort()
    .map((name) => {
      for (const member of FAMILY_MEMBERS) {
        const file = path.join(folder, name, member(name));
        if (!existsSync(file)) throw new FamilyError(`families/${name} has no ${member(name)}`);
      }
      const header = `${name}_params.h`;
      const params = readParams(name, readFileSync(path.join(folder, name, header), 'utf8'));
      const hasCheck = existsSync(path.join(folder, name, 'check.cc'));
      if (params.operands === null && !hasCheck) {
        throw new FamilyError(
          `${header} needs MARKBASE_${name.toUpperCase()}_OPERANDS, or a check.cc that counts them`,
        );
      }
      return { name, ...params, hasCheck };
    });
}

/** @typedef {ReturnType<typeof readFamilies>[number]} FamilyEntry */

const HEAD = '// Written by scripts/list-families.mjs.\n';

/** @param {readonly FamilyEntry[]} families */
function nodesText(families) {
  const names = families.map(({ name }) => name);
  const imports = names.map(
    (name) =>
      `import { ${camel(name)}, type ${pascal(name)}Node, type ${pascal(name)}Ops } from './${name}/node.js';`,
  );
  return `${HEAD}${imports.join('\n')}

/** One recorded operation, plain or fused; the fused parts are optional fields. */
export type Node = ${names.map((name) => `${pascal(name)}Node`).join(' | ')};

/** What the families add to the vocabulary of model code. */
export interface FamilyOps extends ${names.map((name) => `${pascal(name)}Ops`).join(', ')} {}

/** All families, by the kind of their nodes. */
export const families = { ${names.map(camel).join(', ')} };
`;
}

/** @param {readonly FamilyEntry[]} families */
function oraclesText(families) {
  const names = families.map(({ name }) => name);
  const imports = names.map((name) => `import { ${camel(name)} } from './${name}/oracle.js';`);
  return `${HEAD}import type { ConformanceFamily } from '../conformance/conformance-case.js';
${imports.join('\n')}

/** The table of cases of every family. */
export const FAMILIES: readonly ConformanceFamily[] = [${names.map(camel).join(', ')}];
`;
}

/** @param {readonly FamilyEntry[]} families */
function listText(families) {
  const lines = families.map(({ name }) => `  X(${name}, ${pascal(name)})`);
  return `${HEAD}#pragma once

/** Calls X(rms_norm, RmsNorm) for every family. */
#define MARKBASE_FAMILIES(X) \\
${lines.join(' \\\n')}
`;
}

/** @param {readonly FamilyEntry[]} families */
function schemasText(families) {
  const includes = families.map(({ name }) => `#include "${name}/${name}_params.h"`);
  const checks = families.filter(({ hasCheck }) => hasCheck);
  /** @param {string} constant @param {string} struct @param {import('./read-params.mjs').Field[]} fields */
  const table = (constant, struct, fields) => {
    const rows = fields.map(
      ({ name, type }) =>
        `    {"${camel(name)}", offsetof(${struct}, ${name}), Field::Kind::k${type === 'float' ? 'Float' : 'Word'}},`,
    );
    return `constexpr Field ${constant}[] = {\n${rows.join('\n')}\n};`;
  };
  const tables = families.flatMap(({ name, struct, fields, weights }) => [
    table(`k${pascal(name)}Fields`, struct, fields),
    ...(weights ? [table(`k${pascal(name)}WeightFields`, weights.struct, weights.fields)] : []),
  ]);
  const schemas = families.map((family) => {
    const { name, struct, weights } = family;
    const members = [
      `.family = "${name}"`,
      `.fields = k${pascal(name)}Fields`,
      `.params_bytes = sizeof(${struct})`,
      ...(weights
        ? [
            `.weight_fields = k${pascal(name)}WeightFields`,
            `.weights_offset = offsetof(${struct}, weight)`,
            `.weight_bytes = sizeof(${weights.struct})`,
            `.most_weights = ${weights.count}`,
          ]
        : []),
      ...(family.operands === null ? [] : [`.operands = ${family.operands}`]),
      ...(family.rowSet === null ? [] : [`.row_set = ${family.rowSet}`]),
      ...(family.hasCheck ? [`.check = check_${name}`] : []),
    ];
    return `    {${members.join(', ')}},`;
  });
  return `${HEAD}#include "family_schema.h"

#include <cstddef>

${includes.join('\n')}

namespace markbase {

${checks.map(({ name }) => `Status check_${name}(const Command& command);`).join('\n')}

namespace {

${tables.join('\n')}

constexpr FamilySchema kSchemas[] = {
${schemas.join('\n')}
};

}  // namespace

std::span<const FamilySchema> family_schemas() { return kSchemas; }

}  // namespace markbase
`;
}

/** Does not touch an unchanged file, so that nothing is rebuilt. @param {string} file @param {string} text */
function writeChanged(file, text) {
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return;
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
}

/**
 * Writes all lists.
 *
 * @param {string} [root] of the package
 * @throws FamilyError when a family lacks a member
 */
export function writeLists(root = packageRoot) {
  const families = readFamilies(root);
  writeChanged(path.join(root, 'families/nodes.ts'), nodesText(families));
  writeChanged(path.join(root, 'families/oracles.ts'), oraclesText(families));
  writeChanged(path.join(root, 'build/lists/family_list.h'), listText(families));
  writeChanged(path.join(root, 'build/lists/family_schemas.cc'), schemasText(families));
  return families.length;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    console.log(`${writeLists()} families`);
  } catch (error) {
    if (!(error instanceof FamilyError)) throw error;
    console.error(`${error.name}: ${error.message}`);
    process.exitCode = 1;
  }
}
