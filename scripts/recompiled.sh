#!/usr/bin/env bash
# Fails where a command compiled a third-party crate that `cargo run --release` had compiled already: with other
# features, say. A newcomer would wait for candle twice.
#
#   scripts/recompiled.sh snapshot   after `cargo run --release` in a fresh clone
#   scripts/recompiled.sh check      after all other commands with --release, and `cargo bench`
set -euo pipefail
cd "$(dirname "$0")/.."
list=target/release/compiled.txt

# One line per compiled third-party library: its sources, and the file that rustc wrote last. Another set of features
# is another file; the same features compiled again, for whatever reason, are a newer one.
compiled() {
  find target/release/deps -name '*.d' -printf '%p %T@\n' | sort | while read -r file time; do
    local source
    source=$(grep -m1 -oE '[^ ]*/registry/src/[^/]+/[^/]+' "$file" || true)
    [ -z "$source" ] || echo "$(basename "$source") $(basename "$file") $time"
  done
}

case ${1:-} in
  snapshot) compiled >"$list" ;;
  check)
    compiled | awk '
      NR == FNR { before[$1]; same[$0]; next }
      $1 in before && !($0 in same) { print "compiled a second time: " $1; n++ }
      END { print n + 0 " third-party crates were compiled a second time"; exit n > 0 }
    ' "$list" -
    ;;
  *) sed -n '2,6s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
