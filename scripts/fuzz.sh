#!/usr/bin/env bash
# `make fuzz`: runs each target of the fuzz/ workspace for FUZZ_SECONDS; FUZZ_TARGETS picks some. Each begins with the inputs
# committed in fuzz/corpus/<target>, which it must bear; new ones go to fuzz/found/<target>, a crash goes to
# fuzz/artifacts/<target>. A target that fails does not keep the others from running; the exit status is then 1.
# SANITIZER=address builds them with AddressSanitizer.
#
# libFuzzer's coverage comes from LLVM's own pass, which stable Rust can be told to run; so neither cargo-fuzz nor a nightly
# compiler is needed. AddressSanitizer's runtime comes with the stable toolchain, but its flag has to be unlocked.
set -euo pipefail
cd "$(dirname "$0")/.."

scripts/setup.sh fuzz
# Naming --target keeps the flags from build scripts and procedural macros.
host=$(rustc -vV | sed -n 's/^host: //p')
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
-Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
folder=fuzz/target
case ${SANITIZER:-} in
    '') ;;
    address)
        runtime=$(rustc --print sysroot)/lib/rustlib/$host/lib
        if ! compgen -G "$runtime/librustc-*rt.asan.*" >/dev/null; then
            echo "SANITIZER=address: this Rust toolchain has no AddressSanitizer for $host" >&2
            exit 2
        fi
        export RUSTC_BOOTSTRAP=1
        RUSTFLAGS+=" -Zsanitizer=address"
        folder=fuzz/target/address
        ;;
    *)
        echo "SANITIZER=$SANITIZER: give address, or nothing" >&2
        exit 2
        ;;
esac
cargo build --release --locked --features libfuzzer --manifest-path fuzz/Cargo.toml --target "$host" --target-dir "$folder"

summary=() failed=0
for target in ${FUZZ_TARGETS:-$(find fuzz/fuzz_targets -name '*.rs' -exec basename {} .rs \; | sort)}; do
    printf '\n== %s, %s s\n' "$target" "${FUZZ_SECONDS:=60}"
    mkdir -p "fuzz/found/$target" "fuzz/artifacts/$target"
    run=("$folder/$host/release/$target" -timeout=20 -rss_limit_mb=2048 "-artifact_prefix=fuzz/artifacts/$target/")
    log=$(mktemp)
    result=ok
    "${run[@]}" -runs=0 "fuzz/corpus/$target" >"$log" 2>&1 || { result='FAILED on a committed input' failed=1; }
    if [ "$result" = ok ]; then
        "${run[@]}" -max_total_time="$FUZZ_SECONDS" -print_final_stats=1 "fuzz/found/$target" "fuzz/corpus/$target" 2>&1 |
            tee "$log" || { result=FAILED failed=1; }
    else
        cat "$log"
    fi
    rate=$(sed -n 's/^stat::average_exec_per_sec: *//p' "$log")
    summary+=("$(printf '%-8s %-22s %s inputs/s' "$result" "$target" "${rate:-?}")")
    rm -f "$log"
done
printf '\n== fuzz: summary\n'
printf '%s\n' "${summary[@]}"
exit $failed
