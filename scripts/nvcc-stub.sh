#!/usr/bin/env bash
# Stands in for nvcc where code behind `--features cuda` is only linted: it writes empty files, because candle's CUDA
# kernels take 6 minutes to compile and nothing looks at them.
#
#   NVCC=$PWD/scripts/nvcc-stub.sh CUDARC_CUDA_VERSION=13000 CUDA_COMPUTE_CAP=90 cargo clippy --features cuda
set -euo pipefail
case " $* " in *" --version "*) echo "Cuda compilation tools, release 13.0, V13.0.88" ;; esac
while [ $# -gt 0 ]; do
  case $1$# in
    -o1 | --output-directory1) echo "nvcc-stub.sh: $1: expected a path, found nothing" >&2; exit 2 ;;
  esac
  case $1 in
    -o) : >"$2" ;;
    --output-file=*) : >"${1#*=}" ;;
    --output-directory) out=$2 ;;
    *.cu) source=$1 ;;
  esac
  shift
done
[ -z "${out:-}" ] || : >"$out/$(basename "${source%.cu}").ptx"
