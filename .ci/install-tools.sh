#!/usr/bin/env bash
# Everything except Node that the build and all tests need, on Debian 12 or newer: `bash .ci/install-tools.sh [--build]`.
# With --build: only what the addon and the kernels of a release are built with. Uses sudo unless it runs as root.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive

as_root=()
[ "$(id -u)" -eq 0 ] || as_root=(sudo --preserve-env=DEBIAN_FRONTEND)

# cmake, make and g++ build the addon; with libc++ and the old glibc of a Debian archive, clang builds the one that is published.
tools=(binutils ca-certificates cmake g++ git make clang-19 libc++-19-dev libc++abi-19-dev lld-19)
if [ "${1:-}" != --build ]; then
  # What decodes videos and compressed sounds.
  tools+=(ffmpeg)
  # The simulators with their sanitizers, the style of C++, and a browser for the page and the loader.
  tools+=(libclang-rt-19-dev llvm-19 clang-format-19 chromium)
  # On x86-64, the ARM64 code is cross-compiled and runs in an emulator.
  [ "$(uname -m)" != x86_64 ] || tools+=(g++-aarch64-linux-gnu qemu-user)
fi

"${as_root[@]}" apt-get update -qq
"${as_root[@]}" apt-get install -y -qq --no-install-recommends "${tools[@]}" >/dev/null
