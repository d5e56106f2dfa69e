import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { modelPath } from '@markbase/demo-model';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { type GemmaModel, load, tool } from '../src/index.js';

const heldOut = join(modelPath, '..', 'held-out');
const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
const examples = [...readme.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map((match) => match[1]!.trimEnd());

/** What is printed with the demo model, if it always takes the likeliest token. */
const EXPECTED = [
  ['a question', 3, '17 + 25 = 42'],
  ['a picture', 4, 'A gray cross on the left.'],
  ['a recording', 3, 'nine three four'],
  ['a schema', 4, expect.objectContaining({ name: expect.any(String) })],
  ['tools', 10, expect.stringMatching(/21/)],
  ['a batch', 3, [expect.stringContaining('7'), expect.stringContaining('11')]],
] as const;

test('the README has these examples and no others', () => {
  expect(examples.length).toBe(EXPECTED.length);
});

test.each(EXPECTED.map((expected, index) => [...expected, index] as const))(
  '%s takes %i lines',
  async (_, lines, printed, index) => {
    const example = examples[index]!;
    expect(example.split('\n').length).toBe(lines);
    expect(await run(example)).toEqual([printed]);
  },
);

/** Runs an example with the sources of this package. @returns what it prints */
async function run(example: string): Promise<unknown[]> {
  const printed: unknown[] = [];
  const models: GemmaModel[] = [];
  const code = example
    .replace(/^import .*\n/gm, '')
    .replace("'photo.jpg'", JSON.stringify(join(heldOut, 'scenes/01.jpg')))
    .replace("'recording.flac'", JSON.stringify(join(heldOut, 'speech/20.flac')));
  const body = ts.transpile(code, { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext });
  const AsyncFunction = (async () => {}).constructor as new (
    ...texts: string[]
  ) => (...values: unknown[]) => Promise<void>;
  const loadDemo = async (_: string, options: object) => {
    const model = await load(modelPath, { ...options, device: 'cpu' });
    models.push(model);
    // The checkpoint's own temperature is above 0.
    for (const method of ['generate', 'generateBatch', 'runTools'] as const) greedily(model, method);
    return model;
  };
  try {
    const program = new AsyncFunction('load', 'tool', 'z', 'console', body);
    await program(loadDemo, tool, z, { log: (value: unknown) => printed.push(value) });
  } finally {
    for (const model of models) model.dispose();
  }
  return printed;
}

function greedily(model: GemmaModel, method: 'generate' | 'generateBatch' | 'runTools'): void {
  const original = (model[method] as (input: unknown, options?: object) => unknown).bind(model);
  Object.assign(model, {
    [method]: (input: unknown, options: object = {}) => original(input, { ...options, temperature: 0 }),
  });
}
