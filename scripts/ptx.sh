#!/usr/bin/env bash
# Makes the PTX of every CUDA file, and checks all PTX, the hand-written too, with ptxas.
#
#   scripts/ptx.sh [FOLDER or FILE.cu …]   (default: all under kernels/src, kernels/worklogs and book/simulated)
#   scripts/ptx.sh --check                 writes nothing, assembles the exercises' solutions, too; fails where the
#                                         committed PTX is another
#
# kernels/src/OP/X.cu becomes kernels/generated/OP/X.sm_75.ptx: sm_75 is Turing, the oldest GPU that level 3 and 4 ask
# for. kernels/worklogs/OP/X.cu becomes kernels/generated/worklogs/OP/X.sm_75.ptx. A line `// Compiled for sm_75 and
# sm_80 …` in its header names other targets, a PTX each. A file elsewhere becomes X.ptx beside it. The PTX version is
# lowered to the oldest that ptxas accepts for the file, so that older drivers load it. It has the lines of the source,
# which findings of the simulator name, but only in the text that the simulator runs, the newest that does not end in `a`. Lines
# below kernels/generated are not indented: tabs were half a megabyte there, and labels begin with `$L` in place of `$L__BB`. In
# the other texts there, other blanks go, too, and in those above 400,000 bytes the ones after commas.
set -euo pipefail
if [ "${1:-}" = --help ]; then sed -n '2,6s/^# \{0,1\}//p' "$0"; exit; fi
cd "$(dirname "$0")/.."
export LC_ALL=C

root=$(pwd -P)
check=
if [ "${1:-}" = --check ]; then check=1; shift; fi
folders=()
for given in "$@"; do
  # find would run `-delete` as an action, so it gets whole paths alone.
  case $given in -*) false ;; *) [ -e "$given" ] ;; esac || {
    echo "scripts/ptx.sh: expected [--check] [FOLDER or FILE.cu …] in $root, found '$given'" >&2
    exit 2
  }
  folders+=("$(realpath -s -- "$given")")
done
assembled=("${folders[@]}")
[ $# -gt 0 ] || { folders=("$root"/{kernels/src,kernels/worklogs,book/simulated}); assembled=("${folders[@]}" "$root"/{kernels/generated,exercises}); }
[ -e .cuda/complete ] || scripts/cuda-toolkit.sh >/dev/null
eval "$(scripts/cuda-toolkit.sh --env)"

# Oldest first.
versions=(6.3 6.4 6.5 7.0 7.1 7.2 7.3 7.4 7.5 7.6 7.7 7.8 8.0 8.1 8.2 8.3 8.4 8.5 8.6 8.7 8.8 9.0)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export check work
export all_versions="${versions[*]}"

# The targets that a file's header names: `75 80`.
targets() {
  local named
  named=$(sed -n '/^\/\//!q; /^\/\/ Compiled for /p' "$1" | grep -oE 'sm_[0-9]+a?' | sed 's/sm_//' | sort -u | tr '\n' ' ')
  echo "${named:-75}"
}

# The one of them whose text the simulator runs: the newest that is not one architecture's alone.
simulated() { targets "$1" | tr ' ' '\n' | grep -v a | sort -n | tail -1; }

# The PTX of FILE.cu for a target.
ptx_of() { # FILE.cu TARGET
  local stem=${1%.cu}
  case $1 in
    kernels/src/*) echo "kernels/generated/${stem#kernels/src/}.sm_$2.ptx" ;;
    kernels/worklogs/*) echo "kernels/generated/${stem#kernels/}.sm_$2.ptx" ;;
    *) echo "$stem.ptx" ;;
  esac
}

# The target that a PTX text asks for.
target() { sed -nE 's/^\.target sm_([0-9]+a?).*/\1/p' "$1"; }

# The GPUs that can run a target: it and what came after; 90a is Hopper's alone.
gpus() {
  case $1 in
    75) echo 75 80 86 89 90 120 ;;
    80) echo 80 86 89 90 120 ;;
    90) echo 90 120 ;;
    90a) echo 90a ;;
  esac
}

# The machine code is thrown away. For the GPU of the records it is made as the driver makes it; for the
# others without optimisation, which is four times as fast and reads the same PTX.
assemble() { # FILE GPU OUT
  local optimised=-O0
  case $2 in 90*) optimised=-O3 ;; esac
  ptxas "$optimised" --gpu-name "sm_$2" --output-file "$3.cubin" "$1"
}

with_version() { sed -E "s/^\.version .*/.version $2/" "$1" >"$3"; } # FILE VERSION OUT

# The oldest version that ptxas accepts for FILE. It asks at GUESS first, where the committed file stands:
# two answers are enough if nothing has changed.
oldest_version() { # FILE GUESS TARGET OUT
  local i low=0 high versions
  read -ra versions <<<"$all_versions"
  high=${#versions[@]}
  for i in "${!versions[@]}"; do [ "${versions[$i]}" != "$2" ] || break; done
  while [ "$low" -lt "$high" ]; do
    with_version "$1" "${versions[$i]}" "$4.try"
    if ptxas -O0 --gpu-name "sm_$3" --output-file "$4.cubin" "$4.try" 2>/dev/null; then
      high=$i
      i=$((i > low ? i - 1 : low))
    else
      low=$((i + 1))
      i=$low
    fi
  done
  echo "${versions[$low]:-}"
}

compile() { # FILE.cu TARGET: checks or writes its PTX
  local ptx target=$2 version out lines=-lineinfo blanks=kept
  ptx=$(ptx_of "$1" "$target")
  out=$work/$(echo "${1%.cu}" | tr '/ ' __).$target
  [ "$target" = "$(simulated "$1")" ] || lines= blanks=
  nvcc --ptx -std=c++17 -O3 $lines -Ikernels/src "-arch=compute_$target" -o "$out.new" "$1"
  python3 scripts/ptx_text.py "$out.new" "$(pwd -P)"
  case $1 in kernels/*) sed -i 's/^\t//; s/\$L__BB/$L/g' "$out.new" ;; esac
  case $1 in kernels/*) [ "$(stat -c %s "$out.new")" -lt 400000 ] || sed -i 's/, /,/g' "$out.new" ;; esac
  case $1$blanks in kernels/*.cu) sed -i -E '/^\/\/ .* has been demoted$/d; /^$/d; s/, /,/g; s/\t/ /g; s/^ +//' "$out.new" ;; esac
  version=$(oldest_version "$out.new" "$(sed -n 's/^\.version //p' "$ptx" 2>/dev/null)" "$target" "$out")
  if [ -z "$version" ]; then
    assemble "$out.new" "$target" "$out" # says what is wrong
    return 1
  fi
  with_version "$out.new" "$version" "$out.ptx"
  if [ -z "$check" ]; then
    mkdir -p "$(dirname "$ptx")"
    cp "$out.ptx" "$ptx"
  elif ! diff -q "$out.ptx" "$ptx" >/dev/null 2>&1; then
    echo "$ptx: expected what nvcc makes of $1, found another: run scripts/ptx.sh" >&2
    return 1
  fi
}

accepted() { # GPU FILE.ptx
  local out
  out=$work/$(echo "$2" | tr '/ ' __).$1
  if assemble "$2" "$1" "$out" 2>"$out.errors"; then rm -f "$out.cubin"; return; fi
  { echo "$2: ptxas refuses it for sm_$1"; head -5 "$out.errors"; } >&2
  return 1
}

export -f targets simulated ptx_of target gpus assemble with_version oldest_version compile accepted

# Calls FUNCTION with two arguments at a time; each ends with a NUL, because names may hold blanks.
parallel() { xargs -0 -r -P "$(nproc)" -n 2 bash -euo pipefail -c '"$0" "$@"' "$1"; }

failed=0
find "${folders[@]}" -name '*.cu' -print0 | sort -z | while IFS= read -r -d '' cu; do
  cu=${cu#"$root/"}
  for target in $(targets "$cu"); do printf '%s\0' "$cu" "$target"; done
done | parallel compile || failed=1
# The longest first, so that no core waits for one at the end.
find "${assembled[@]}" -name '*.ptx' -printf '%s\t%p\0' | sort -z -rn | cut -z -f 2- | while IFS= read -r -d '' ptx; do
  ptx=${ptx#"$root/"}
  for gpu in $(gpus "$(target "$ptx")"); do printf '%s\0' "$gpu" "$ptx"; done
done | parallel accepted || failed=1
exit $failed
