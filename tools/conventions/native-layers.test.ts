import { describe, expect, it } from 'vitest';
import { nativeLayers } from './native-layers.mjs';
import { sampleRepository } from './repository.mjs';

const NATIVE = 'packages/metal-runtime/native';
const tree = {
  [`${NATIVE}/device/device.h`]: '#pragma once\n#include <string>\n',
  [`${NATIVE}/ops/lower.h`]: '#pragma once\n#include "device.h"\n',
  [`${NATIVE}/backends/cpu/cpu_device.h`]: '#pragma once\n#include "device/device.h"\n',
  [`${NATIVE}/backends/open_device.cc`]: '#include "cpu/cpu_device.h"\n#include "device.h"\n',
  [`${NATIVE}/backends/open_device.h`]: '#pragma once\n#include "device.h"\n',
  'packages/metal-runtime/kernels/linear_params.h': '#pragma once\n#include <stdint.h>\n',
};

function check(file: string, source: string): string[] {
  return nativeLayers.check(sampleRepository({ ...tree, [file]: source }));
}

describe('native-layers', () => {
  it.each([
    ['ops/linear.cc', '#include "lower.h"\n#include "linear_params.h"\n#include "device.h"\n'],
    ['backends/cpu/thread_pool.cc', '#include "cpu_device.h"\n#include "../../../kernels/linear_params.h"\n'],
    ['binding/addon.cc', '#include <napi.h>\n#include "open_device.h"\n#include "lower.h"\n'],
    ['backends/metal/metal_device.mm', '#import <Metal/Metal.h>\n#include "device.h"\n'],
    ['test/linear_core_test.cc', '#include "cpu_device.h"\n'],
  ])('accepts %s', (file, source) => {
    expect(check(`${NATIVE}/${file}`, source)).toEqual([]);
  });

  it.each([
    ['device/step.h', '#include <node_api.h>', 'only binding/ knows Node'],
    ['device/step.h', '#include "cpu_device.h"', 'part of backends/cpu/'],
    ['ops/linear.cc', '#include <napi.h>', 'only binding/ knows Node'],
    ['ops/linear.cc', '#include "cpu_device.h"', 'part of backends/cpu/'],
    ['binding/addon.cc', '#include "cpu_device.h"', 'part of backends/cpu/'],
    ['backends/cuda/cuda_device.cc', '#include "cpu_device.h"', 'part of backends/cpu/'],
    ['backends/cpu/apple.cc', '#import <Metal/Metal.h>', 'only backends/metal knows Apple'],
    ['backends/cpu/apple.mm', '#include "device.h"', 'Objective-C++ belongs'],
    ['../kernels/rope_params.h', '#include <cstdint>', 'only <stdint.h>'],
  ])('rejects in %s: %s', (file, source, message) => {
    const resolved = file.startsWith('../') ? `packages/metal-runtime/${file.slice(3)}` : `${NATIVE}/${file}`;
    expect(check(resolved, source)).toEqual([expect.stringContaining(message)]);
  });
});
