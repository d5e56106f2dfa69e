import { existsSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { missingCudaParts } from './cuda-host.js';

type HostEnvironments = readonly { name: string; env: Record<string, string> }[];

/** packages/metal-sim/tools/host-tests.mjs, which is not a dependency of this package. */
interface HostTests {
  HOST_PROGRAMS: readonly { name: string; isOfBackend: boolean; environments: HostEnvironments }[];
  buildHostProgram(program: object, mode: string): Promise<{ file: string; error: string | null }>;
  runHostProgram(
    program: object,
    file: string,
    env: Record<string, string>,
  ): { isOk: boolean; passed: number; output: string };
}

const tools = fileURLToPath(new URL('../../metal-sim/tools/', import.meta.url));
const { missingTools } = (await import(path.join(tools, 'clang.mjs'))) as {
  missingTools: () => string | null;
};
const hostTests = (await import(path.join(tools, 'host-tests.mjs'))) as HostTests;
const { buildHostProgram, runHostProgram } = hostTests;
const programs = hostTests.HOST_PROGRAMS.filter(({ isOfBackend }) => isOfBackend);
// The addon is built with the same objects; without it, building would take minutes.
const isBuilt = existsSync(fileURLToPath(new URL('../build/markbase-sim.node', import.meta.url)));
const canRun = isBuilt && missingTools() === null && missingCudaParts() === null;

describe.runIf(canRun).each(programs)('the $name when the driver fails', (program) => {
  let file = '';

  beforeAll(async () => {
    const built = await buildHostProgram(program, 'plain');
    expect(built.error).toBeNull();
    file = built.file;
  }, 300_000);

  it.each(program.environments)(
    'gives typed errors and goes on where it can, $name',
    { timeout: 240_000 },
    ({ env }) => {
      const result = runHostProgram(program, file, env);
      expect(result.isOk, result.output).toBe(true);
    },
  );
});
