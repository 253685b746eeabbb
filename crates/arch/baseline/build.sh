#!/usr/bin/env bash
# Builds the baselines' programs: build.sh [FOLDER], by default into the folder of this script, where they are committed.
# The same compiler (compiler.txt) gives the same bytes; crates/arch/tests/scalar_elf.rs checks that.
set -euo pipefail
cd "$(dirname "$0")"
out="${1:-.}"
prefix="${CROSS:-riscv64-linux-gnu-}"

version() { # what the bytes depend on
    "${prefix}gcc" --version | head -n 1
    "${prefix}ld" --version | head -n 1
}

if [ "$out" = . ]; then version >compiler.txt; fi
for program in naive textbook shoup rvfhe; do
    "${prefix}gcc" -O2 -march=rv64im -mabi=lp64 -mcmodel=medlow -mno-relax -nostdlib -static -no-pie -fno-pie \
        -ffreestanding -fno-stack-protector -fno-asynchronous-unwind-tables -fno-tree-loop-distribute-patterns \
        -I ../../rvfhe/include -std=c11 -Wall -Wextra -Werror \
        -Wl,--build-id=none -Wl,--no-warn-rwx-segments -Wl,-T,baseline.ld \
        start.S "ntt-$program.c" -o "$out/ntt-$program.elf"
    "${prefix}strip" -s -K transform_begin -K transform_end "$out/ntt-$program.elf"
done
