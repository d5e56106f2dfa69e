import { expect, it } from 'vitest';
import { exportedMembers } from './exported-members.mjs';
import { sampleRepository } from './repository.mjs';

const manifest = JSON.stringify({ exports: { '.': { default: './dist/index.js' } } });

function findings(files: Record<string, string>): string[] {
  const sources = Object.entries(files).map(([name, text]) => [`packages/text/src/${name}`, text]);
  const contents = { 'packages/text/package.json': manifest, ...Object.fromEntries(sources) };
  return exportedMembers
    .check(sampleRepository(contents))
    .map((finding) =>
      finding.replace('packages/text/src/', '').replace(' is exported and has no doc comment', ''),
    );
}

it('finds members without a doc comment, through re-exports', () => {
  const model = `/** A model. */
export class Model {
  readonly name: string;
  readonly #hidden = 1;
  /** Frees it. */
  dispose(): void {}
  run(step: number): void;
  run(step: string): void;
  run(): void {}
  private helper() {}
}
/** Not exported by the package. */
export interface Inner {
  field: string;
}
`;
  const files = {
    'index.ts':
      "export { Model } from './model.js';\nexport * from './types.js';\nexport { X } from 'elsewhere';\n",
    'model.ts': model,
    'types.ts': 'export interface Options {\n  readonly size: number;\n}\n',
  };
  expect(findings(files)).toEqual([
    'model.ts:3: Model.name',
    'model.ts:7: Model.run',
    'types.ts:1: Options',
    'types.ts:2: Options.size',
  ]);
});

it('finds fields of nested and joined object types, but not those on one line', () => {
  const source = `/** Joined. */
export type Event = { readonly type: 'text'; readonly text: string } | {
  readonly type: 'finish';
  readonly reason: string;
};
/** Nested. */
export interface Plan {
  /** Its commands. */
  readonly commands: readonly {
    readonly label: string;
  }[];
  /** A size. */
  readonly size: { readonly width: number };
  [Symbol.dispose](): void;
}
`;
  expect(findings({ 'index.ts': source })).toEqual([
    'index.ts:10: Plan.commands.label',
    'index.ts:4: Event.reason',
  ]);
});

it('ignores private packages and packages without code', () => {
  const contents = {
    'packages/sim/package.json': JSON.stringify({ private: true, exports: { '.': './dist/index.js' } }),
    'packages/sim/src/index.ts': 'export const LIMIT = 1;\n',
    'packages/data/package.json': '{}',
  };
  expect(exportedMembers.check(sampleRepository(contents))).toEqual([]);
});
