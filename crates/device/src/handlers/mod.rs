//! One handler per scheme: the only place in this crate that names one.

pub mod bfv;
pub mod tfhe;

use std::io::Read;

use ciphermill_program::VrId;

use crate::handler::HandlerError;

/// Reads an object of a size that [`ObjectHandler::check_size`](crate::handler::ObjectHandler::check_size) has bounded.
fn read_whole(id: VrId, size: u64, content: &mut dyn Read) -> Result<Vec<u8>, HandlerError> {
    let mut bytes = Vec::new();
    content.take(size.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| HandlerError::read(id, e))?;
    Ok(bytes)
}
