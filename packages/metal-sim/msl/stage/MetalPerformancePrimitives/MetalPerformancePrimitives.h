#pragma once
// Seen by the preprocessor only: matmul2d comes with msl/include.
#include <metal_tensor>
