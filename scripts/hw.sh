#!/usr/bin/env bash
# `make hw-quick`: lints the RTL, runs the short proofs, and tests one full-size configuration of each unit in co-simulation;
# part of `make test`.
# HW_UNITS=all takes every configuration of hw/units.toml and every proof, HW_UNITS=unit,unit/configuration those.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh hw
export CIPHERMILL_HW=${HW_UNITS:-quick}
.tools/hw/bin/python hw/flow/lint.py
.tools/hw/bin/python hw/flow/registers.py --check
.tools/hw/bin/python -m unittest discover --quiet hw/flow/tests
case $CIPHERMILL_HW in
    quick) .tools/hw/bin/python hw/flow/prove.py ;;
    all) .tools/hw/bin/python hw/flow/prove.py --all ;;
    *) .tools/hw/bin/python hw/flow/prove.py --units "$CIPHERMILL_HW" ;;
esac
cargo clippy --locked -p ciphermill-cosim --all-targets -- -D warnings
cargo test --locked -p ciphermill-cosim --no-fail-fast
