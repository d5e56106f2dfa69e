import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { FAMILIES } from '../conformance/index.js';
import { metalFiles, sourceName } from '../scripts/kernel-files.mjs';
import { cudaKernels, isOverStandIn, openCuda } from './cuda-host.js';
import { plannedKernels } from './planned-kernels.js';

interface KernelTable {
  sources: Record<string, Record<string, { architectures?: string[] }>>;
}

/**
 * Kernels that cuda-tiles.test.ts runs by name: only large grids reach the first ones; this test covers `each8` with 8
 * bits.
 */
const BY_NAME =
  /^linear_(?:warpgroup|batch|wide128x128|wide64x128|wide_add(?:128|192|256))|^linear_cores_each8_q[246]$/;

const ofMetal = new Set(metalFiles().map(sourceName));
/** The stand-in imitates the GPU that a test needs. */
const probe = await openCuda();
probe?.dispose();
const isPlayable = probe !== null && isOverStandIn();
const { sources }: KernelTable = isPlayable
  ? JSON.parse(readFileSync(path.join(cudaKernels, 'kernels.json'), 'utf8'))
  : { sources: {} };

/** Every kernel that the conformance cases are planned with on the imitated GPU. */
async function plannedOn(environment: Record<string, string>): Promise<Set<string>> {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  using device = (await openCuda())!;
  vi.unstubAllEnvs();
  const cases = FAMILIES.flatMap((family) => family.cases);
  const planned = (['high', 'fast'] as const).flatMap((precision) =>
    cases.flatMap((test) => plannedKernels(device, test, precision, [300, 5000])),
  );
  return new Set(planned);
}

let ofOlder: Promise<Set<string>> | undefined;
/** The same on a GPU without warpgroup products, which has its own kernels for 17 to 32 rows. */
const plannedOnOlder = () => {
  ofOlder ??= plannedOn({ CUDA_SIM_CAPABILITY: '80' });
  return ofOlder;
};

describe.runIf(isPlayable)('plans of the conformance cases on cuda', { timeout: 120_000 }, () => {
  it('reach every kernel that only NVIDIA GPUs have', async () => {
    const planned = new Set(await plannedOnOlder());
    for (const count of ['2', '132']) {
      for (const kernel of await plannedOn({ CUDA_SIM_MULTIPROCESSORS: count })) planned.add(kernel);
    }
    const own = Object.entries(sources).filter(([name]) => !ofMetal.has(name));
    const kernels = own.flatMap(([, table]) => Object.keys(table));
    expect(kernels.length).toBeGreaterThan(100);
    expect(kernels.filter((kernel) => !planned.has(kernel) && !BY_NAME.test(kernel))).toEqual([]);
  });

  it('name no kernel of newer GPUs', async () => {
    const planned = await plannedOnOlder();
    const tables: KernelTable['sources'][string] = Object.assign({}, ...Object.values(sources));
    const isMissing = (kernel: string) => !tables[kernel] || tables[kernel].architectures !== undefined;
    expect([...planned].filter(isMissing)).toEqual([]);
    expect(planned.size).toBeGreaterThan(100);
  });
});
