#!/bin/sh
# Checks and times `--device cuda` on a machine with an NVIDIA driver and no Node: see README.md in this folder.
# usage: sh bench/h200.sh [options] PART [VARIANT...] ...     (--help lists them)
# H200_BUNDLE: the folder that bench/pack-h200.mjs wrote; H200_WORK: folder to unpack it into and to write models to.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bundle=${H200_BUNDLE:-$here/../h200-bundle}
work=${H200_WORK:-${TMPDIR:-/tmp}/markbase-h200-work}
if [ ! -f "$bundle/run.tar.xz" ]; then
  echo "h200.sh: no run.tar.xz in $bundle: run \`node bench/pack-h200.mjs --out DIR\` on a machine with Node, and set H200_BUNDLE" >&2
  exit 2
fi
stamp=$(cksum <"$bundle/run.tar.xz")
if [ "$(cat "$work/stamp" 2>/dev/null)" != "$stamp" ]; then
  rm -rf "$work/run"
  mkdir -p "$work/run"
  if command -v xz >/dev/null 2>&1; then
    xz -dc "$bundle/run.tar.xz" | tar -C "$work/run" -xf -
  else
    python3 -c 'import lzma, shutil, sys; shutil.copyfileobj(lzma.open(sys.argv[1]), sys.stdout.buffer)' "$bundle/run.tar.xz" |
      tar -C "$work/run" -xf -
  fi
  echo "$stamp" >"$work/stamp"
fi
# Some machines mount the driver here, outside the loader's search path.
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}/usr/local/nvidia/lib64:/usr/local/nvidia/lib"
export H200_ROOT="$here/.." H200_BUNDLE="$bundle" H200_WORK="$work"
exec "$work/run/bin/node" "$work/run/dist/main.mjs" "$@"
