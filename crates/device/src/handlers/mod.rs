//! One handler per scheme: the only place in this crate that names one.

pub mod bfv;
pub mod paillier;
mod standard;
mod stored_only;
pub mod tfhe;

pub use standard::{Engines, Policy, standard};
pub use stored_only::StoredOnly;

use std::any::Any;
use std::fmt::Display;
use std::io::Read;
use std::sync::LazyLock;

use ciphermill_program::{InstructionSet, VrId};

use crate::handler::{HandlerError, KeyContext, KeyShape, TypeDescriptor};

/// The instructions of a device with all handlers of this crate: those of the paper, BFV and Paillier.
///
/// ```
/// use ciphermill_device::handlers;
/// use ciphermill_program::{Bindings, assemble, disassemble};
///
/// let set = handlers::instruction_set();
/// let assembly = assemble(set, "HomAdd 3:0:1, 4:0:3 # a comment\nreturn 3:0:1", &Bindings::new())?;
/// assert_eq!(disassemble(&assembly.program), "homadd 3:0:1, 4:0:3\nreturn 3:0:1\n");
/// # Ok::<(), ciphermill_program::AsmError>(())
/// ```
///
/// # Panics
/// Never: the tests of this crate build the set.
#[must_use]
pub fn instruction_set() -> &'static InstructionSet {
    static SET: LazyLock<InstructionSet> = LazyLock::new(|| {
        InstructionSet::new([&tfhe::SCHEME, &bfv::SCHEME, &paillier::SCHEME]).expect("the schemes go together")
    });
    &SET
}

/// The object types of a device with all handlers of this crate, besides programs.
///
/// ```
/// use ciphermill_device::handlers;
///
/// assert!(handlers::types().any(|known| known.name == "plain matrix"));
/// ```
pub fn types() -> impl Iterator<Item = &'static TypeDescriptor> {
    [&tfhe::TYPES[..], &bfv::TYPES, &paillier::TYPES].into_iter().flatten()
}

/// Reads an object of a size that [`ObjectHandler::check_size`](crate::handler::ObjectHandler::check_size) has bounded.
fn read_whole(id: VrId, size: u64, content: &mut dyn Read) -> Result<Vec<u8>, HandlerError> {
    let mut bytes = Vec::new();
    content.take(size.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| HandlerError::read(id, e))?;
    Ok(bytes)
}

/// The shape of a Key ID in the handler's own type; `None` if nothing is stored there yet. The device never mixes handlers, so the type is
/// right wherever there is a shape.
fn downcast<Shape: KeyShape>(shape: Option<&dyn KeyShape>) -> Option<&Shape> {
    shape.and_then(|shape| (shape as &dyn Any).downcast_ref())
}

/// The key or the prepared operand of an instruction, in the handler's own form.
fn loaded<'a, Loaded: KeyContext>(held: Option<&'a dyn KeyContext>, what: &str) -> Result<&'a Loaded, HandlerError> {
    held.and_then(|held| (held as &dyn Any).downcast_ref())
        .ok_or_else(|| HandlerError::Engine { what: format!("{what} came without its loaded key") })
}

/// A scheme's error over content that is being judged.
trait ContentError: Display {
    /// Returns the error of the reader if the error is one, else the error itself.
    fn into_io(self) -> Result<std::io::Error, Self>
    where
        Self: Sized;

    /// Whether an explicit opt-in to insecure parameters would accept the content.
    fn needs_opt_in(&self) -> bool;
}

/// The error of the content of a register. A failed read is not an error of the content.
fn invalid(id: VrId, error: impl ContentError) -> HandlerError {
    match error.into_io() {
        Ok(source) => HandlerError::read(id, source),
        Err(other) if other.needs_opt_in() => HandlerError::Insecure { id, what: other.to_string() },
        Err(other) => HandlerError::Invalid { id, what: other.to_string() },
    }
}

/// The error of an operand of an instruction.
fn operand_error(id: VrId, error: &dyn Display) -> HandlerError {
    HandlerError::Operand { id, what: error.to_string() }
}
