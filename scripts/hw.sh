#!/usr/bin/env bash
# `make hw-quick`: lints the RTL, runs the short proofs, and tests one full-size configuration of each unit in co-simulation;
# part of `make test`, which calls `hw.sh checks` and compiles and tests the crate `cosim` with all others.
# HW_UNITS=all takes every configuration of hw/units.toml and every proof, HW_UNITS=unit,unit/configuration those.
set -euo pipefail
cd "$(dirname "$0")/.."

export CIPHERMILL_HW=${HW_UNITS:-quick}
# Before anything that takes long: are these names known?
case $CIPHERMILL_HW in
    quick | all) ;;
    *)
        chosen=$(python3 hw/flow/units.py "$CIPHERMILL_HW")
        CIPHERMILL_HW=${chosen//$'\n'/,}
        ;;
esac
scripts/setup.sh hw
. scripts/hw-lock.sh
python=.tools/hw/bin/python
failed=0
check() { # check NAME COMMAND…: a failing one does not hide those after it
    local start=$SECONDS
    "${@:2}" || { failed=1; echo "FAILED: $1"; }
    printf -- '-- hardware: %s, %d s\n' "$1" $((SECONDS - start))
}
check lint $python hw/flow/lint.py
check registers $python hw/flow/registers.py --check
check "ports are described" $python hw/flow/ports.py --check
check "core files of engines" $python hw/flow/cores.py --check
check "the flow's own tests" $python -m unittest discover --quiet hw/flow/tests
case $CIPHERMILL_HW in
    quick) check proofs $python hw/flow/prove.py ;;
    all) check proofs $python hw/flow/prove.py --all ;;
    *) check proofs $python hw/flow/prove.py --units "$CIPHERMILL_HW" ;;
esac
check "what the reports are of" $python hw/flow/stale.py
if [ "${1:-}" = checks ]; then exit $failed; fi
check clippy cargo clippy --locked -p ciphermill-cosim --all-targets -- -D warnings
check co-simulation $python scripts/run-tests.py --locked -p ciphermill-cosim --no-fail-fast --lib --bins --tests
check "documentation tests" cargo test --locked -p ciphermill-cosim --doc
exit $failed
