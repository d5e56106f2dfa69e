import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { fixture } from '../../../fixtures/locate.js';
import { markbase, markbaseJson } from './run-markbase.js';

interface Report {
  ok: boolean;
  versions: { node: string; runtime: string };
  isas: string[];
  devices: { kind: string; available: boolean; reason?: string; isa?: string }[];
  checks: { name: string; ok: boolean }[];
}

test('reports what this machine can run, and why not', async () => {
  const report = await markbaseJson<Report>(['doctor']);
  expect(report.ok).toBe(true);
  expect(report.versions.node).toBe(process.versions.node);
  const cpu = report.devices.find((device) => device.kind === 'cpu');
  expect(cpu?.available).toBe(true);
  expect(report.isas).toContain(cpu?.isa);
  for (const device of report.devices) expect(device.available || device.reason).toBeTruthy();
});

test('prints the same as text', async () => {
  const { status, stdout } = await markbase(['doctor']);
  expect(status).toBe(0);
  expect(stdout).toMatch(/^cpu: /m);
  expect(stdout).toMatch(/^ok: device: .*cpu/m);
});

test('reports what a token of a mixture of experts reads', async () => {
  const folder = fileURLToPath(new URL('../../../packages/demo-model/model-moe', import.meta.url));
  const { model } = await markbaseJson<{
    model: { totalBytes: number; activePerToken: Record<string, number>; fit: { fits: boolean } };
  }>(['doctor', '--model', folder]);
  const { dense, experts, lookups, keysAndValues, total } = model.activePerToken;
  expect(model.fit.fits).toBe(true);
  expect(experts).toBeGreaterThan(0);
  expect(dense! + experts! + lookups! + keysAndValues!).toBe(total);
  expect(total).toBeLessThan(model.totalBytes);
});

test('counts the factors of adapters, and refuses them without a model', async () => {
  const needs = async (args: readonly string[]) =>
    (
      await markbaseJson<{ model: { totalBytes: number; adapterBytes: number } }>([
        'doctor',
        '--model',
        fixture('31b-hf'),
        ...args,
      ])
    ).model;
  const adapter = ['--adapter', fixture('adapters/peft')];
  const [plain, adapted] = [await needs([]), await needs(adapter)];
  expect(adapted.adapterBytes).toBeGreaterThan(0);
  expect(adapted.totalBytes - plain.totalBytes).toBe(adapted.adapterBytes);
  expect(plain.adapterBytes).toBe(0);
  expect(await markbase(['doctor', ...adapter])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('--model'),
  });
});
