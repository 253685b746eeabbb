#!/usr/bin/env bash
# `make fuzz`: runs each target of the fuzz/ workspace for FUZZ_SECONDS; FUZZ_TARGETS picks some. It starts from
# the inputs committed in fuzz/corpus/<target>; new ones go to fuzz/found/<target>, a crash goes to fuzz/artifacts/<target>
# and ends the run.
#
# libFuzzer's coverage comes from LLVM's own pass, which stable Rust can be told to run; so neither cargo-fuzz nor a nightly
# compiler is needed. The feature `libfuzzer` of the fuzz crate links libFuzzer itself; `make test`
# leaves it off and so checks the targets without a C++ compiler.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh fuzz
# Naming --target keeps the flags from build scripts and procedural macros.
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
cargo build --release --locked --features libfuzzer --manifest-path fuzz/Cargo.toml --target "$host" --target-dir fuzz/target

for target in ${FUZZ_TARGETS:-$(find fuzz/fuzz_targets -name '*.rs' -exec basename {} .rs \; | sort)}; do
    printf '\n== %s, %s s\n' "$target" "${FUZZ_SECONDS:=60}"
    mkdir -p "fuzz/found/$target" "fuzz/artifacts/$target"
    "fuzz/target/$host/release/$target" "fuzz/found/$target" "fuzz/corpus/$target" -max_total_time="$FUZZ_SECONDS" -timeout=20 \
        -rss_limit_mb=2048 -artifact_prefix="fuzz/artifacts/$target/" -print_final_stats=1
done
