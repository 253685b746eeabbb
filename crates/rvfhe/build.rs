//! Generates Rust code from the encodings in `opcodes/`: masks, values and fields of every instruction.

#[path = "build/generate.rs"]
mod generate;
#[path = "build/opcodes.rs"]
mod opcodes;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use opcodes::{Argument, Instruction};

/// The generated enumerations, each with its source files, whose words must be distinct.
const SETS: [(&str, &str, &[&str]); 2] = [
    (
        "Mnemonic",
        "An instruction of RVFHE or of an array core's front end, without its operands.",
        &["rv_xrvfhe", "rv_frontend"],
    ),
    ("PaperMnemonic", "An instruction of the paper's Table 2, without its operands.", &["rv_rvfhe_paper"]),
];

fn main() {
    if let Err(message) = build() {
        // Cargo shows the standard error of a build script that fails.
        eprintln!("ciphermill-rvfhe: {message}");
        std::process::exit(1);
    }
}

fn build() -> Result<(), String> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let crate_folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("CARGO_MANIFEST_DIR is not set")?);
    let folder = crate_folder.join("opcodes");
    println!("cargo::rerun-if-changed=build");
    println!("cargo::rerun-if-changed=opcodes");

    let arguments: Vec<Argument> = opcodes::arguments("arg_lut.csv", &read(&folder.join("arg_lut.csv"))?)?;
    let mut text = generate::fields(&arguments);
    for (name, what, files) in SETS {
        let mut set: Vec<Instruction> = Vec::new();
        for &file in files {
            set.extend(opcodes::instructions(file, &read(&folder.join(file))?, &arguments)?);
        }
        opcodes::told_apart(&set)?;
        text.push_str(&generate::mnemonics(name, what, &set)?);
    }
    let target = out.join("encodings.rs");
    fs::write(&target, text).map_err(|error| format!("{}: {error}", target.display()))
}

/// Reads a text of limited size.
fn read(path: &Path) -> Result<String, String> {
    let length = fs::metadata(path).map_err(|error| format!("{}: {error}", path.display()))?.len();
    if length > opcodes::MAX_BYTES as u64 {
        return Err(format!("{}: {length} bytes, at most {} are read", path.display(), opcodes::MAX_BYTES));
    }
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}
