//! Data that commands asked the host for.

use super::job::Job;
use crate::{
    command::Command,
    pdu::{FatalError, Transfer},
    server::memory::Charge,
};

/// A command that waits for its data.
#[derive(Debug)]
pub(crate) struct HostData {
    pub(crate) command: Command,
    pub(crate) job: Job,
    pub(crate) charge: Option<Charge>,
    /// The received data; has room for all.
    pub(crate) data: Vec<u8>,
    /// Bytes asked for.
    pub(crate) total: usize,
    /// Whether a digest was wrong.
    pub(crate) damaged: bool,
}

/// The transfers of a connection; their places are their tags.
#[derive(Debug, Default)]
pub(crate) struct Transfers {
    slots: Vec<Option<HostData>>,
    free: Vec<usize>,
    /// Units that brought data.
    pub(crate) units: u64,
}

impl Transfers {
    /// Adds one; gives its tag. There are no more of them than commands in progress, 4,096 at most.
    pub(crate) fn add(&mut self, transfer: HostData) -> u16 {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.slots.push(None);
            self.slots.len() - 1
        });
        self.slots[slot] = Some(transfer);
        slot as u16
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    pub(crate) fn get_mut(&mut self, slot: usize) -> Option<&mut HostData> {
        self.slots.get_mut(slot)?.as_mut()
    }

    pub(crate) fn remove(&mut self, slot: usize) -> Option<HostData> {
        let transfer = self.slots.get_mut(slot)?.take();
        if transfer.is_some() {
            self.free.push(slot);
        }
        transfer
    }

    /// Judges the header of an H2CData with `bytes` bytes of data: the next bytes of a transfer, no other. On an error, the
    /// status of the termination, its information and a description.
    pub(crate) fn check(&mut self, header: &Transfer, bytes: usize) -> Result<usize, (FatalError, u32, &'static str)> {
        let slot = usize::from(header.tag);
        let Some(transfer) = self.get_mut(slot) else {
            return Err((FatalError::InvalidHeaderField, 10, "no transfer has this tag"));
        };
        if transfer.command.id != header.command {
            return Err((FatalError::InvalidHeaderField, 8, "the transfer belongs to another command"));
        }
        if header.length as usize != bytes || bytes == 0 {
            return Err((FatalError::InvalidHeaderField, 16, "the length in the header differs from that of the data"));
        }
        let expected = transfer.data.len();
        if header.offset as usize != expected {
            return Err((FatalError::DataOutOfRange, 12, "the data are not the next ones"));
        }
        if bytes > transfer.total - expected {
            return Err((FatalError::DataOutOfRange, 16, "the data exceed the requested length"));
        }
        Ok(slot)
    }
}
