"""The peer of loader-convert.mjs: affine quantisation (4 bits, groups of 64) of a bfloat16 file with numpy, one thread.

Reads every matrix of a safetensors file, quantises it by the formula of the MLX layout, and writes codes, scales and
biases one after the other. Prints megabytes of input per second of wall time and of processor time.
"""

import json
import os
import struct
import sys
import time

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

GROUP = 64
LEVELS = 15


def to_bfloat16(values):
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def quantize(values):
    groups = values.reshape(-1, GROUP)
    low = groups.min(axis=1)
    high = groups.max(axis=1)
    scale = np.maximum((high - low) / np.float32(LEVELS), np.float32(1e-7))
    is_low = np.abs(low) > np.abs(high)
    scale = np.where(is_low, scale, -scale)
    edge = np.where(is_low, low, high)
    code = np.rint(edge / scale)
    is_met = code != 0
    scale = np.where(is_met, edge / np.where(is_met, code, 1), scale).astype(np.float32)
    bias = np.where(is_met, edge, 0).astype(np.float32)
    codes = np.clip(np.rint((groups - bias[:, None]) / scale[:, None]), 0, LEVELS).astype(np.uint8)
    return codes[:, 0::2] | (codes[:, 1::2] << 4), to_bfloat16(scale), to_bfloat16(bias)


def main(source, target):
    total = 0
    wall = time.perf_counter()
    core = time.process_time()
    with open(source, "rb") as file, open(target, "wb") as out:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        for name, entry in header.items():
            if name == "__metadata__":
                continue
            begin, end = entry["data_offsets"]
            file.seek(8 + length + begin)
            halves = np.frombuffer(file.read(end - begin), dtype=np.uint16)
            total += end - begin
            for part in quantize((halves.astype(np.uint32) << 16).view(np.float32)):
                out.write(part.tobytes())
        os.fsync(out.fileno())
    megabytes = total / 1e6
    wall = time.perf_counter() - wall
    core = time.process_time() - core
    print(json.dumps({"wall": megabytes / wall, "core": megabytes / core}))


main(*sys.argv[1:])
