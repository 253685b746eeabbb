//! The committed programs under QEMU's user mode: the same words and exactly the same number of instructions.

use crate::scalar_support::tools::{Folder, have, qemu, qemu_traced};
use crate::scalar_support::{baseline, expected, machine, words};
use ciphermill_arch::scalar::{Ring, Variant, run};

/// The variants that QEMU can run; it has no RVFHE instructions.
const STANDARD: [Variant; 3] = [Variant::Naive, Variant::Textbook, Variant::Shoup];

#[test]
fn instruction_counts_equal_those_of_qemu() {
    if !have("qemu-riscv64", "the count of instructions") {
        return;
    }
    let folder = Folder::new("scalar-qemu");
    let machine = machine(true);
    for variant in STANDARD {
        let program = variant.program().expect("a program");
        let begin = program.symbol("transform_begin").expect("a symbol");
        let end = program.symbol("transform_end").expect("a symbol");
        for ring in [Ring::Cyclic, Ring::Negacyclic] {
            let baseline = baseline(variant, ring, 1 << 10);
            let input = words(1 << 10, baseline.modulus, 7);
            let ours = run(&machine, &baseline, &input).expect("it runs");
            let theirs = qemu_traced(&folder, variant.elf(), &baseline.input(&input).expect("an input"));
            assert_eq!(theirs.status, 0);
            let bytes: Vec<u8> = ours.output.iter().flat_map(|word| word.to_le_bytes()).collect();
            assert_eq!(theirs.output, bytes, "{baseline:?}");
            assert_eq!(theirs.trace.len() as u64, ours.program_instructions, "{baseline:?}: the whole program");
            let first = |address| theirs.trace.iter().position(|&pc| pc == address).expect("it is executed");
            assert_eq!((first(end) - first(begin)) as u64, ours.instructions, "{baseline:?}: the transform");
            println!(
                "{:10} {:10} 2^10: {} instructions, {} of them the transform, both here and in QEMU",
                variant.name(),
                ring.name(),
                ours.program_instructions,
                ours.instructions
            );
        }
    }
}

#[test]
fn the_greatest_size_gives_the_same_words_in_qemu() {
    if !have("qemu-riscv64", "the programs on another implementation") {
        return;
    }
    let folder = Folder::new("scalar-qemu-words");
    for variant in STANDARD {
        for ring in [Ring::Cyclic, Ring::Negacyclic] {
            let baseline = baseline(variant, ring, 1 << 14);
            let input = words(1 << 14, baseline.modulus, 14);
            let (status, output) = qemu(&folder, variant.elf(), &baseline.input(&input).expect("an input"));
            assert_eq!(status, 0);
            let bytes: Vec<u8> = expected(&baseline, &input).iter().flat_map(|word| word.to_le_bytes()).collect();
            assert!(output == bytes, "{baseline:?}");
        }
    }
}
