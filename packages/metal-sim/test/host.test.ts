import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { missingTools } from '../tools/clang.mjs';
import { buildTarget } from '../tools/compile.mjs';
import { buildHostProgram, HOST_PROGRAMS, runHostProgram } from '../tools/host-tests.mjs';
import { hostTarget, packageRoot } from '../tools/targets.mjs';

describe.skipIf(missingTools() !== null)('the stand-in for Metal', { timeout: 120_000 }, () => {
  const program = HOST_PROGRAMS.find(({ name }) => name === 'stand-in for Metal')!;
  let cache = '';
  let file = '';

  beforeAll(async () => {
    cache = temporaryFolder();
    const built = await buildHostProgram(program, 'plain');
    expect(built.error).toBeNull();
    file = built.file;
  }, 300_000);

  it.each(program.environments)('passes its host tests $name, and leaves no object alive', ({ env }) => {
    const result = runHostProgram(program, file, { METAL_SIM_CACHE: cache, ...env });
    expect(result.isOk, result.output).toBe(true);
  });

  it('ends the process on API misuse if requested, as Metal does', () => {
    const env = { ...process.env, METAL_SIM_CACHE: cache, METAL_SIM_VALIDATION: 'abort' };
    expect(spawnSync(file, [], { env }).signal).toBe('SIGABRT');
  });

  it('runs the sample host unchanged', async () => {
    const sample = hostTarget(path.join(packageRoot, 'sample/host.mm'), 'plain');
    expect((await buildTarget(sample)).message).toBe('');
    const env = { ...process.env, METAL_SIM_CACHE: cache };
    const file = path.join(packageRoot, 'sample/sum.metal');
    const done = spawnSync(sample.output, [file], { encoding: 'utf8', env });
    expect(done.stderr).toBe('');
    expect(done.stdout).toBe('32896 98432 163968 205204\n');
  });
});
