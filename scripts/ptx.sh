#!/usr/bin/env bash
# Makes the PTX of every CUDA file, and checks all PTX, the hand-written too, with ptxas.
#
#   scripts/ptx.sh [FOLDER or FILE.cu …]   writes X.ptx beside each X.cu (default: all under
#                                         kernels/src and book/simulated)
#   scripts/ptx.sh --check                 writes nothing, assembles the exercises' solutions, too; fails where the PTX beside a file is another
#
# X.cu is compiled for compute_75 (Turing), X_sm80.cu for compute_80, X_sm90a.cu for compute_90a. The
# PTX version is lowered to the oldest that ptxas accepts for the file, so that older drivers load it.
set -euo pipefail
cd "$(dirname "$0")/.."
export LC_ALL=C

check=
if [ "${1:-}" = --check ]; then check=1; shift; fi
folders=("$@")
assembled=("$@")
[ $# -gt 0 ] || { folders=(kernels/src book/simulated); assembled=("${folders[@]}" exercises); }
[ -e .cuda/complete ] || scripts/cuda-toolkit.sh >/dev/null
eval "$(scripts/cuda-toolkit.sh --env)"

versions=(6.3 6.4 6.5 7.0 7.1 7.2 7.3 7.4 7.5 7.6 7.7 7.8 8.0 8.1 8.2 8.3 8.4 8.5 8.6 8.7 8.8 9.0)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The target that a file's name asks for.
target() {
  case $1 in
    *_sm90a.*) echo 90a ;;
    *_sm80.*) echo 80 ;;
    *) echo 75 ;;
  esac
}

# The GPUs that can run a target: it and what came after; 90a is Hopper's alone.
gpus() {
  case $1 in
    75) echo 75 80 86 89 90 120 ;;
    80) echo 80 86 89 90 120 ;;
    90a) echo 90a ;;
  esac
}

assemble() { ptxas --gpu-name "sm_$2" --output-file "$work/cubin" "$1"; } # FILE GPU

# The names of inlined functions, spelled in bytes, hold a hash of the file's absolute path: eight zeros
# in its place make the same text everywhere.
without_hashes() {
  python3 - "$1" <<'PYTHON'
import re, sys

text = open(sys.argv[1]).read()

def name(match):
    label, lines = match.groups()
    spelled = bytes(int(b) for b in re.findall(r"\d+", lines.replace(".b8", "")))
    spelled = re.sub(rb"_INTERNAL_[0-9a-f]{8}_", b"_INTERNAL_00000000_", spelled)
    rows = [spelled[i : i + 40] for i in range(0, len(spelled), 40)]
    return label + "".join(".b8 " + ",".join(map(str, row)) + "\n" for row in rows)

text = re.sub(r"(\$L__info_string\d+:\n)((?:\.b8 [\d,]+\n)+)", name, text)
open(sys.argv[1], "w").write(text)
PYTHON
}

compile() { # FILE.cu OUT.ptx
  local target version root
  target=$(target "$1")
  nvcc --ptx -std=c++17 -O3 -lineinfo -Ikernels/src "-arch=compute_$target" -o "$work/new.ptx" "$1"
  root=$(pwd -P)
  # Paths from the repository's root, and the toolkit's as cuda/…
  sed -i -E "s|\"[^\"]*/cu13/|\"cuda/|; s|\"$root/|\"|" "$work/new.ptx"
  without_hashes "$work/new.ptx"
  for version in "${versions[@]}"; do
    sed -E "s/^\.version .*/.version $version/" "$work/new.ptx" >"$2"
    if assemble "$2" "$target" 2>/dev/null; then return; fi
  done
  assemble "$work/new.ptx" "$target" # says what is wrong
}

failed=0
while read -r file; do
  compile "$file" "$work/out.ptx"
  ptx=${file%.cu}.ptx
  if [ -z "$check" ]; then
    cp "$work/out.ptx" "$ptx"
  elif ! diff -q "$work/out.ptx" "$ptx" >/dev/null 2>&1; then
    echo "$ptx: expected what nvcc makes of $file, found another: run scripts/ptx.sh" >&2
    failed=1
  fi
done < <(find "${folders[@]}" -name '*.cu' | sort)

while read -r ptx; do
  for gpu in $(gpus "$(target "$ptx")"); do
    assemble "$ptx" "$gpu" || { echo "$ptx: ptxas refuses it for sm_$gpu" >&2; failed=1; }
  done
done < <(find "${assembled[@]}" -name '*.ptx' | sort)
exit $failed
