//! Writes the files generated from the encodings: `include/rvfhe.inc`, `include/rvfhe.h` and the table of
//! `docs/rvfhe-isa.md`.

use std::error::Error;
use std::fs;
use std::path::Path;

use ciphermill_rvfhe::isa::gnu;

fn main() -> Result<(), Box<dyn Error>> {
    let crate_folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::write(crate_folder.join("include/rvfhe.inc"), gnu::assembler_include())?;
    fs::write(crate_folder.join("include/rvfhe.h"), gnu::c_header())?;
    let page = crate_folder.join("../../docs/rvfhe-isa.md");
    let text =
        gnu::with_table(&fs::read_to_string(&page)?).ok_or("docs/rvfhe-isa.md lacks the lines around the table")?;
    fs::write(&page, text)?;
    println!("wrote include/rvfhe.inc, include/rvfhe.h and the table of docs/rvfhe-isa.md");
    Ok(())
}
