//! The committed programs equal a build of their sources, and invalid files are rejected.

use ciphermill_testing::{Need, not_run};
use std::process::Command;

use crate::scalar_support::assemble::*;
use crate::scalar_support::tools::{Folder, baseline_folder, have};
use ciphermill_arch::scalar::{ElfError, Program, Variant};
use proptest::prelude::*;

#[test]
fn committed_programs_are_what_their_sources_compile_to() {
    if !have("riscv64-linux-gnu-gcc", "whether the committed programs are up to date") {
        return;
    }
    let first_line = |program: &str| {
        let output = Command::new(program).arg("--version").output().expect("it runs");
        String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned()
    };
    let recorded = std::fs::read_to_string(baseline_folder().join("compiler.txt")).expect("compiler.txt");
    let here = [first_line("riscv64-linux-gnu-gcc"), first_line("riscv64-linux-gnu-ld")];
    let folder = Folder::new("scalar-elf");
    let built = Command::new(baseline_folder().join("build.sh")).arg(&folder.0).status().expect("build.sh runs");
    assert!(built.success(), "build.sh fails");
    if recorded.lines().ne(here.iter()) {
        let what = format_args!("bytes of the committed programs, which are by {recorded:?}; here is {here:?}");
        not_run(Need::Riscv, what);
        return;
    }
    for variant in Variant::ALL {
        let file = folder.0.join(format!("ntt-{}.elf", variant.name()));
        let built = std::fs::read(&file).expect("build.sh has written it");
        assert!(
            built == variant.elf(),
            "ntt-{}.elf is not up to date: run crates/arch/baseline/build.sh",
            variant.name()
        );
    }
}

/// QEMU's instruction count does not use our decoder. This test does: every word of code is an instruction.
#[test]
fn committed_programs_decode() {
    for variant in Variant::ALL {
        let program = variant.program().expect("a program");
        let begin = program.symbol("transform_begin").expect("a symbol");
        assert!(program.code().any(|(address, ..)| address == begin));
        for (address, word, decoded) in program.code() {
            assert!(decoded.is_some(), "{}: {word:#010x} at {address:#x}", variant.name());
        }
    }
}

fn segment(address: u64, flags: u32) -> Segment {
    let bytes = if flags & 1 != 0 { ECALL.to_le_bytes().to_vec() } else { vec![] };
    Segment { address, bytes, memory_bytes: 0x1000, flags }
}

#[test]
fn segments_that_cannot_be() {
    let load = |segments: &[Segment]| Program::from_elf(&elf_of(CODE, segments));
    assert!(load(&[segment(CODE, 5), segment(DATA, 6)]).is_ok());
    let refused = |segments: &[Segment], wanted: &str| match load(segments) {
        Err(ElfError::Segment { problem, .. }) => assert!(problem.contains(wanted), "{problem}"),
        other => panic!("{wanted}: {other:?}"),
    };
    refused(&[segment(CODE, 7)], "writable and executable");
    refused(&[segment(CODE, 5), segment(CODE + 0xfff, 6)], "overlaps");
    refused(&[segment(CODE, 5), segment(Program::ADDRESS_MAX - 0xfff, 6)], "outside memory");
    refused(&[segment(CODE, 5), segment(u64::MAX - 5, 6)], "outside memory");
    refused(&[segment(CODE + 2, 5)], "multiple of 4");
    let long = Segment { memory_bytes: 2, ..segment(CODE, 5) };
    refused(&[long], "longer in the file");
    let huge = Segment { memory_bytes: u64::MAX, ..segment(CODE, 5) };
    refused(&[huge], "outside memory");
    let mut many = vec![segment(CODE, 5)];
    many.extend((0..Program::SEGMENTS_MAX as u64).map(|i| segment(DATA + (i << 12), 6)));
    assert_eq!(
        load(&many).err(),
        Some(ElfError::TooMany { what: "loadable segments", given: 17, limit: Program::SEGMENTS_MAX })
    );
}

#[test]
fn files_of_something_else() {
    let good = elf(&[ECALL]);
    assert!(Program::from_elf(&good).is_ok());
    let with = |at: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        Program::from_elf(&file).expect_err("it is refused")
    };
    assert!(matches!(with(0, b"MZ"), ElfError::Malformed(_)));
    assert!(matches!(with(4, &[1]), ElfError::Malformed(_)), "32 bits");
    assert!(matches!(with(5, &[2]), ElfError::Kind { what: "the byte order", given: 2, wanted: 1 }));
    assert!(matches!(with(16, &[3]), ElfError::Kind { what: "the file type", given: 3, wanted: 2 }));
    assert!(matches!(with(18, &[62]), ElfError::Kind { what: "the machine", given: 62, wanted: 243 }));
    assert!(matches!(with(24, &(CODE + 2).to_le_bytes()), ElfError::Entry { .. }));
    assert!(matches!(with(24, &DATA.to_le_bytes()), ElfError::Entry { .. }));
    assert!(matches!(with(24, &u64::MAX.to_le_bytes()), ElfError::Entry { .. }));
    assert!(matches!(with(32, &u64::MAX.to_le_bytes()), ElfError::Malformed(_)), "program headers outside of the file");
    assert!(matches!(Program::from_elf(&[]), Err(ElfError::Malformed(_))));
    let long = vec![0; Program::FILE_MAX + 1];
    assert_eq!(Program::from_elf(&long).err(), Some(ElfError::TooLong { given: long.len(), limit: Program::FILE_MAX }));
    let program = Program::from_elf(&good).expect("a program");
    assert_eq!(program.symbol("transform_begin"), Err(ElfError::MissingSymbol { name: "transform_begin" }));
}

#[test]
fn truncated_files() {
    let file = Variant::Naive.elf();
    let mut refused = 0;
    for length in 0..file.len() {
        refused += u32::from(Program::from_elf(&file[..length]).is_err());
    }
    // The section headers end the file; without them there is nothing to read symbols from.
    assert_eq!(refused as usize, file.len());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2000) })]

    /// Changed headers give a program or an error.
    #[test]
    fn changed_files(changes in prop::collection::vec((0usize..0x100, any::<u8>()), 1..6), tail: bool) {
        let mut file = Variant::Naive.elf().to_vec();
        let base = if tail { file.len() - 0x200 } else { 0 };
        for (at, byte) in changes {
            file[base + at] = byte;
        }
        if let Ok(program) = Program::from_elf(&file) {
            let _ = program.symbol("transform_begin");
        }
    }
}
