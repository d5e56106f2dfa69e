import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { fixture, markbase, markbaseJson } from './run-markbase.js';

interface Report {
  pass: boolean;
  sections: {
    name: string;
    pass: boolean;
    skipped?: string;
    relRms?: number;
    tolerance?: number;
    maxAbs?: number;
  }[];
}

test.each(['high', 'fast'])('a correct checkpoint passes in %s', async (precision) => {
  const report = await markbaseJson<Report>(['verify', fixture('e2b-mlx-4bit'), '--precision', precision]);
  expect(report.pass).toBe(true);
  const judged = report.sections.filter((section) => section.skipped === undefined);
  const names = judged.map((section) => section.name);
  expect(names).toEqual(
    expect.arrayContaining(['text.logits', 'image.tower', 'image.soft_tokens', 'image.logits']),
  );
  for (const section of judged) expect(section).toMatchObject({ pass: true, relRms: expect.any(Number) });
});

test('a modified model fails with exit 1', async () => {
  const folder = join(temporaryFolder(), 'changed');
  await cp(fixture('e2b-mlx-4bit'), folder, { recursive: true });
  const path = join(folder, 'config.json');
  const config = JSON.parse(await readFile(path, 'utf8'));
  config.text_config.final_logit_softcapping = 20;
  await writeFile(path, JSON.stringify(config));
  const { status, stdout, stderr } = await markbase(['verify', folder, '--json']);
  const report = JSON.parse(stdout) as Report;
  expect({ status, stderr, pass: report.pass }).toEqual({ status: 1, stderr: '', pass: false });
  expect(report.sections.find((section) => section.name === 'text.logits')?.pass).toBe(false);
});

test('a checkpoint without reference outputs is a user error', async () => {
  const folder = temporaryFolder();
  await markbaseJson(['synth', '--variant', '31b', '--tiny', '--out', folder]);
  const { status, stdout, stderr } = await markbase(['verify', folder]);
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toContain('expected.safetensors');
});
