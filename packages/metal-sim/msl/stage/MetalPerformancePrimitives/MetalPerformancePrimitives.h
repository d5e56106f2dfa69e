#pragma once
// Only for the preprocessor: matmul2d is in msl/include.
#include <metal_tensor>
