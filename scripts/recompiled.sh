#!/usr/bin/env bash
# Fails where a command compiled a third-party crate that an earlier command had compiled already: with other
# features, say. A newcomer would wait for candle twice.
#
#   scripts/recompiled.sh snapshot PROFILE   release: after `cargo run --release` in a fresh clone;
#                                            debug: after `cargo test --workspace`
#   scripts/recompiled.sh check PROFILE      after other commands; debug: before clippy, which compiles all anew
set -euo pipefail
cd "$(dirname "$0")/.."

# One line per compiled third-party library: its sources, and the file that rustc wrote last. Another set of features
# is another file; the same features compiled again, for whatever reason, are a newer one.
compiled() { # PROFILE
  find "target/$1/deps" -name '*.d' -printf '%p %T@\n' | sort | while read -r file time; do
    local source
    source=$(grep -m1 -oE '[^ ]*/registry/src/[^/]+/[^/]+' "$file" || true)
    [ -z "$source" ] || echo "$(basename "$source") $(basename "$file") $time"
  done
}

case ${1:-}:${2:-} in
  snapshot:release | snapshot:debug) compiled "$2" >"target/$2/compiled.txt" ;;
  check:release | check:debug)
    compiled "$2" | awk -v profile="$2" '
      NR == FNR { before[$1]; same[$0]; next }
      $1 in before && !($0 in same) { print "compiled a second time: " $1; n++ }
      END { print profile ": " n + 0 " third-party crates were compiled a second time"; exit n > 0 }
    ' "target/$2/compiled.txt" -
    ;;
  *) sed -n '2,8s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
