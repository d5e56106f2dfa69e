import { expect, it } from 'vitest';
import { fileNames } from './file-names.mjs';
import { sampleRepository } from './repository.mjs';

it.each([
  'packages/text/src/text-model.ts',
  'packages/text/src/text-model.test.ts',
  'packages/text/src/text-model.golden.test.ts',
  'packages/text/tsup.config.ts',
  'apps/playground/src/page.tsx',
  'tools/check-packages.mjs',
  'packages/metal-runtime/native/ops/rms_norm.cc',
  'packages/metal-runtime/kernels/rms_norm.metal',
  'packages/metal-runtime/native/backends/metal/metal_device.mm',
  'packages/metal-sim/msl/stage/MetalPerformancePrimitives/MetalPerformancePrimitives.h',
  'docs/decisions/2026-01-01-a-Decision.md',
])('accepts %s', (file) => {
  expect(fileNames.check(sampleRepository({ [file]: '' }))).toEqual([]);
});

it.each([
  'packages/text/src/TextModel.ts',
  'packages/text/src/text_model.ts',
  'packages/metal-runtime/native/ops/rms-norm.cc',
  'packages/metal-runtime/native/ops/RmsNorm.h',
  'packages/metal-runtime/native/ops/rms_norm.cpp',
  'tools/build.js',
])('rejects %s', (file) => {
  expect(fileNames.check(sampleRepository({ [file]: '' }))).toEqual([expect.stringContaining(file)]);
});
