//! Whether the descriptor of a command's data fits the command.

use super::job::refuse;
use crate::{CommandError, Status, command::Sgl, server::io::Sizes};

/// Whether the descriptor of the data is one that fits the command; `came` are the bytes in the capsule.
pub(super) fn judge_sgl(sgl: &Sgl, sizes: &Sizes, came: Option<usize>) -> Result<(), CommandError> {
    let length = sgl.length as usize;
    let wanted = sizes.from_host.max(sizes.to_host);
    match (sgl.identifier, came) {
        _ if wanted == 0 => {
            return match came {
                Some(_) => refuse(Status::INVALID_FIELD, "the command takes no data"),
                None => Ok(()),
            };
        }
        (Sgl::IN_CAPSULE, _) if sizes.from_host == 0 => {
            return refuse(Status::SGL_TYPE_INVALID, "data to the host do not fit into a capsule");
        }
        (Sgl::IN_CAPSULE, came) => {
            if sgl.address != 0 {
                return refuse(Status::SGL_OFFSET_INVALID, "data in a capsule begin at its offset 0");
            }
            if came != Some(length) {
                let came = came.unwrap_or(0);
                let detail = format!("the capsule has {came} bytes of data, its SGL descriptor has {length}");
                return refuse(Status::DATA_SGL_LENGTH_INVALID, detail);
            }
        }
        (Sgl::TRANSPORT, None) => {}
        (Sgl::TRANSPORT, Some(_)) => {
            return refuse(Status::INVALID_SGL_DESCRIPTOR, "the capsule has data that its descriptor does not name");
        }
        (identifier, _) => {
            return refuse(Status::SGL_TYPE_INVALID, format!("descriptors are 01h or 5ah, not {identifier:02x}h"));
        }
    }
    // Dataset Management may come with the room for all 256 ranges, whatever it names.
    let most = if sizes.more_allowed { wanted.max(4096) } else { wanted };
    if (wanted..=most).contains(&length) {
        return Ok(());
    }
    refuse(
        Status::DATA_SGL_LENGTH_INVALID,
        format!("the command moves {wanted} bytes, its SGL descriptor has {length}"),
    )
}
