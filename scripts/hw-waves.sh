#!/usr/bin/env bash
# `make hw-waves UNIT=…`: writes the waveform of the first cycles of each configuration of a unit to
# target/waves/<unit>.<configuration>.fst, and draws the unit's pictures of hw/pictures.toml from it.
# CIPHERMILL_HW_WAVE_CYCLES says how many cycles a waveform has (20000).
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh hw-waves
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/waves"
CIPHERMILL_HW_WAVES=$(cd "$target/waves" && pwd)
export CIPHERMILL_HW=${UNIT:-all} CIPHERMILL_HW_TRACE=1 CIPHERMILL_HW_WAVES
# Models with waveforms are built apart: in turn with those of `make hw-quick` both would be built each time.
python=.tools/hw-synthesis/bin/python
for test in $($python hw/flow/picture.py --tests "$CIPHERMILL_HW"); do
    CARGO_TARGET_DIR=$target/hw-waves cargo test --quiet --locked -p ciphermill-cosim --tests -- "$test"
done
$python hw/flow/picture.py "$CIPHERMILL_HW" --waves "$CIPHERMILL_HW_WAVES"
