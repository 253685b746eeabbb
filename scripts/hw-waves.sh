#!/usr/bin/env bash
# `make hw-waves UNIT=…`: writes the waveform of the first cycles of each configuration of a unit to
# target/waves/<unit>.<configuration>.fst, and draws the unit's pictures of hw/pictures.toml from it.
# CIPHERMILL_HW_WAVE_CYCLES says how many cycles a waveform has (20000).
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh hw-waves
. scripts/hw-lock.sh
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/waves"
CIPHERMILL_HW_WAVES=$(cd "$target/waves" && pwd)
export CIPHERMILL_HW=${UNIT:-all} CIPHERMILL_HW_TRACE=1 CIPHERMILL_HW_WAVES
python=.tools/hw-synthesis/bin/python
# Before anything that takes long: are these names known?
$python hw/flow/units.py "$CIPHERMILL_HW" >/dev/null
# In a folder of its own, so that the models of `make test` stay.
export CARGO_TARGET_DIR=$hw_build/build
# A unit that names no test has an empty line, which takes all tests: first, so that pictures are of those that are named.
mapfile -t tests < <($python hw/flow/picture.py --tests "$CIPHERMILL_HW" | sort)
for test in "${tests[@]}"; do
    cargo test --quiet --locked -p ciphermill-cosim --tests -- "$test"
done
$python hw/flow/picture.py "$CIPHERMILL_HW" --waves "$CIPHERMILL_HW_WAVES"
