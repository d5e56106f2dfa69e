"""Measurements of the driver alone, through ctypes: copy rates, and the load time and registers of a PTX text.

usage: driver.py bandwidth | driver.py load FILE.ptx     (one line of JSON)
"""

import ctypes
import json
import os
import re
import sys
import time

cuda = ctypes.CDLL(os.environ.get("MARKBASE_LIBCUDA") or "libcuda.so.1")
GIGABYTE = 1 << 30
REPEATS = 10
# CUfunction_attribute
LOCAL_BYTES, REGISTERS = 3, 4


def call(name, *arguments):
    result = getattr(cuda, name)(*arguments)
    if result != 0:
        text = ctypes.c_char_p()
        cuda.cuGetErrorName(result, ctypes.byref(text))
        raise OSError(f"{name}: {(text.value or b'error').decode()} ({result})")


def open_context():
    device, context = ctypes.c_int(), ctypes.c_void_p()
    call("cuInit", 0)
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxPushCurrent_v2", context)


def seconds_of(work):
    """Seconds of one call on the GPU, by its clock; the first one is not counted."""
    begin, end, stream = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    call("cuStreamCreate", ctypes.byref(stream), 1)
    for event in (begin, end):
        call("cuEventCreate", ctypes.byref(event), 0)
    work(stream)
    call("cuEventRecord", begin, stream)
    for _ in range(REPEATS):
        work(stream)
    call("cuEventRecord", end, stream)
    call("cuEventSynchronize", end)
    milliseconds = ctypes.c_float()
    call("cuEventElapsedTime", ctypes.byref(milliseconds), begin, end)
    return milliseconds.value / 1000 / REPEATS


def bandwidth():
    """Bytes per second; a copy on the GPU counts bytes read and bytes written."""
    open_context()
    size = ctypes.c_size_t(4 * GIGABYTE)
    part = ctypes.c_size_t(GIGABYTE // 4)
    one, two, host = ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_void_p()
    call("cuMemAlloc_v2", ctypes.byref(one), size)
    call("cuMemAlloc_v2", ctypes.byref(two), size)
    call("cuMemAllocHost_v2", ctypes.byref(host), part)
    on_device = seconds_of(lambda stream: call("cuMemcpyDtoDAsync_v2", two, one, size, stream))
    up = seconds_of(lambda stream: call("cuMemcpyHtoDAsync_v2", one, host, part, stream))
    down = seconds_of(lambda stream: call("cuMemcpyDtoHAsync_v2", host, one, part, stream))
    return {"copy": 2 * size.value / on_device, "toDevice": part.value / up, "toHost": part.value / down}


def load(path):
    """Load time of a text in milliseconds, and its kernels that spill."""
    with open(path, "rb") as file:
        text = file.read()
    open_context()
    module = ctypes.c_void_p()
    start = time.perf_counter()
    call("cuModuleLoadDataEx", ctypes.byref(module), text + b"\0", 0, None, None)
    milliseconds = 1000 * (time.perf_counter() - start)
    registers, spills = 0, {}
    names = re.findall(rb"\.visible \.entry (\w+)", text)
    for name in names:
        function, value = ctypes.c_void_p(), ctypes.c_int()
        call("cuModuleGetFunction", ctypes.byref(function), module, name)
        if cuda.cuFuncGetAttribute(ctypes.byref(value), REGISTERS, function) == 0:
            registers = max(registers, value.value)
        value.value = 0
        if cuda.cuFuncGetAttribute(ctypes.byref(value), LOCAL_BYTES, function) == 0 and value.value > 0:
            spills[name.decode()] = value.value
    return {"ms": milliseconds, "kernels": len(names), "registers": registers, "spills": spills}


try:
    print(json.dumps(bandwidth() if sys.argv[1] == "bandwidth" else load(sys.argv[2])))
except (OSError, AttributeError) as error:
    sys.exit(str(error))
