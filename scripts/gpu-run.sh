#!/usr/bin/env bash
# Runs what scripts/gpu-bundle.sh packed, on a machine with a GPU and its driver: no Rust is needed.
#
#   run.sh test [FILTER]     (all tests, the large ones too; FILTER is a part of their names, such as `large`)
#   run.sh sanitize [FILTER] (all four tools, or those that $CANDLEPOWER_TOOLS names; not the large tests)
#   run.sh bench [FILTER]    run.sh workbook ARGUMENTS
#   run.sh counters OUT      (needs Nsight Compute, and permission to read counters)
#   run.sh measure OUT [PART…]
#
# measure leaves PART.json and PART.log in the folder OUT, which `workbook record NAME OUT/*.json` puts into benches/results.
# Without parts it is all of them. One of compare or ops took four to nine minutes on an H200 beside 16 cores, most of them
# for PyTorch's compiler. compare-PRESET,PRESET…, worklog-NAME,NAME… and bench-FILTER are parts, too. PyTorch is that of
# $CANDLEPOWER_PYTHON (python3), the device $CANDLEPOWER_DEVICE (cuda).
#
# The CUDA 13 libraries (cublas, curand, cudart) come from $CANDLEPOWER_CUDA_LIB, from the loader's own
# paths, from a toolkit under /usr/local, or from the `nvidia` packages of this machine's python3.
# The bundle is unpacked into candlepower-bundle in the folder $CANDLEPOWER_WORK (~/.cache).
set -euo pipefail
case ${1:-} in
  test | sanitize | bench | counters | workbook) ;;
  measure) case ${2:-} in '' | -*) echo "run.sh measure: expected a folder, found '${2:-}'" >&2; exit 2 ;; esac ;;
  *) echo "run.sh: expected test, sanitize, bench, counters, measure or workbook, found '${1:-}'" >&2; exit 2 ;;
esac
here=$(cd "$(dirname "$0")" && pwd)
work=${CANDLEPOWER_WORK:-${XDG_CACHE_HOME:-${HOME:+$HOME/.cache}}}
no_folder() { echo "run.sh: expected a folder that can be written to in CANDLEPOWER_WORK, found '$work'" >&2; exit 2; }
case $work in '' | -*) no_folder ;; esac
work=$(realpath -m -- "$work/candlepower-bundle")

if [ ! -e "$work/commit" ] || [ "$here/bundle.tar.xz" -nt "$work/commit" ]; then
  if [ ! -e "$work/commit" ] && [ -n "$(ls -A "$work" 2>/dev/null)" ]; then
    echo "$work: expected a bundle or no files, found others" >&2
    exit 2
  fi
  mkdir -p "$(dirname "$work")" 2>/dev/null || no_folder
  new=$(mktemp -d "$work.XXXXXX" 2>/dev/null) || no_folder
  trap 'rm -rf "$new"' EXIT
  said=$(tar -C "$new" -xJf "$here/bundle.tar.xz" 2>&1) || {
    echo "$here/bundle.tar.xz: expected what scripts/gpu-bundle.sh writes, found: ${said%%$'\n'*}" >&2
    exit 2
  }
  chmod 755 "$new"
  touch "$new/commit"
  rm -rf "$work"
  mv "$new" "$work"
  trap - EXIT
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

what=$1
shift
if [ "$what" = counters ]; then
  exec python3 "$work/ncu.py" --program "$work/bin/counters" --out "${1:-.}" --commit "$(cat "$work/commit")"
fi
from=$PWD
cd "$work"
case $what in
  workbook) exec bin/workbook "$@" ;;
  test)
    failed=0
    CANDLEPOWER_SKIPPED=$(mktemp)
    export CANDLEPOWER_SKIPPED
    # In a build with CUDA, cargo leaves out nothing but the large tests. A missing GPU fails the tests that need one.
    for program in bin/test-*; do "$program" --nocapture --include-ignored "$@" || failed=1; done
    sort -u "$CANDLEPOWER_SKIPPED"
    rm "$CANDLEPOWER_SKIPPED"
    exit $failed ;;
  sanitize)
    # Each tool looks at every access of every kernel of the project, so the tests take the smallest shapes.
    # initcheck looks at candle's kernels too: what they wrote would count as never written. And each test has
    # a process of its own: memory that one thread gave back and another took, initcheck calls never written
    # while kernels of the first are still under way.
    export CANDLEPOWER_SANITIZE=1
    matched=$(mktemp -u) # exists once a test has launched a kernel that the tool selects
    export matched
    watched() { # TOOL PROGRAM TEST
      local kernels=(--kernel-name kns=_level --kernel-name kns=_step) log failed=0
      [ "$1" = initcheck ] && kernels=()
      log=$(compute-sanitizer --tool "$1" "${kernels[@]}" --require-cuda-init no --error-exitcode 1 \
        --print-limit 20 "$2" --exact "$3" --nocapture 2>&1) || failed=1
      if grep -qE 'launched \w+_(level|step)' <<<"$log"; then touch "$matched"; fi
      [ $failed = 0 ] || printf '== %s %s %s\n%s\n' "$@" "$log"
      return $failed
    }
    export -f watched
    named() { # PROGRAM FILTER…: names of tests, sorted
      "$1" --list "${@:2}" 2>/dev/null | sed -n 's/: test$//p' | LC_ALL=C sort
    }
    failed=0
    watched_any=0
    for tool in ${CANDLEPOWER_TOOLS:-memcheck racecheck initcheck synccheck}; do
      rm -f "$matched"
      for program in bin/test-*; do
        tests=$(LC_ALL=C comm -23 <(named "$program" "$@") <(named "$program" --ignored "$@"))
        if [ -z "$tests" ]; then continue; fi
        watched_any=1
        if xargs -P "$(nproc)" -I{} bash -c 'watched "$@"' _ "$tool" "$program" {} <<<"$tests"; then
          echo "$tool $program: $(wc -l <<<"$tests") tests, nothing found"
        else
          failed=1
        fi
      done
      if [ $watched_any = 0 ]; then
        echo "run.sh sanitize: expected a part of a test's name, found '$*'" >&2
        exit 2
      elif [ ! -e "$matched" ]; then
        echo "run.sh sanitize: $tool: expected launches of kernels with _level or _step in their names, found none" >&2
        exit 2
      fi
    done
    rm -f "$matched"
    exit $failed ;;
  measure)
    out=$(cd "$from" && realpath -m -- "$1")
    parts=("${@:2}")
    if [ ${#parts[@]} = 0 ]; then
      parts=(compare-tiny compare-base compare-readme,s16 compare-smollm-135m,b16 compare-llama-1b ops-f32 ops-bf16 small sweep ablation worklog bench)
    fi
    device=(--device "${CANDLEPOWER_DEVICE:-cuda}")
    peers=("${device[@]}" --peers "${CANDLEPOWER_PYTHON:-python3}")
    side_by_side=("${peers[@]}" --peer-processes "$(nproc)")
    look_up() { # PART: what runs it, where that leaves its figures, and its file in OUT
      local of=${1#*-}
      file=${1//\//-} # the filter of a bench may have slashes
      case $1 in
        *..*) echo "run.sh measure: expected a part without '..', found '$1'" >&2; exit 2 ;;
        # Its weights take 2.5 GB in each process of a peer.
        compare-llama-1b) run=(workbook compare --preset llama-1b --dtype bf16 "${peers[@]}" --peer-processes 4) figures=compare ;;
        compare-?*) run=(workbook compare --preset ${of//,/ } --dtype f32 bf16 "${side_by_side[@]}") figures=compare ;;
        ops-f32 | ops-bf16) run=(workbook ops --dtype "$of" "${side_by_side[@]}") figures=ops ;;
        small) run=(workbook small "${peers[@]}") figures=small ;;
        sweep) run=(workbook sweep --preset readme s16 base "${device[@]}") figures=sweep ;;
        ablation) run=(workbook ablation --preset readme s16 base smollm-135m --dtype f32 bf16 "${device[@]}") figures=ablation ;;
        worklog) run=(workbook worklog matmul matmul_sizes softmax attention "${device[@]}") figures=worklog ;;
        worklog-?*) run=(workbook worklog ${of//,/ } "${device[@]}") figures=worklog ;;
        bench) run=(bench-levels --bench) figures=benches ;;
        bench-?*) run=(bench-levels --bench "$of") figures=benches ;;
        *)
          echo "run.sh measure: expected compare-PRESET, ops-f32, ops-bf16, small, sweep, ablation, worklog or bench, found '$1'" >&2
          exit 2 ;;
      esac
    }
    for part in "${parts[@]}"; do look_up "$part"; done # before the first of them takes its minutes
    mkdir -p "$out"
    failed=0
    for part in "${parts[@]}"; do
      look_up "$part"
      figures=target/workbook/$figures.json
      rm -f "$figures" "$out/$file.json"
      begun=$SECONDS
      if "bin/${run[0]}" "${run[@]:1}" >"$out/$file.log" 2>&1 && cp "$figures" "$out/$file.json"; then
        echo "$part: $((SECONDS - begun)) s"
      else
        echo "$part: failed, see $out/$file.log"
        failed=1
      fi
    done
    exit $failed ;;
  bench) for program in bin/bench-*; do "$program" --bench "$@"; done ;;
esac
