//! Admin commands and their responses.

use super::{
    call::{Call, Port},
    error::InitiatorError,
    request::{Payload, Reply},
    session::malformed,
};
use crate::{
    BLOCK_BYTES,
    command::{Command, admin},
    identify::{Descriptors, IDENTIFY_BYTES, NamespaceIdentity, cns, decode_descriptors},
    log::LogRequest,
};
use std::{fmt, time::Duration};

/// A known namespace: enough to distinguish it from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamespaceRecord {
    pub(super) nsid: u32,
    pub(super) blocks: u64,
    nguid: [u8; 16],
    descriptors: Descriptors,
}

impl NamespaceRecord {
    /// Whether both are the same device. One that has grown still is; one that has shrunk is taken for another.
    pub(super) fn same_as(&self, before: &Self) -> bool {
        self.nguid == before.nguid && self.descriptors == before.descriptors && self.blocks >= before.blocks
    }

    /// Its UUID, or its NGUID where it has no UUID.
    pub(super) fn uuid(&self) -> [u8; 16] {
        self.descriptors.uuid.or(self.descriptors.nguid).unwrap_or(self.nguid)
    }
}

impl fmt::Display for NamespaceRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let uuid = uuid::Uuid::from_bytes(self.uuid());
        write!(f, "namespace {} with {} blocks and UUID {uuid}", self.nsid, self.blocks)
    }
}

async fn call(port: &Port, time: Duration, command: Command, payload: Payload) -> Result<Reply, InitiatorError> {
    let reply = port.call(Call { command, payload, time: Some(time), repeatable: true }).await?;
    if reply.status.is_success() { Ok(reply) } else { Err(reply.status.into()) }
}

/// Identify: the 4,096 bytes of a structure.
pub(super) async fn identify(
    port: &Port,
    time: Duration,
    structure: u8,
    nsid: u32,
    command_set: u8,
) -> Result<Vec<u8>, InitiatorError> {
    let dwords = [u32::from(structure), u32::from(command_set) << 24, 0, 0, 0, 0];
    let command = Command { opcode: admin::IDENTIFY, nsid, dwords, ..Command::default() };
    let payload = Payload::In { length: IDENTIFY_BYTES, exact: true };
    Ok(call(port, time, command, payload).await?.data)
}

/// The record of a namespace, if this initiator can use it.
pub(super) async fn namespace(port: &Port, time: Duration, nsid: u32) -> Result<NamespaceRecord, InitiatorError> {
    let refuse = |what: String| InitiatorError::Namespace { nsid, what };
    let data = identify(port, time, cns::NAMESPACE, nsid, 0).await?;
    let identity = NamespaceIdentity::decode(&data).map_err(|error| malformed("Identify Namespace", &error))?;
    if identity.size == 0 {
        return Err(refuse("it is not attached, or has no blocks".into()));
    }
    if 1usize.checked_shl(identity.block_shift.into()) != Some(BLOCK_BYTES) || identity.metadata_bytes != 0 {
        return Err(refuse(format!(
            "its blocks have 2^{} bytes and {} of metadata; only 4,096 and none are supported",
            identity.block_shift, identity.metadata_bytes
        )));
    }
    let data = identify(port, time, cns::DESCRIPTORS, nsid, 0).await?;
    let descriptors = decode_descriptors(&data);
    if descriptors.command_set.is_some_and(|set| set != 0) {
        return Err(refuse("it has another command set than NVM".into()));
    }
    Ok(NamespaceRecord { nsid, blocks: identity.size, nguid: identity.nguid, descriptors })
}

pub(super) async fn set_feature(port: &Port, time: Duration, feature: u8, value: u32) -> Result<u32, InitiatorError> {
    let dwords = [u32::from(feature), value, 0, 0, 0, 0];
    let command = Command { opcode: admin::SET_FEATURES, dwords, ..Command::default() };
    Ok(call(port, time, command, Payload::None).await?.result as u32)
}

pub(super) async fn get_feature(
    port: &Port,
    time: Duration,
    nsid: u32,
    feature: u8,
    selector: u32,
) -> Result<u32, InitiatorError> {
    let dwords = [u32::from(feature), selector, 0, 0, 0, 0];
    let command = Command { opcode: admin::GET_FEATURES, nsid, dwords, ..Command::default() };
    Ok(call(port, time, command, Payload::None).await?.result as u32)
}

/// A part of a log page; a page that ends earlier gives fewer bytes.
pub(super) async fn log_page(
    port: &Port,
    time: Duration,
    nsid: u32,
    page: u8,
    offset: u64,
    length: usize,
) -> Result<Vec<u8>, InitiatorError> {
    let request = LogRequest { page, length: length as u64, offset, retain_event: false };
    let command = Command { opcode: admin::GET_LOG_PAGE, nsid, dwords: request.dwords(), ..Command::default() };
    Ok(call(port, time, command, Payload::In { length, exact: false }).await?.data)
}

/// Abort; whether the command was found in time.
pub(super) async fn abort(port: &Port, time: Duration, queue: u16, command: u16) -> Result<bool, InitiatorError> {
    let dwords = [u32::from(queue) | u32::from(command) << 16, 0, 0, 0, 0, 0];
    let abort = Command { opcode: admin::ABORT, dwords, ..Command::default() };
    Ok(call(port, time, abort, Payload::None).await?.result & 1 == 0)
}
