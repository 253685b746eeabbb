#!/usr/bin/env bash
# `make hw-quick`: lints the RTL and tests one full-size configuration of each unit in co-simulation; part of `make test`.
# HW_UNITS=all takes every configuration of hw/units.toml, HW_UNITS=unit,unit/configuration those.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh hw
export CIPHERMILL_HW=${HW_UNITS:-quick}
.tools/hw/bin/python hw/flow/lint.py
.tools/hw/bin/python hw/flow/registers.py --check
.tools/hw/bin/python -m unittest discover --quiet hw/flow/tests
# The profile of the tests, so that the models are built once.
cargo clippy --locked --profile test -p ciphermill-cosim --all-targets -- -D warnings
cargo test --locked -p ciphermill-cosim --no-fail-fast
