#!/usr/bin/env bash
# `make miri`: runs tests of `unsafe` code outside of SIMD under Miri, which finds undefined behaviour: automorphisms, combinations
# of rows, buffers and the portable transforms. It needs a nightly toolchain with the components miri and rust-src.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo +nightly miri --version >/dev/null 2>&1; then
    echo "make miri: rustup toolchain install nightly --component miri,rust-src" >&2
    exit 2
fi
# Seeds come from the system. Miri has no vector instructions, so that the portable paths run.
export MIRIFLAGS="-Zmiri-disable-isolation" CIPHERMILL_ISA=portable PROPTEST_CASES=2 RUSTFLAGS=
miri() { # miri ARGUMENTS…: of cargo test
    cargo +nightly miri test --locked --target-dir "${CARGO_TARGET_DIR:-target}/miri" "$@"
}
miri -p ciphermill-math --lib -- automorphism::tests::coefficients automorphism::tests::automorphisms combination
miri -p ciphermill-math --test integration -- \
    fft_paths::forward_gives fft_paths::monomials fft_paths::every_coefficient fft_paths::asking fft_paths::spectra
