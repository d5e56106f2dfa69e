import { describe, expect, it } from 'vitest';
import { familiesOf, kernelFamilies } from './kernel-families.mjs';
import { sampleRepository } from './repository.mjs';

const FAMILY = 'packages/metal-runtime/families/rms_norm';
const complete: Record<string, string> = {
  'packages/metal-runtime/kernels/scalar_type.h': '',
  [`${FAMILY}/rms_norm_params.h`]: '',
  [`${FAMILY}/rms_norm.metal`]: '',
  [`${FAMILY}/node.ts`]: "import { strideOf } from '../../src/recorder/values.js';\n",
  [`${FAMILY}/oracle.ts`]: "import { normalArray } from '../../conformance/random.js';\n",
  [`${FAMILY}/oracle.test.ts`]: "import { testFamily } from '../../test/test-family.js';\n",
  [`${FAMILY}/cpu.cc`]: '',
  [`${FAMILY}/plan.cc`]: '',
};

describe('kernel-families', () => {
  it('accepts a complete family, and more kernels, plans and cases', () => {
    const more = ['check.cc', 'rms_norm_pair_nvidia.metal', 'cpu_rows.h', 'plan_wide.cc', 'oracle-case.ts'];
    const repository = sampleRepository({
      ...complete,
      ...Object.fromEntries(more.map((name) => [`${FAMILY}/${name}`, ''])),
    });
    expect(familiesOf(repository)).toEqual(['rms_norm']);
    expect(kernelFamilies.check(repository)).toEqual([]);
  });

  it.each(Object.keys(complete).slice(1))('rejects a family without %s', (member) => {
    const { [member]: _, ...rest } = complete;
    expect(kernelFamilies.check(sampleRepository(rest))).toEqual([`${member}: every family has one`]);
  });

  it.each([`${FAMILY}/notes.txt`, `${FAMILY}/cpu/rows.h`, 'packages/metal-runtime/families/list.h'])(
    'rejects %s',
    (file) => {
      const repository = sampleRepository({ ...complete, [file]: '' });
      expect(kernelFamilies.check(repository)).toEqual([expect.stringContaining(`${file}: `)]);
    },
  );

  it.each([
    ['node.ts', '../../conformance/random.js'],
    ['node.ts', '../rope/oracle.js'],
    ['oracle.ts', '../rope/node.js'],
    ['oracle.ts', '../../test/cuda-host.js'],
  ])('rejects an import in %s of %s', (name, specifier) => {
    const text = `import { a } from '${specifier}';\n`;
    const repository = sampleRepository({ ...complete, [`${FAMILY}/${name}`]: text });
    expect(kernelFamilies.check(repository)).toEqual([expect.stringContaining(`which ${name} may not`)]);
  });
});
