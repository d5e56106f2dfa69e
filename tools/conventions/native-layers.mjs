import { eachLine } from './repository.mjs';

const NATIVE = 'packages/metal-runtime/native/';
const KERNELS = 'packages/metal-runtime/kernels/';
const FAMILIES = 'packages/metal-runtime/families/';
const NODE_API = /^(?:napi|napi-inl|node_api|js_native_api|node|v8|uv)\.h$/;
const APPLE = /^(?:Metal|Foundation|CoreFoundation|IOKit|MetalPerformanceShaders)\//;

/** Kernel sources: shared code, and the parameters and kernels of families. */
const KERNEL_LAYERS = ['kernels', 'families'];

/** Layers that a layer may include, besides itself and the standard library. @type {Record<string, readonly string[]>} */
const MAY_INCLUDE = {
  kernels: [],
  // By the role of a file: `check.cc` for the binding, `cpu*` for the CPU, `plan*` for every kind of GPU; all others are kernels.
  families: ['kernels'],
  'families (check)': ['device', 'ops', ...KERNEL_LAYERS],
  'families (cpu)': ['device', ...KERNEL_LAYERS, 'backends/cpu'],
  'families (plan)': ['device', ...KERNEL_LAYERS, 'backends/gpu'],
  device: [],
  ops: ['device', ...KERNEL_LAYERS],
  'backends/cpu': ['device', 'kernels'],
  // Plans of steps, for every kind of GPU.
  'backends/gpu': ['device', ...KERNEL_LAYERS, 'families (plan)'],
  'backends/metal': ['device', 'kernels', 'backends/gpu'],
  'backends/cuda': ['device', 'kernels', 'backends/gpu', 'families (plan)'],
  // The list of backends, the only file that knows all of them.
  backends: ['device', 'backends/cpu', 'backends/gpu', 'backends/metal', 'backends/cuda'],
  binding: ['device', 'ops', 'kernels', 'backends'],
};

/** Each layer of the addon includes only layers below it. @type {import('./repository.mjs').Rule} */
export const nativeLayers = {
  name: 'native-layers',
  check(repository) {
    const sources = repository.files.filter(
      (file) =>
        [NATIVE, KERNELS, FAMILIES].some((folder) => file.startsWith(folder)) &&
        /\.(?:cc|h|mm|metal)$/.test(file),
    );
    /** @type {string[]} */
    const findings = [];
    for (const file of sources) {
      const layer = layerOf(file);
      if (layer === null) continue;
      if (file.endsWith('.mm') && layer !== 'backends/metal') {
        findings.push(`${file}: Objective-C++ belongs in native/backends/metal`);
      }
      eachLine(repository.text(file), (line, number) => {
        const include = /^\s*#\s*(?:include|import)\s*[<"]([^>"]+)[>"]/.exec(line)?.[1];
        const problem = include === undefined ? null : problemWith(include, file, layer, sources);
        if (problem) findings.push(`${file}:${number}: ${problem}`);
      });
    }
    return findings;
  },
};

/**
 * @param {string} include
 * @param {string} file
 * @param {string} layer
 * @param {string[]} sources
 * @returns {string | null}
 */
function problemWith(include, file, layer, sources) {
  if (KERNEL_LAYERS.includes(layer) && file.endsWith('.h') && include !== 'stdint.h') {
    return `<${include}>: a parameter header includes only <stdint.h>, because it is also compiled for GPUs`;
  }
  if (NODE_API.test(include) && layer !== 'binding') return `<${include}>: only binding/ knows Node`;
  if (APPLE.test(include) && layer !== 'backends/metal')
    return `<${include}>: only backends/metal knows Apple`;
  // Includes are written as file names or as paths below an include folder.
  const ending = `/${include.replace(/^(?:\.\.?\/)+/, '')}`;
  const beside = file.slice(0, file.lastIndexOf('/')) + ending;
  const targets = sources.includes(beside) ? [beside] : sources.filter((source) => source.endsWith(ending));
  const layers = targets.map(layerOf).filter((target) => target !== null);
  if (layers.length === 0 || layers.includes(layer)) return null;
  const allowed = MAY_INCLUDE[layer] ?? [];
  if (layers.some((target) => allowed.includes(target))) return null;
  return `"${include}" is part of ${layers[0]}/, which ${layer}/ may not include`;
}

/**
 * @param {string} file
 * @returns {string | null} Null for tests, which may include anything.
 */
function layerOf(file) {
  if (file.startsWith(KERNELS)) return 'kernels';
  if (file.startsWith(FAMILIES)) {
    const role = /\/(check|cpu|plan)(?:_\w+)?\.(?:cc|h)$/.exec(file)?.[1];
    return role === undefined ? 'families' : `families (${role})`;
  }
  const match = /^(device|ops|binding|backends(?:\/(?:cpu|gpu|metal|cuda)(?=\/))?)\//.exec(
    file.slice(NATIVE.length),
  );
  return match?.[1] ?? null;
}
