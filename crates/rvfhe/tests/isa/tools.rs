//! Debian's binutils, GCC and QEMU for RISC-V.

use ciphermill_testing::{Need, not_run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use tempfile::TempDir;

pub(crate) const AS: &str = "riscv64-linux-gnu-as";
pub(crate) const GCC: &str = "riscv64-linux-gnu-gcc";
pub(crate) const OBJCOPY: &str = "riscv64-linux-gnu-objcopy";
pub(crate) const OBJDUMP: &str = "riscv64-linux-gnu-objdump";
pub(crate) const QEMU: &str = "qemu-riscv64";

/// The tools, and a working folder.
pub(crate) struct Tools {
    folder: TempDir,
}

impl Tools {
    /// `None`, and a report, if one of `programs` is missing.
    pub(crate) fn find(programs: &[&str]) -> Option<Self> {
        for program in programs {
            let there = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
            if !there {
                not_run(Need::Riscv, format_args!("{program} is not installed; use `make setup` as root"));
                return None;
            }
        }
        Some(Self { folder: TempDir::new().unwrap() })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.path(name), content).unwrap();
    }

    /// Runs a program in the folder.
    pub(crate) fn run(&self, program: &str, arguments: &[&str]) -> Output {
        Command::new(program).args(arguments).current_dir(self.folder.path()).output().unwrap()
    }

    /// Runs a program that must succeed, and returns its standard output.
    pub(crate) fn output(&self, program: &str, arguments: &[&str]) -> String {
        let output = self.run(program, arguments);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program} {arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The assembler's messages for a text with our macros.
    pub(crate) fn assemble(&self, text: &str) -> Output {
        self.write("text.s", format!(".include \"rvfhe.inc\"\n.option norelax\n.text\n{text}\n"));
        self.run(AS, &["-march=rv64i_zicsr", "-I", include_folder().to_str().unwrap(), "-o", "text.o", "text.s"])
    }

    /// The words of the text section of an object file.
    pub(crate) fn words(&self, object: &str) -> Vec<u32> {
        self.output(OBJCOPY, &["-O", "binary", "-j", ".text", object, "words.bin"]);
        let bytes = fs::read(self.path("words.bin")).unwrap();
        let (words, rest) = bytes.as_chunks::<4>();
        assert!(rest.is_empty(), "{} bytes", bytes.len());
        words.iter().map(|word| u32::from_le_bytes(*word)).collect()
    }
}

pub(crate) fn include_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include")
}

/// A line of a disassembly: the address, the printed digits of the instruction, and its text.
pub(crate) struct Line {
    pub(crate) address: u64,
    pub(crate) digits: String,
    pub(crate) text: String,
}

/// The instructions in the output of objdump.
pub(crate) fn lines(output: &str) -> Vec<Line> {
    let line = |line: &str| {
        let (address, rest) = line.split_once(':')?;
        let address = u64::from_str_radix(address.trim(), 16).ok()?;
        let mut columns = rest.split('\t').map(str::trim).filter(|column| !column.is_empty());
        let digits = columns.next()?.to_owned();
        Some(Line { address, digits, text: columns.collect::<Vec<_>>().join(" ") })
    };
    output.lines().filter_map(line).collect()
}
