#!/usr/bin/env bash
# Runs what scripts/gpu-bundle.sh packed, on a machine with a GPU and its driver: no Rust is needed.
#
#   run.sh test [FILTER]     run.sh sanitize [FILTER]
#   run.sh bench [FILTER]    run.sh workbook ARGUMENTS
#   run.sh counters OUT      (needs Nsight Compute, and permission to read counters)
#
# The CUDA 13 libraries (cublas, curand, cudart) come from $CANDLEPOWER_CUDA_LIB, from the loader's own
# paths, from a toolkit under /usr/local, or from the `nvidia` packages of this machine's python3.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=${CANDLEPOWER_WORK:-/tmp/candlepower-bundle}

if [ ! -e "$work/commit" ] || [ "$here/bundle.tar.xz" -nt "$work/commit" ]; then
  rm -rf "$work" && mkdir -p "$work"
  tar -C "$work" -xJf "$here/bundle.tar.xz" && touch "$work/commit"
fi

cuda_libraries() {
  if [ -n "${CANDLEPOWER_CUDA_LIB:-}" ]; then echo "$CANDLEPOWER_CUDA_LIB"; return; fi
  if ldconfig -p 2>/dev/null | grep -q 'libcublas\.so\.13'; then return; fi
  local folder
  for folder in /usr/local/cuda/lib64 /usr/local/cuda-13*/lib64; do
    if [ -e "$folder/libcublas.so.13" ]; then echo "$folder"; return; fi
  done
  folder=$(python3 -c 'import nvidia; print(list(nvidia.__path__)[0])' 2>/dev/null || true)
  if [ -e "$folder/cu13/lib/libcublas.so.13" ]; then echo "$folder/cu13/lib"; return; fi
  echo "libcublas.so.13: expected on this machine, found nowhere; set CANDLEPOWER_CUDA_LIB" >&2
  exit 2
}
libraries=$(cuda_libraries)
export LD_LIBRARY_PATH="$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export CARGO_MANIFEST_DIR="$work/tests" # where the tests look for what they read

what=${1:-}
shift || true
if [ "$what" = counters ]; then
  exec python3 "$work/ncu.py" --program "$work/bin/counters" --out "${1:-.}" --commit "$(cat "$work/commit")"
fi
cd "$work"
case $what in
  workbook) exec bin/workbook "$@" ;;
  test)
    failed=0
    for program in bin/test-*; do "$program" --nocapture "$@" || failed=1; done
    exit $failed ;;
  sanitize)
    # Each tool looks at every access of every kernel of the project, so the tests take the smallest shapes.
    # initcheck looks at candle's kernels too: what they wrote would count as never written.
    export CANDLEPOWER_SANITIZE=1
    failed=0
    for tool in memcheck racecheck initcheck synccheck; do
      kernels=(--kernel-name kns=_level)
      [ $tool = initcheck ] && kernels=()
      for program in bin/test-*; do
        echo "== $tool $program"
        compute-sanitizer --tool "$tool" "${kernels[@]}" --error-exitcode 1 --print-limit 20 "$program" --nocapture "$@" || failed=1
      done
    done
    exit $failed ;;
  bench) for program in bin/bench-*; do "$program" --bench "$@"; done ;;
  *) echo "run.sh: expected test, sanitize, bench, counters or workbook, found '$what'" >&2; exit 2 ;;
esac
