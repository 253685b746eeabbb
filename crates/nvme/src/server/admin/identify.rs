//! Identify.

use super::{Admin, refuse};
use crate::{
    BLOCK_BYTES, CommandError, Status,
    command::{Command, SQE_BYTES},
    fabrics::{DISCOVERY_NQN, VERSION},
    features::event_bits,
    identify::{
        ControllerIdentity, ControllerKind, Descriptors, IDENTIFY_BYTES, NamespaceIdentity, NvmLimits, cns,
        encode_descriptors, encode_namespaces,
    },
    server::{config::Offered, error_log, events},
};

/// The only command set: NVM.
const NVM: u8 = 0;
/// The greatest namespace identifier from which a list may be asked for.
const LAST_NAMESPACE: u32 = 0xffff_fffd;

impl Admin {
    pub(super) fn identify(&self, command: &Command) -> Result<Vec<u8>, CommandError> {
        let (structure, set) = (command.dwords[0] as u8, (command.dwords[1] >> 24) as u8);
        let by_set =
            matches!(structure, cns::COMMAND_SET_NAMESPACE | cns::COMMAND_SET_CONTROLLER | cns::COMMAND_SET_NAMESPACES);
        if self.controller().kind == ControllerKind::Discovery && structure != cns::CONTROLLER {
            return refuse(Status::INVALID_FIELD, "a discovery controller identifies itself only");
        }
        if by_set && set != NVM {
            return refuse(Status::INVALID_FIELD, format!("there is no command set {set}"));
        }
        Ok(match structure {
            cns::CONTROLLER => self.identify_controller(),
            cns::NAMESPACE => identify_namespace(self.visible(command.nsid)?),
            cns::ACTIVE_NAMESPACES | cns::COMMAND_SET_NAMESPACES => {
                if command.nsid > LAST_NAMESPACE {
                    return refuse(Status::INVALID_NAMESPACE, "no list begins there");
                }
                encode_namespaces(self.controller().namespaces.range(command.nsid + 1..).map(|(nsid, _)| *nsid))
            }
            cns::DESCRIPTORS => {
                let uuid = Some(self.visible(command.nsid)?.config.uuid);
                encode_descriptors(&Descriptors { nguid: uuid, uuid, command_set: Some(NVM) })
            }
            // The command set adds nothing about a namespace without metadata.
            cns::COMMAND_SET_NAMESPACE => self.visible(command.nsid).map(|_| vec![0; IDENTIFY_BYTES])?,
            // Write Zeroes and Dataset Management have no limits beyond those of their fields.
            cns::COMMAND_SET_CONTROLLER => NvmLimits::default().encode(),
            cns::INDEPENDENT_NAMESPACE => {
                self.visible(command.nsid)?;
                let mut data = vec![0; IDENTIFY_BYTES];
                // NMIC: shared; NSTAT: ready.
                data[1] = 1;
                data[14] = 1;
                data
            }
            cns::COMMAND_SETS => {
                let mut data = vec![0; IDENTIFY_BYTES];
                data[0] = 1 << NVM;
                data
            }
            _ => return refuse(Status::INVALID_FIELD, format!("there is no structure {structure:02x}h")),
        })
    }

    fn visible(&self, nsid: u32) -> Result<&Offered, CommandError> {
        match self.controller().namespaces.get(&nsid) {
            Some(namespace) => Ok(namespace),
            None => refuse(Status::INVALID_NAMESPACE, format!("the host sees no namespace {nsid}")),
        }
    }

    /// The least atomic write unit of the namespaces, less one.
    fn atomic_write(&self) -> u16 {
        self.controller().namespaces.values().map(|offered| atomic_write(offered)).min().unwrap_or(0)
    }

    fn identify_controller(&self) -> Vec<u8> {
        let (config, limits, kind) = (&self.subsystem.config, self.subsystem.limits(), self.controller().kind);
        let io = kind == ControllerKind::Io;
        let blocks = limits.max_transfer_bytes / BLOCK_BYTES;
        ControllerIdentity {
            serial: config.serial.clone(),
            model: config.model.clone(),
            firmware: config.firmware.clone(),
            max_transfer: blocks.trailing_zeros() as u8,
            controller: self.controller().id,
            version: VERSION,
            events: if io { event_bits::NAMESPACES } else { event_bits::DISCOVERY },
            kind: Some(kind),
            abort_limit: 3,
            event_request_limit: events::REQUESTS as u8 - 1,
            // Commands supported and effects; offsets and lengths of 32 bits.
            log_attributes: if io { 1 << 1 | 1 << 2 } else { 1 << 2 },
            error_entries: error_log::ENTRIES as u8 - 1,
            keep_alive: 10,
            max_commands: limits.queue_depth,
            namespaces: if io { self.controller().namespaces.keys().last().copied().unwrap_or(0) } else { 0 },
            optional_commands: match kind {
                ControllerKind::Io => {
                    ControllerIdentity::COMPARE
                        | ControllerIdentity::DATASET_MANAGEMENT
                        | ControllerIdentity::WRITE_ZEROES
                }
                ControllerKind::Discovery => 0,
            },
            write_cache: 0,
            atomic_write: self.atomic_write(),
            sgls: ControllerIdentity::SGLS,
            subsystem: if io { config.nqn.clone() } else { DISCOVERY_NQN.into() },
            command_capsule: if io { ((SQE_BYTES + limits.in_capsule_bytes) / 16) as u32 } else { 4 },
            response_capsule: 1,
            data_offset: 0,
        }
        .encode()
    }
}

/// The atomic write unit of a namespace, less one.
fn atomic_write(offered: &Offered) -> u16 {
    u16::try_from(offered.properties.atomic_blocks.saturating_sub(1)).unwrap_or(u16::MAX)
}

fn identify_namespace(offered: &Offered) -> Vec<u8> {
    let (config, size) = (&offered.config, offered.size);
    let geometry = config.namespace.geometry();
    let thin = if geometry.capacity < size { NamespaceIdentity::THIN } else { 0 };
    let zeros = if offered.properties.deallocated_reads_zeros { NamespaceIdentity::READS_ZEROS } else { 0 };
    NamespaceIdentity {
        size,
        capacity: geometry.capacity.min(size),
        used: geometry.used.min(geometry.capacity),
        features: thin | NamespaceIdentity::ATOMIC,
        deallocated: zeros,
        atomic_write: atomic_write(offered),
        shared: true,
        nguid: config.uuid,
        block_shift: BLOCK_BYTES.trailing_zeros() as u8,
        metadata_bytes: 0,
    }
    .encode()
}
