#!/usr/bin/env bash
# A CUDA 13.0 compiler and libraries without root and without a GPU: enough to build and link
# `--features cuda`. The folder is git-ignored and can be deleted at any time.
#
#   scripts/cuda-toolkit.sh [FOLDER]                  installs into FOLDER (default .cuda), prints the exports
#   eval "$(scripts/cuda-toolkit.sh --env [FOLDER])"  sets them in this shell
set -euo pipefail
cd "$(dirname "$0")/.."

env_only=
if [ "${1:-}" = --env ]; then env_only=1; shift; fi
case $#${1:-} in
  0 | 1[!-]*) ;;
  *) echo "scripts/cuda-toolkit.sh: expected [--env] [FOLDER], found '$*'" >&2; exit 2 ;;
esac
dir=$(realpath -m "${1:-.cuda}")

# nvvm and crt are pinned beside nvcc: a newer one of either does not match it.
packages=(
  "cuda-toolkit[nvcc,cudart,cccl,nvrtc,cublas,curand,nvtx]==13.0.2"
  nvidia-nvvm==13.0.88
  nvidia-cuda-crt==13.0.88
)

toolkit() { find "$dir/venv/lib" -maxdepth 4 -type d -path '*/nvidia/cu13' 2>/dev/null | head -1; }

install() {
  python3 -m venv "$dir/venv"
  "$dir/venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
  local lib so
  lib=$(toolkit)/lib
  for so in "$lib"/lib*.so.*; do
    ln -sf "$(basename "$so")" "${so%%.so.*}.so" # the linker looks for libX.so
  done
  stub_libcuda "$lib/stubs"
  touch "$dir/complete"
}

# libcuda comes with the driver. A machine without one links against a stub that defines every driver
# function of cuda.h and of cudarc's bindings; calling one returns CUDA_ERROR_UNKNOWN.
stub_libcuda() {
  local names
  names=$(mktemp)
  mkdir -p "$1"
  cargo fetch --quiet --locked
  grep -rhoE '\bcu[A-Z][A-Za-z0-9_]+' "$(toolkit)/include/cuda.h" \
    "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/cudarc-*/src/driver |
    grep -vE '_(st|enum)$' | sort -u >"$names"
  sed 's/.*/int &(void) { return 999; }/' "$names" |
    cc -w -shared -fPIC -Wl,-soname,libcuda.so.1 -o "$1/libcuda.so" -x c -
  ln -sf libcuda.so "$1/libcuda.so.1"
  rm -f "$names"
}

if [ -z "$env_only" ] && [ ! -e "$dir/complete" ]; then install >&2; fi
if [ ! -e "$dir/complete" ]; then
  echo "$dir: expected a toolkit, found none: run scripts/cuda-toolkit.sh first" >&2
  exit 2
fi
root=$(toolkit)
root=$(printf %q "$root")
echo "export CUDA_HOME=$root"
echo "export PATH=$root/bin:\"\$PATH\""
echo "export LIBRARY_PATH=$root/lib:$root/lib/stubs\"\${LIBRARY_PATH:+:\$LIBRARY_PATH}\""
# A program finds the libraries by this; the driver's own comes from the system.
echo "export LD_LIBRARY_PATH=$root/lib\"\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}\""
# candle's kernels are compiled for the first GPU here; without one, for Hopper.
capability=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -1 | tr -dc 0-9 || true)
echo "export CUDA_COMPUTE_CAP=\${CUDA_COMPUTE_CAP:-${capability:-90}}"
