#!/usr/bin/env bash
# What the build and all tests need on Debian: compilers, a browser, a cross compiler with an emulator, and clang for the simulator.
set -euo pipefail
apt-get update -qq
apt-get install -y -qq --no-install-recommends cmake make g++ ccache chromium g++-aarch64-linux-gnu qemu-user
# Debian 12 has no clang 19: without it, tests of the Metal and CUDA backends are skipped and counted.
apt-get install -y -qq --no-install-recommends clang-19 libclang-rt-19-dev llvm-19 lld-19 clang-format-19 || true
