#!/usr/bin/env bash
# `make hw-waves UNIT=…`: writes the waveform of the first cycles of each configuration of a unit to
# target/waves/<unit>.<configuration>.fst, and draws the unit's pictures of hw/pictures.toml from it.
# UNIT=all does so for all. CIPHERMILL_HW_WAVE_CYCLES says how many cycles a waveform has (20000).
set -euo pipefail
cd "$(dirname "$0")/.."

# Before anything that takes long: are these names known?
if [ -z "${UNIT:-}" ]; then
    echo "make hw-waves UNIT=unit or unit/configuration, separated by commas, or UNIT=all" >&2
    exit 2
fi
chosen=$(python3 hw/flow/units.py "$UNIT")
names=$UNIT
[ "$names" = all ] || names=${chosen//$'\n'/,}
scripts/setup.sh hw-waves
. scripts/hw-lock.sh
target=${CARGO_TARGET_DIR:-target}
mkdir -p "$target/waves"
CIPHERMILL_HW_WAVES=$(cd "$target/waves" && pwd)
export CIPHERMILL_HW=$names CIPHERMILL_HW_TRACE=1 CIPHERMILL_HW_WAVES
python=.tools/hw-synthesis/bin/python
# In a folder of its own, so that the models of `make test` stay.
export CARGO_TARGET_DIR=$hw_build/build
# A unit that names no test has an empty line, which takes all tests: first, so that pictures are of those that are named.
mapfile -t tests < <($python hw/flow/picture.py --tests "$CIPHERMILL_HW" | sort)
echo "Building models that record waveforms, and running the tests that make them: minutes"
for test in "${tests[@]}"; do
    cargo test --locked -p ciphermill-cosim --tests -- --quiet "$test" | { grep -v -E '^(running 0 tests|test result: ok\. 0 passed.*|)$' || true; }
done
while read -r name; do
    wave=$CIPHERMILL_HW_WAVES/${name/\//.}.fst
    if [ -f "$wave" ]; then echo "$wave"; else echo "no waveform of $name" >&2; fi
done <<<"$chosen"
$python hw/flow/picture.py "$CIPHERMILL_HW" --waves "$CIPHERMILL_HW_WAVES"
