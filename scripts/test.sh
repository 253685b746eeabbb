#!/usr/bin/env bash
# `make test`: installs what is missing, runs every check, tells at the end what each took. A failing check does not hide
# the ones after it. ISA_PASSES="portable avx2" runs the tests once more with each of these paths forced; the tests walk
# through all paths by themselves, so that such a pass only adds the code that asks for the current one.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh test
SECONDS=0
log=$(mktemp) check_log=$(mktemp)
trap 'rm -f "$log" "$check_log"' EXIT
summary=() failed=0

not_run() { # not_run WHAT: lists work that this machine cannot do; CIPHERMILL_REQUIRE=all makes it a failure
    summary+=("not run         $1")
    [ "${CIPHERMILL_REQUIRE:-}" != all ] || failed=1
}

# What has just been installed must not be skipped: a test that lacks it fails. A plain user may go without some tools, which
# the summary then lists. CIPHERMILL_REQUIRE=all fails every test that cannot run in full (crates/testing/src/skip.rs).
require=python
if [ "$(id -u)" -eq 0 ]; then
    require+=,riscv,guest,valgrind
elif scripts/setup.sh riscv >/dev/null 2>&1; then
    require+=,riscv
fi
export CIPHERMILL_REQUIRE=${CIPHERMILL_REQUIRE:-$require}

check() { # check NAME COMMAND…
    local name=$1 start=$SECONDS result=ok
    shift
    printf '\n== %s\n' "$name"
    "$@" 2>&1 | tee "$check_log" || { result=FAILED failed=1; }
    summary+=("$(printf '%-7s %4d s  %s' "$result" $((SECONDS - start)) "$name")")
    # A log is often kept only in part: what failed is told again at the end. run-tests.py does so itself.
    if [ "$result" = FAILED ]; then
        summary+=("$(grep -E '^(test .* \.\.\. FAILED$|FAILED |ERROR )|WARNING: |(^| )error(\[E[0-9]+\])?: ' "$check_log" | head -n 12 | cut -c 1-200 | sed 's/^/        | /' || true)")
    fi
}

# The hardware units that are simulated: one configuration of each.
export CIPHERMILL_HW=${HW_UNITS:-quick}

# shellcheck disable=SC2317 # called through `check`
tests() { # run them, keep the output for the count. Examples are what clippy has compiled already
    local result=0 all=(--locked --workspace --features ciphermill/rtl --no-fail-fast)
    .venv/bin/python scripts/run-tests.py "${all[@]}" --tests 2>&1 | tee -a "$log" || result=1
    cargo test "${all[@]}" --doc 2>&1 | tee -a "$log" || result=1
    return "$result"
}

check "format" cargo fmt --all --check
check "links between documents" .venv/bin/python scripts/links.py
if command -v shellcheck >/dev/null; then
    check "shell scripts" shellcheck scripts/*.sh scripts/linux-guest/*.sh .ci/run
else
    not_run "shell scripts: shellcheck is not installed"
fi
check "crates and their drawing" .venv/bin/python scripts/crates.py --check
check "figures in pages are those of the records" .venv/bin/python scripts/figures.py --check
check "sums of the papers" .venv/bin/python scripts/papers.py
check "listings of the papers" .venv/bin/python -m unittest discover --quiet scripts/tests
check "limits of the style of texts" .venv/bin/python scripts/prose.py
check "circles of source files" .venv/bin/python scripts/circles.py
check "pictures are of their data (make arch)" sha256sum --check --quiet docs/arch/pictures.sha256
check "picture is of its record (make hls)" sha256sum --check --quiet docs/hls/pictures.sha256
check "picture is of its record (make bench CASES=federated)" sha256sum --check --quiet docs/federated/pictures.sha256
check "picture is of its record (make bench CASES=ray)" sha256sum --check --quiet docs/howto/ray/pictures.sha256
check "Python lints" .venv/bin/ruff check --quiet
check "Python format" .venv/bin/ruff format --quiet --check
check "Python types" .venv/bin/mypy --check-untyped-defs --ignore-missing-imports --exclude '^(target|\.)' .
check "licences, bans, sources" .tools/bin/cargo-deny --locked check --hide-inclusion-graph bans licenses sources
check "software bill of materials" .tools/sbom/bin/python scripts/sbom.py --check
check "clippy" cargo clippy --locked --workspace --all-targets -- -D warnings
check "clippy with the engine rtl" cargo clippy --locked --workspace --features ciphermill/rtl --all-targets -- -D warnings
check "fuzz targets compile" cargo check --locked --manifest-path fuzz/Cargo.toml --target-dir "${CARGO_TARGET_DIR:-target}"
check "hardware" scripts/hw.sh checks
check "tests" tests
# Only the Python tests know the need `browser`.
browser=$([ "$(id -u)" -ne 0 ] || echo ,browser)
check "Python package" env CIPHERMILL_REQUIRE="$CIPHERMILL_REQUIRE$browser" scripts/python.sh test
command -v chromium >/dev/null || not_run "the report of a party in a browser: chromium is not installed"
if [ "$(id -u)" -eq 0 ] || [ -e .tools/chart/built-by ]; then
    check "Helm chart" scripts/chart.sh test
else
    not_run "Helm chart: Helm and kubeconform are not installed"
fi
if [ "$(id -u)" -eq 0 ] || { command -v chromium && command -v chromedriver; } >/dev/null; then
    check "documentation site" scripts/docs.sh test
else
    check "documentation site" scripts/docs.sh test --without-browser
    not_run "documentation site in a browser: chromium or chromedriver is not installed"
fi
# The whole workspace is selected, so that dependencies have the features of the run above and are not built again.
check "the command without the engine rtl" cargo test --locked --workspace --test rtl
for isa in ${ISA_PASSES:-}; do
    check "tests on the $isa path" env CIPHERMILL_ISA="$isa" .venv/bin/python scripts/run-tests.py --locked --workspace --features ciphermill/rtl --tests
done
check "API documentation" env RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --exclude ciphermill-cosim --no-deps

printf '\n== summary\n'
printf '%s\n' "${summary[@]}"
sed -n 's/^NOT RUN: /not run         /p' "$log"
sed -n 's/^FAILED: /failed          /p' "$log"
awk '/^test result:/ { passed += $4; failed += $6 } END { printf "tests: %d passed, %d failed\n", passed, failed }' "$log"
printf 'make test: %s in %d min %02d s\n' "$([ $failed = 0 ] && echo passed || echo FAILED)" $((SECONDS / 60)) $((SECONDS % 60))
exit $failed
