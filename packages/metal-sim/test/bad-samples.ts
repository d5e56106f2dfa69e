/** A kernel that Metal's compiler rejects, and words of the reason that the strict front end must give. */
export interface BadSample {
  name: string;
  source: string;
  reason: RegExp;
}

/** Statements in a kernel with buffers in every address space. */
function body(statements: string): string {
  return `kernel void k(device float* out [[buffer(0)]], device const float* in [[buffer(1)]],
    constant int& n [[buffer(2)]], threadgroup float* shared [[threadgroup(0)]], uint i [[thread_position_in_grid]]) {
    ${statements}
  }`;
}

const kernelWith = (parameters: string) => `kernel void k(${parameters}) {}`;

export const badSamples: BadSample[] = [
  {
    name: 'device pointer as threadgroup pointer',
    source: body('threadgroup float* p = out; p[0] = 1.0f;'),
    reason: /'threadgroup float.*'device float/,
  },
  {
    name: 'threadgroup pointer as device pointer',
    source: body('device float* p = shared; p[0] = 1.0f;'),
    reason: /'device float.*'threadgroup float/,
  },
  {
    name: 'cast between address spaces',
    source: body('thread float* p = (thread float*)out; p[0] = 1.0f;'),
    reason: /address space/,
  },
  {
    name: 'static_cast between address spaces',
    source: body('threadgroup float* p = static_cast<threadgroup float*>(out);'),
    reason: /static_cast/,
  },
  {
    name: 'write to constant memory',
    source: `constant float table[2] = {1.0f, 2.0f};\n${body('table[0] = in[0];')}`,
    reason: /const|address space|assign/,
  },
  { name: 'write through a constant reference', source: body('n = 3;'), reason: /const|assign/ },
  { name: 'write to const device memory', source: body('in[0] = 1.0f;'), reason: /read-only|const/ },
  { name: 'double', source: body('double x = 1.0; out[0] = float(x);'), reason: /double/ },
  {
    name: 'virtual function',
    source: `struct S { virtual float f() { return 1.0f; } };\n${body('')}`,
    reason: /virtual/,
  },
  { name: 'new', source: body('thread float* p = new float[4];'), reason: /allocation/ },
  { name: 'delete', source: body('delete out;'), reason: /allocation/ },
  {
    name: 'function pointer',
    source: `float f(float x) { return x; }\n${body('float (*g)(float) = f; out[0] = g(1.0f);')}`,
    reason: /pointers? to function/,
  },
  { name: 'static local', source: body('static int count = 0; out[0] = count;'), reason: /static/ },
  {
    name: 'atomic function on plain memory',
    source: `kernel void k(device uint* c [[buffer(0)]]) { atomic_fetch_add_explicit(c, 1u, memory_order_relaxed); }`,
    reason: /no matching function/,
  },
  {
    name: 'plain arithmetic on an atomic',
    source: `kernel void k(device atomic_uint* c [[buffer(0)]]) { c[0] += 1u; }`,
    reason: /invalid operands|no viable/,
  },
  { name: 'min of two types', source: body('out[0] = min(in[0], 1);'), reason: /ambiguous/ },
  { name: 'max of signed and unsigned', source: body('out[0] = float(max(i, n));'), reason: /ambiguous/ },
  {
    name: 'pointer without an address space',
    source: `float f(float* p) { return p[0]; }\n${body('')}`,
    reason: /address space/,
  },
  {
    name: 'reference without an address space',
    source: `void f(float& x) { x = 1.0f; }\n${body('')}`,
    reason: /address space/,
  },
  {
    name: 'member pointer without an address space',
    source: `struct S { const float* p; };\n${body('')}`,
    reason: /address space/,
  },
  {
    name: 'recursion',
    source: `int f(int k) { return k < 2 ? 1 : k * f(k - 1); }\n${body('out[0] = f(n);')}`,
    reason: /recursion/,
  },
  {
    name: 'recursion by way of another function',
    source: `int g(int k);\nint f(int k) { return g(k); }\nint g(int k) { return k < 1 ? 0 : f(k - 1); }\n${body('out[0] = f(n);')}`,
    reason: /recursion/,
  },
  { name: 'goto', source: body('again: out[0] = 1.0f; if (in[0] > 0.0f) goto again;'), reason: /goto/ },
  { name: 'lambda', source: body('auto f = [](float x) { return x; }; out[0] = f(1.0f);'), reason: /lambda/ },
  {
    name: 'buffer index twice',
    source: kernelWith('device float* a [[buffer(0)]], device float* b [[buffer(0)]]'),
    reason: /two parameters have index 0/,
  },
  {
    name: 'buffer index beyond 30',
    source: kernelWith('device float* a [[buffer(31)]]'),
    reason: /expected 0 to 30/,
  },
  {
    name: 'parameter without an attribute',
    source: kernelWith('device float* a [[buffer(0)]], uint i'),
    reason: /attribute/,
  },
  {
    name: 'buffer in thread memory',
    source: kernelWith('thread float* a [[buffer(0)]]'),
    reason: /device nor constant/,
  },
  {
    name: 'threadgroup index on device memory',
    source: kernelWith('device float* a [[threadgroup(0)]]'),
    reason: /no threadgroup memory/,
  },
  {
    name: 'kernel that returns a value',
    source: 'kernel float k(device float* a [[buffer(0)]]) { return a[0]; }',
    reason: /expected void/,
  },
  { name: 'exception', source: body('throw 1;'), reason: /exceptions/ },
  {
    name: 'C++ standard library',
    source: body('out[0] = std::max(1.0f, 2.0f);'),
    reason: /standard library/,
  },
  { name: 'standard header', source: `#include <cmath>\n${body('')}`, reason: /not found/ },
  {
    name: 'threadgroup variable with a value',
    source: body('threadgroup float x = 1.0f; out[0] = x;'),
    reason: /initialised/,
  },
  {
    name: 'threadgroup variable outside of a kernel',
    source: `float f() { threadgroup float x[4]; return x[0]; }\n${body('')}`,
    reason: /belongs in a kernel/,
  },
  { name: 'variable at program scope', source: `int counter = 0;\n${body('')}`, reason: /constant memory/ },
  {
    name: 'variable-length array',
    source: body('float x[n]; x[0] = 1.0f; out[0] = x[0];'),
    reason: /not a constant expression/,
  },
  {
    name: 'type name as a variable',
    source: body('uint half = 4; out[0] = half;'),
    reason: /declaration specifier|unqualified/,
  },
  {
    name: 'vector of too few elements',
    source: body('float4 v = float4(1.0f, 2.0f); out[0] = v.x;'),
    reason: /as many elements/,
  },
  {
    name: 'vector of another element type',
    source: body('int4 a = int4(1); float4 b = a; out[0] = b.x;'),
    reason: /cannot initialize|no viable|incompatible/,
  },
  {
    name: 'as_type of another size',
    source: body('out[0] = as_type<float>(half(1.0h));'),
    reason: /same size/,
  },
  {
    name: 'barrier without flags',
    source: body('threadgroup_barrier();'),
    reason: /no matching function|too few/,
  },
  {
    name: 'simdgroup function on a structure',
    source: `struct S { float x; };\n${body('S s = {1.0f}; s = simd_sum(s);')}`,
    reason: /no matching function/,
  },
  { name: 'simdgroup matrix of 4 by 4', source: body('simdgroup_matrix<float, 4, 4> m;'), reason: /8 by 8/ },
  {
    name: 'simdgroup matrix loaded from thread memory',
    source: body('float x[64]; simdgroup_float8x8 m; simdgroup_load(m, x);'),
    reason: /no matching function/,
  },
  {
    name: 'two kernels of one name',
    source: `${kernelWith('device float* a [[buffer(0)]]')}\n${kernelWith('device float* a [[buffer(0)]], device float* b [[buffer(1)]]')}`,
    reason: /overloads/,
  },
  {
    name: 'instantiation without a name',
    source:
      'template <typename T> kernel void k(device T* a [[buffer(0)]]) { a[0] = T(0); }\ntemplate kernel void k<float>(device float*);',
    reason: /host_name/,
  },
  {
    name: 'vector cast in C style',
    source: body('int4 a = int4(1); float4 b = (float4)a; out[0] = b.x;'),
    reason: /C style/,
  },
  { name: 'function that is not declared', source: body('out[0] = erf(in[0]);'), reason: /undeclared/ },
];
