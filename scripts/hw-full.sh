#!/usr/bin/env bash
# `make hw`: installs the tools, lints, simulates every configuration of hw/units.toml, proves, synthesises, places and routes,
# and writes hw/reports/summary.json and docs/hw/results.md. UNIT=unit,unit/configuration does so for these only.
# What was synthesised before from the same sources with the same tools is not synthesised again.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh hw-full
names=${UNIT:-all}
flow=hw/flow
python=.tools/hw-synthesis/bin/python
build=${CARGO_TARGET_DIR:-target}/hw
# Tests run in the folder of their crate.
mkdir -p "$build/records"
CIPHERMILL_HW_RECORDS=$(cd "$build/records" && pwd)
export CIPHERMILL_HW=$names CIPHERMILL_HW_RECORDS

echo "== lint"
.tools/hw/bin/python $flow/lint.py
echo "== simulation"
cargo test --locked -p ciphermill-cosim --no-fail-fast
if [ -e $flow/prove.py ]; then
    echo "== proofs"
    .tools/hw/bin/python $flow/prove.py --all
fi
echo "== synthesis, place and route"
$python $flow/synthesise.py "$names"
echo "== report"
$python $flow/report.py "$names"
