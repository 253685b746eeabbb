#!/usr/bin/env bash
# `make evidence AREA=…`: runs an area's full counts and writes evidence/<area>.json, to be committed.
#
# An area is an example named evidence-<area> of the crate evidence. It is built for release, writes one JSON
# object (counts, figures) to the file named by CIPHERMILL_EVIDENCE, and exits 0 only if all it checked held. The head
# of the record (command, commit, machine) is the same for all areas and is written here.
set -euo pipefail
cd "$(dirname "$0")/.."

area=${1:-}
known=$(cargo metadata --locked --no-deps --format-version 1 | tr , '\n' |
    sed -n 's/.*"name":"evidence-\([a-z0-9-]*\)".*/\1/p' | sort -u)
if [ -z "$area" ] || ! grep -qxF -- "$area" <<<"$known"; then
    # shellcheck disable=SC2086 # one argument per area
    {
        [ -z "$area" ] || echo "Unknown area: $area"
        echo "usage: make evidence AREA=<area>; the areas are:"
        printf '    %s\n' ${known:-"(none yet)"}
    } >&2
    exit 2
fi

text() { # text VALUE: as a JSON string
    printf '"%s"' "$(printf '%s' "$1" | tr -d '\000-\037' | sed 's/\\/\\\\/g; s/"/\\"/g')"
}

cpuinfo() { # cpuinfo FIELD: its first value in /proc/cpuinfo
    sed -n "/^$1[^a-z:]*: /{s///p;q}" /proc/cpuinfo
}

isas() { # the flags that decide which path a kernel runs on, as a JSON list; bench/src/machine.rs records the same
    local flags list=
    flags=" $(cpuinfo flags) "
    for flag in avx2 fma bmi2 adx avx512f avx512dq avx512vl avx512ifma; do
        [[ $flags != *" $flag "* ]] || list+="${list:+, }\"$flag\""
    done
    printf '[%s]' "$list"
}

number() { # number VALUE: as JSON, null if empty
    printf '%s' "${1:-null}"
}

scripts/setup.sh build
# These run Python: paillier compares with GMP, python tests the package.
case $area in paillier | python) scripts/setup.sh python ;; esac
# These simulate hardware.
case $area in hw | lane | engines | hls) scripts/setup.sh hw ;; esac
# This one proves intervals with OR-tools.
[ "$area" != hls ] || scripts/setup.sh hls-oracle
# This one boots Linux.
[ "$area" != nvme ] || scripts/setup.sh guest
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
commit=$(git rev-parse HEAD 2>/dev/null || echo unknown)
[ -z "$(git status --porcelain -- . ":!evidence" ":!bench/*.json" 2>/dev/null)" ] || commit="$commit with uncommitted changes"

# Built first, so that the time is that of the run.
cargo build --release --locked --example "evidence-$area"
SECONDS=0
started=$(date -u +%Y-%m-%dT%H:%M:%SZ)
CIPHERMILL_EVIDENCE="$work/results.json" cargo run --quiet --release --locked --example "evidence-$area"
{
    printf '{"schema": "ciphermill-evidence/1", "area": %s, "command": %s, ' "$(text "$area")" "$(text "make evidence AREA=$area")"
    printf '"commit": %s, "started": "%s", "wall_s": %d, ' "$(text "$commit")" "$started" "$SECONDS"
    printf '"isa": %s, ' "$(text "${CIPHERMILL_ISA:-best}")"
    printf '"machine": {"cpu": %s, ' "$(text "$(cpuinfo "model name")")"
    printf '"cpu_family": %s, "cpu_model": %s, ' "$(number "$(cpuinfo "cpu family")")" "$(number "$(cpuinfo model)")"
    printf '"cpu_stepping": %s, "isa_offered": %s, ' "$(number "$(cpuinfo stepping)")" "$(isas)"
    printf '"cores": %d, "memory_mib": %d, ' "$(nproc)" "$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo)"
    printf '"kernel": %s, "rustc": %s}, "results": ' "$(text "$(uname -sr)")" "$(text "$(rustc --version)")"
    cat "$work/results.json"
    echo '}'
} >"$work/record.json"
mkdir -p evidence
python3 -m json.tool "$work/record.json" "$work/pretty.json"
mv "$work/pretty.json" "evidence/$area.json"
echo "Written: evidence/$area.json"
