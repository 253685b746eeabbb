//! The parsing of received PDUs, and their effects.

use super::{
    end::{End, Fatal},
    receive::{Destination, Incoming},
    state::Connection,
};
use crate::{
    command::Command,
    pdu::{COMMON_BYTES, Digests, FatalError, Frame, Header, Layout, MAX_QUOTE_BYTES, PduType, Transfer},
    server::limits::Limits,
};

/// The data alignment that the controller requests, in bytes.
const ALIGNMENT: usize = 4;

/// What became of the bytes.
pub(super) enum Step {
    /// They were a PDU or the next part of one.
    Went,
    /// More are needed.
    Bytes,
    /// Memory is needed.
    Memory,
}

impl<S> Connection<S> {
    /// Looks at the next bytes.
    pub(super) fn step(&mut self) -> Result<Step, End> {
        if self.receiver.incoming.is_some() {
            return match self.receiver.fill() {
                None => Ok(Step::Bytes),
                Some((incoming, right)) => {
                    self.on_data(incoming, right)?;
                    Ok(Step::Went)
                }
            };
        }
        let bytes = self.receiver.bytes();
        let Some(common) = bytes.first_chunk::<COMMON_BYTES>() else { return Ok(Step::Bytes) };
        let most = most_data(common[0], self.subsystem.limits());
        let frame = Frame::parse(common, &self.host_layout, most);
        let frame = frame.map_err(|error| self.fatal(error.fatal(), COMMON_BYTES, error.to_string()))?;
        if !self.initialized && !matches!(frame.kind, PduType::InitializeRequest | PduType::HostTermination) {
            let what = format!("{:?} before the connection was initialized", frame.kind);
            return Err(self.fatal((FatalError::SequenceError, 0), COMMON_BYTES, what));
        }
        let whole = COMMON_BYTES + frame.before_data();
        let Some(unit) = bytes.get(..whole) else { return Ok(Step::Bytes) };
        let header = frame.header(unit);
        let header = header.map_err(|error| self.fatal(error.fatal(), frame.header, error.to_string()))?;
        let incoming = match self.on_header(&frame, &header)? {
            Begun::Alone => None,
            Begun::Data(incoming) => Some(incoming),
            Begun::Memory => return Ok(Step::Memory),
        };
        self.receiver.consume(whole);
        match incoming {
            Some(incoming) => self.receiver.incoming = Some(incoming),
            None => self.receiver.units += 1,
        }
        if let (Header::Command(command), 0) = (header, frame.data) {
            self.on_command(command, None);
        }
        Ok(Step::Went)
    }

    /// The error that ends the connection, quoting the PDU at fault.
    fn fatal(&self, (error, information): (FatalError, u32), bytes: usize, what: impl Into<String>) -> End {
        let unit = self.receiver.bytes();
        let quote = unit[..bytes.min(MAX_QUOTE_BYTES).min(unit.len())].to_vec();
        End::Protocol(Fatal { error, information, what: what.into(), quote })
    }

    /// The host reports that a PDU of the target was wrong.
    fn terminated(&self, error: u16, information: u32) -> End {
        // One without a queue may be anybody, and could fill the log.
        if self.queue.as_ref().is_some_and(|queue| queue.place.shares.may_log()) {
            tracing::info!(error, information, "the host ended the connection on an error");
        } else {
            tracing::debug!(error, information, "a host ended its connection on an error before Connect");
        }
        End::Terminated
    }

    fn on_header(&mut self, frame: &Frame, header: &Header) -> Result<Begun, End> {
        let fatal = |this: &Self, what: (FatalError, u32), text| Err(this.fatal(what, frame.header, text));
        match *header {
            Header::InitializeRequest { alignment, digests, .. } => {
                if self.initialized {
                    return fatal(self, (FatalError::SequenceError, 0), "the connection is initialized already");
                }
                self.initialize(alignment, digests);
                Ok(Begun::Alone)
            }
            Header::Termination { from_host: true, error, information } => {
                let destination = Destination::Quote { error, information };
                if frame.data == 0 {
                    return Err(self.terminated(error, information));
                }
                Ok(Begun::data(destination, Vec::with_capacity(frame.data), frame))
            }
            Header::Command(command) => self.on_command_header(frame, command),
            Header::HostData(transfer) => self.on_host_data(frame, &transfer),
            _ => fatal(self, (FatalError::InvalidHeaderField, 0), "only controllers send PDUs of this type"),
        }
    }

    fn initialize(&mut self, alignment: usize, digests: Digests) {
        let max_data = self.subsystem.limits().max_transfer_bytes as u32;
        self.out.header(&Header::InitializeResponse { alignment: ALIGNMENT, digests, max_data });
        self.out.layout = Layout { digests, alignment };
        self.host_layout = Layout { digests, alignment: ALIGNMENT };
        self.initialized = true;
    }

    fn on_command_header(&mut self, frame: &Frame, command: Command) -> Result<Begun, End> {
        if self.ids.len() >= usize::from(self.entries) {
            let what = format!("more commands in progress than the {} entries of the queue", self.entries);
            return Err(self.fatal((FatalError::SequenceError, 0), frame.header, what));
        }
        if frame.data == 0 {
            return Ok(Begun::Alone);
        }
        // Twice, for what a Compare reads.
        let Some(charge) = self.share.take_for_capsule(2 * frame.data) else { return Ok(Begun::Memory) };
        Ok(Begun::data(Destination::Capsule { command, charge }, Vec::with_capacity(frame.data), frame))
    }

    fn on_host_data(&mut self, frame: &Frame, header: &Transfer) -> Result<Begun, End> {
        let slot = self.transfers.check(header, frame.data).map_err(|(error, information, what)| {
            let information = if error == FatalError::DataOutOfRange { 0 } else { information };
            self.fatal((error, information), frame.header, what)
        })?;
        let data = self.transfers.get_mut(slot).map(|transfer| std::mem::take(&mut transfer.data));
        Ok(Begun::data(Destination::Transfer { slot }, data.unwrap_or_default(), frame))
    }

    /// All data of a PDU came.
    fn on_data(&mut self, incoming: Incoming, right: bool) -> Result<(), End> {
        if !right {
            let counters = &self.subsystem.counters;
            counters.data_digest_errors.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
        match incoming.destination {
            Destination::Capsule { command, charge } => self.on_command(command, Some((incoming.data, right, charge))),
            Destination::Transfer { slot } => {
                self.transfers.units += 1;
                let Some(transfer) = self.transfers.get_mut(slot) else { return Ok(()) };
                transfer.data = incoming.data;
                transfer.damaged |= !right;
                if transfer.data.len() == transfer.total
                    && let Some(transfer) = self.transfers.remove(slot)
                {
                    self.on_transferred(transfer);
                }
            }
            Destination::Quote { error, information } => {
                return Err(self.terminated(error, information));
            }
        }
        Ok(())
    }
}

/// The data that follow a header.
enum Begun {
    /// The PDU has no data.
    Alone,
    /// Its data come next.
    Data(Incoming),
    /// Its data cannot be taken yet.
    Memory,
}

impl Begun {
    fn data(destination: Destination, data: Vec<u8>, frame: &Frame) -> Self {
        let (begin, missing, digest) = (data.len(), frame.data, frame.data_digest > 0);
        Self::Data(Incoming { destination, data, begin, missing, digest })
    }
}

/// The most data of a PDU of this type.
fn most_data(kind: u8, limits: &Limits) -> usize {
    if kind == PduType::Command as u8 { limits.capsule_bytes() } else { limits.max_transfer_bytes }
}
