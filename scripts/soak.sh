#!/usr/bin/env bash
# Runs the workbook for a long time: fuzzers of all readers, SIGKILL at random points, a million tokens. Outside CI.
#
#     scripts/soak.sh                              # a night
#     scripts/soak.sh --seconds 60 --mutate 10 --kills 20 --tokens 100000
#     scripts/soak.sh --page                       # writes docs/SOAK.md from docs/soak.json again
#
# The figures go to docs/soak.json, and the page docs/SOAK.md is made of them.
set -euo pipefail
cd "$(dirname "$0")/.."
exec python3 scripts/soak.py "$@"
