#!/usr/bin/env bash
# Packs the programs, the tests and the benches, built with `--features cuda`, and the data that they
# read, for a machine that has a GPU and its driver but no Rust.
#
#   scripts/gpu-bundle.sh [FOLDER, default .bundle]
#
# The folder then holds run.sh and one archive, at most 30 MB. On the other machine:
#
#   FOLDER/run.sh test                    the tests of the kernels and across levels, on the GPU
#   FOLDER/run.sh sanitize                the same under compute-sanitizer's four tools
#   FOLDER/run.sh workbook compare        any command of the workbook
#   FOLDER/run.sh workbook vit --level 2
#   FOLDER/run.sh bench                   the benches
#   FOLDER/run.sh measure OUT             all that benches/results has of a GPU, beside PyTorch, into the folder OUT
#   FOLDER/run.sh counters OUT            what Nsight Compute reads of every kernel, into the folder OUT
set -euo pipefail
cd "$(dirname "$0")/.."

case $#${1:-} in
  0 | 1[!-]*) ;;
  *) echo "scripts/gpu-bundle.sh: expected [FOLDER], found '$*'" >&2; exit 2 ;;
esac
out=$(realpath -m -- "${1:-.bundle}")
limit=30000000
[ -e .cuda/complete ] || scripts/cuda-toolkit.sh >/dev/null
eval "$(scripts/cuda-toolkit.sh --env)"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
mkdir -p "$stage/bin" "$out"

# The same packages each time: cargo builds candle, and for minutes its kernels, once more for another choice of features.
# The examples of all levels share three names, so the multi-call `workbook` stands for them.
flags=(--release --features cuda --target-dir target/cuda -p workbook -p kernels -p tests -p benches)
targets=(--bin workbook --example counters --bench levels)
for test in tests/tests/*.rs tests/tests/*/main.rs; do
  name=$(basename "${test%/main.rs}" .rs)
  [ "$name" != words ] || continue # it reads the sources, which the bundle lacks
  targets+=(--test "$name")
done

# A line a program: its name in the bundle, and its path from cargo's own messages.
programs() {
  cargo --quiet "$@" "${flags[@]}" --message-format json |
    python3 -c 'import json, sys
prefix = {"bin": "", "example": "", "lib": "test-", "test": "test-", "bench": "bench-"}
for line in sys.stdin:
    message = json.loads(line)
    if path := message.get("executable"):
        target = message["target"]
        print(prefix[target["kind"][0]] + target["name"], path)'
}
# Lists first: a build that fails ends the script here.
all=$(programs build "${targets[@]}")
units=$(programs test --no-run --lib | grep '^test-kernels ')
while read -r name path; do cp "$path" "$stage/bin/$name"; done <<<"$all"$'\n'"$units"
strip "$stage"/bin/*

# Files that they read. Tracked ones only: nothing of this machine travels.
git ls-files benches/peers models/tiny crates/cli/pictures tests/goldens models/src/ops.rs 'levels/*/src/ops.rs' 'kernels/src/*' 'kernels/worklogs/*' \
  'kernels/generated/*.ptx' 'kernels/generated/worklogs/*.json' README.md ARCHITECTURE.md Cargo.toml '*/Cargo.toml' |
  grep -v "^tests/.*\.py$" | tar -cf - -T - | tar -xf - -C "$stage"
cp scripts/ncu.py "$stage/"
git describe --always --dirty --exclude="*" --abbrev=9 >"$stage/commit"

# One solid archive: the programs share candle's kernels, 35 MB of each.
tar -C "$stage" -cf - . | xz --threads=2 --lzma2=preset=6,dict=192MiB >"$out/bundle.tar.xz"
install -m 755 scripts/gpu-run.sh "$out/run.sh"
size=$(stat -c %s "$out/bundle.tar.xz")
if [ "$size" -gt "$limit" ]; then
  echo "$out/bundle.tar.xz: expected at most $limit bytes, found $size" >&2
  exit 1
fi
echo "$out/bundle.tar.xz: $((size / 1024)) KiB, and $out/run.sh beside it"
