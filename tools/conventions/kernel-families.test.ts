import { describe, expect, it } from 'vitest';
import { familiesOf, kernelFamilies } from './kernel-families.mjs';
import { sampleRepository } from './repository.mjs';

const RUNTIME = 'packages/metal-runtime';
const complete: Record<string, string> = {
  [`${RUNTIME}/kernels/scalar_type.h`]: '',
  [`${RUNTIME}/kernels/rms_norm_params.h`]: '',
  [`${RUNTIME}/src/ops/rms-norm.ts`]: '',
  [`${RUNTIME}/native/ops/rms_norm.cc`]: '',
  [`${RUNTIME}/native/backends/cpu/kernels/rms_norm.cc`]: '',
  [`${RUNTIME}/conformance/rms-norm.ts`]: '',
};

describe('kernel-families', () => {
  it('accepts a complete family and takes shared headers for none', () => {
    const repository = sampleRepository(complete);
    expect(familiesOf(repository)).toEqual(['rms_norm']);
    expect(kernelFamilies.check(repository)).toEqual([]);
  });

  it.each(Object.keys(complete).slice(2))('rejects a family without %s', (member) => {
    const { [member]: _, ...rest } = complete;
    const name = member.slice(RUNTIME.length + 1);
    expect(kernelFamilies.check(sampleRepository(rest))).toEqual([expect.stringContaining(name)]);
  });

  it('accepts a family that only the recorder makes', () => {
    const { [`${RUNTIME}/src/ops/rms-norm.ts`]: _, ...rest } = complete;
    const repository = sampleRepository({
      ...rest,
      [`${RUNTIME}/src/recorder/fuse.ts`]: `emit('rms_norm');`,
    });
    expect(kernelFamilies.check(repository)).toEqual([]);
  });

  it('accepts cases in the file of a relative', () => {
    const { [`${RUNTIME}/conformance/rms-norm.ts`]: _, ...rest } = complete;
    const cases = "export const rmsNorm = {\n  name: 'rms_norm',\n};\n";
    const repository = sampleRepository({ ...rest, [`${RUNTIME}/conformance/norms.ts`]: cases });
    expect(kernelFamilies.check(repository)).toEqual([]);
  });
});
