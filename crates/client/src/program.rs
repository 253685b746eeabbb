//! Programs of the device in files: assembly text or the binary form.

use std::path::Path;

use ciphermill_device::handlers;
use ciphermill_program::{Binding, Bindings, LineMap, Program, VrId, assemble};

use crate::error::ClientError;
use crate::files;

/// The longest file of a program that is read, in bytes.
const MAX_PROGRAM_BYTES: u64 = 16 << 20;

/// A program that was read from a file.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// std::fs::write(&path, "# 2 a\nhomadd a, a\nreturn a\n")?;
/// let loaded = program::load(&path, &["a=3:0:2".parse()?])?;
/// assert_eq!(loaded.names[0].1.to_string(), "3:0:2");
/// assert_eq!(loaded.lines.and_then(|lines| lines.line(0)), Some(2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LoadedProgram {
    /// The program.
    pub program: Program,
    /// The lines of its instructions, if the file is a text.
    pub lines: Option<LineMap>,
    /// The names of the text and their registers.
    pub names: Vec<(String, VrId)>,
}

/// Reads a program, in text or binary form. `bindings` give registers to the open names of a text.
///
/// ```
/// use ciphermill_client::program;
///
/// # fn main() -> Result<(), ciphermill_client::ClientError> {
/// let directory = tempfile::tempdir().expect("a directory");
/// let path = directory.path().join("double.cms");
/// std::fs::write(&path, "homadd x, x\nreturn x\n").expect("room");
/// let loaded = program::load(&path, &["x=3:0:2".parse().expect("a binding")])?;
/// assert_eq!(loaded.program.instructions().len(), 2);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// [`ClientError::File`], [`ClientError::Content`], [`ClientError::Binding`], or [`ClientError::BoundBinary`] for bindings with
/// a binary program.
pub fn load(path: &Path, bindings: &[Binding]) -> Result<LoadedProgram, ClientError> {
    let bytes = files::read(path, MAX_PROGRAM_BYTES)?;
    if bytes.starts_with(&ciphermill_wire::MAGIC) {
        if !bindings.is_empty() {
            return Err(ClientError::BoundBinary { path: path.to_owned() });
        }
        let program = Program::decode(handlers::instruction_set(), &bytes).map_err(ClientError::content(path))?;
        return Ok(LoadedProgram { program, lines: None, names: Vec::new() });
    }
    let bindings = Bindings::collect(bindings.iter().cloned())?;
    let assembly = assemble(handlers::instruction_set(), files::utf8(path, &bytes)?, &bindings)
        .map_err(ClientError::content(path))?;
    Ok(LoadedProgram { program: assembly.program, lines: Some(assembly.lines), names: assembly.names })
}
