import path from 'node:path';
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
  [`${NATIVE}/backends/gpu/step_planner.h`]: '#pragma once\n#include "device.h"\n',
  'packages/metal-runtime/kernels/launch.h': '#pragma once\n#include <stdint.h>\n',
  'packages/metal-runtime/families/linear/linear_params.h': '#pragma once\n#include <stdint.h>\n',
  'packages/metal-runtime/families/linear/cpu_rows.h': '#pragma once\n',
};

function check(file: string, source: string): string[] {
  return nativeLayers.check(sampleRepository({ ...tree, [file]: source }));
}

describe('native-layers', () => {
  it.each([
    ['ops/linear.cc', '#include "lower.h"\n#include "linear_params.h"\n#include "device.h"\n'],
    ['backends/cpu/thread_pool.cc', '#include "cpu_device.h"\n#include "../../../kernels/launch.h"\n'],
    ['binding/addon.cc', '#include <napi.h>\n#include "open_device.h"\n#include "lower.h"\n'],
    ['backends/metal/metal_device.mm', '#import <Metal/Metal.h>\n#include "device.h"\n'],
    ['../families/linear/cpu.cc', '#include "cpu_device.h"\n#include "linear_params.h"\n'],
    ['../families/linear/check.cc', '#include "lower.h"\n#include "linear_params.h"\n'],
    ['../families/linear/plan.cc', '#include "step_planner.h"\n#include "linear_params.h"\n'],
    ['../families/linear/linear.metal', '#include "launch.h"\n#include "linear_params.h"\n'],
    ['../families/moe/moe.metal', '#include "linear/linear_params.h"\n'],
    ['test/linear_core_test.cc', '#include "cpu_device.h"\n'],
  ])('accepts %s', (file, source) => {
    expect(check(path.posix.join(NATIVE, file), source)).toEqual([]);
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
    ['backends/cpu/rows.h', '#include "linear/linear_params.h"', 'part of families/'],
    ['../kernels/launch.h', '#include <cstdint>', 'only <stdint.h>'],
    ['../kernels/norm.metal', '#include "linear/linear_params.h"', 'part of families/'],
    ['../families/rope/rope_params.h', '#include <cstdint>', 'only <stdint.h>'],
    ['../families/rope/cpu.cc', '#include "step_planner.h"', 'part of backends/gpu/'],
    ['../families/rope/plan.cc', '#include "cpu_device.h"', 'part of backends/cpu/'],
    ['../families/rope/plan.cc', '#include "linear/cpu_rows.h"', 'part of families (cpu)/'],
    ['../families/rope/check.cc', '#include "step_planner.h"', 'part of backends/gpu/'],
    ['../families/rope/rope.metal', '#include "device.h"', 'part of device/'],
  ])('rejects in %s: %s', (file, source, message) => {
    expect(check(path.posix.join(NATIVE, file), source)).toEqual([expect.stringContaining(message)]);
  });
});
