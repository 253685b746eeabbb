#!/usr/bin/env bash
# `make bench`: builds the workspace bench/ with all peers (minutes, once) and runs ours and theirs side by side; CASES picks
# families of cases. It prints a table and writes bench/results.json with the rows of this run, and no others. BENCH_ARGS is
# passed on: --quick, --only TEXT, --params NAME, --cpu-time; the program's --help tells more.
#
# Exits with 1 if any result of ours differs from a peer's. The times mean something on an idle machine only.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh build
# Run from bench/, whose .cargo/config.toml compiles the peers for this CPU.
cd bench
# Lattigo is a Go module; its version and its checksums are in bench/peers/lattigo. Without Go its rows are left out.
lattigo=${CARGO_TARGET_DIR:-target}/lattigo
if command -v go >/dev/null; then
    mkdir -p "$(dirname "$lattigo")"
    lattigo=$(cd "$(dirname "$lattigo")" && pwd)/lattigo
    (cd peers/lattigo && go build -o "$lattigo" .)
    export CIPHERMILL_BENCH_LATTIGO=$lattigo
fi
cargo build --release --locked
# shellcheck disable=SC2086 # several arguments
exec "${CARGO_TARGET_DIR:-target}/release/ciphermill-bench" ${CASES:+--cases "$CASES"} --output results.json ${BENCH_ARGS:-}
