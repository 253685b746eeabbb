#!/usr/bin/env bash
# `make hw`: installs the tools, lints, simulates every configuration of hw/units.toml, proves, drives AXI ports, synthesises,
# places and routes, and writes hw/reports/summary.json and docs/hw/results.md. UNIT=unit,unit/configuration does so for these only.
# What was synthesised before from the same sources with the same tools is not synthesised again.
set -euo pipefail
cd "$(dirname "$0")/.."

names=${UNIT:-all}
flow=hw/flow
# Before anything that takes long: are these names known?
chosen=$(python3 $flow/units.py "$names")
[ "$names" = all ] || names=${chosen//$'\n'/,}
scripts/setup.sh hw-full
. scripts/hw-lock.sh
python=.tools/hw-synthesis/bin/python
build=$hw_build
# Tests run in the folder of their crate.
mkdir -p "$build/records"
CIPHERMILL_HW_RECORDS=$(cd "$build/records" && pwd)
export CIPHERMILL_HW=$names CIPHERMILL_HW_RECORDS

# What is counted anew must not be what an earlier run counted.
while read -r name; do rm -f "$build/records/${name/\//.}.json"; done <<<"$chosen"

failed=0
step() { # step NAME COMMAND…: a failing one does not keep the report from what the others found
    printf '== %s\n' "$1"
    shift
    "$@" || failed=1
}
step lint .tools/hw/bin/python $flow/lint.py
what=simulation
[ "$names" = all ] || what="simulation (of $UNIT: tests of other units find nothing built and pass)"
step "$what" cargo test --locked -p ciphermill-cosim --no-fail-fast
if [ "$names" = all ]; then
    step proofs .tools/hw/bin/python $flow/prove.py --all
else
    step proofs .tools/hw/bin/python $flow/prove.py --units "$names"
fi
# The benches are of ports and not of units: a run for some units leaves them out.
if [ "$names" = all ]; then step "AXI ports" .tools/hw-cocotb/bin/python $flow/axi.py; fi
step "synthesis, place and route" $python $flow/synthesise.py "$names"
step report $python $flow/report.py "$names"
exit $failed
