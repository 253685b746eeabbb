//! Protocol data PDUs of the TCP transport (NVMe/TCP Transport Specification 1.0, section 3.6), their headers and digests.
//!
//! A PDU is a common header of 8 bytes, a header by its type, a digest of the header if agreed, padding, data, and a
//! digest of the data if agreed. [`Frame::parse`] judges a common header on its own, before anything else is
//! read, and says how much follows; [`Header`] is what stands in it. Reading and writing sockets is not done here.

use crate::command::{CQE_BYTES, Command, Completion, SQE_BYTES, array};
use thiserror::Error;

/// Bytes of the common header.
pub const COMMON_BYTES: usize = 8;
/// Bytes of a digest: CRC-32C, little-endian.
pub const DIGEST_BYTES: usize = 4;
/// The longest header: that of the PDUs that open a connection.
pub const MAX_HEADER_BYTES: usize = 128;
/// The most bytes of a broken PDU that a termination request quotes.
pub const MAX_QUOTE_BYTES: usize = 128;
/// The only version of the PDU format (PFV).
pub const PDU_VERSION: u16 = 0;

const HEADER_DIGEST: u8 = 1;
const DATA_DIGEST: u8 = 2;
const LAST: u8 = 4;
const SUCCESS: u8 = 8;

/// Which digests a connection uses.
///
/// # Example
/// ```
/// use ciphermill_nvme::pdu::Digests;
///
/// let (ours, theirs) = (Digests { header: true, data: true }, Digests { header: true, data: false });
/// assert_eq!(ours.and(theirs), theirs);
/// assert_eq!(Digests::from_bits(3), Some(ours));
/// assert_eq!(Digests::from_bits(4), None);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digests {
    /// After every header, except in PDUs that open or end the connection.
    pub header: bool,
    /// One after all data.
    pub data: bool,
}

impl Digests {
    /// As bits, 0 for headers and 1 for data.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.header as u8 | (self.data as u8) << 1
    }

    /// From these bits; the others must be 0.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Option<Self> {
        if bits > 3 { None } else { Some(Self { header: bits & 1 != 0, data: bits & 2 != 0 }) }
    }

    /// The digests that both sides request.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self { header: self.header && other.header, data: self.data && other.data }
    }
}

/// The types of PDUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum PduType {
    /// Opens a connection, from the host.
    InitializeRequest = 0x00,
    /// Answers it.
    InitializeResponse = 0x01,
    /// Ends a connection on an error, from the host.
    HostTermination = 0x02,
    /// Ends a connection on an error, from the controller.
    ControllerTermination = 0x03,
    /// A command, maybe with its data.
    Command = 0x04,
    /// A completion.
    Response = 0x05,
    /// Data to the controller.
    HostData = 0x06,
    /// Data to the host.
    ControllerData = 0x07,
    /// Asks for data.
    ReadyToTransfer = 0x09,
}

impl PduType {
    const fn from_code(code: u8) -> Option<Self> {
        Some(match code {
            0x00 => Self::InitializeRequest,
            0x01 => Self::InitializeResponse,
            0x02 => Self::HostTermination,
            0x03 => Self::ControllerTermination,
            0x04 => Self::Command,
            0x05 => Self::Response,
            0x06 => Self::HostData,
            0x07 => Self::ControllerData,
            0x09 => Self::ReadyToTransfer,
            _ => return None,
        })
    }

    /// Bytes of its header, the common one included.
    #[must_use]
    pub const fn header_bytes(self) -> usize {
        match self {
            Self::InitializeRequest | Self::InitializeResponse => 128,
            Self::Command => COMMON_BYTES + SQE_BYTES,
            _ => 24,
        }
    }

    const fn has_data(self) -> bool {
        matches!(self, Self::Command | Self::HostData | Self::ControllerData)
    }

    const fn is_termination(self) -> bool {
        matches!(self, Self::HostTermination | Self::ControllerTermination)
    }

    const fn has_header_digest(self) -> bool {
        !self.is_termination() && !matches!(self, Self::InitializeRequest | Self::InitializeResponse)
    }

    const fn known_flags(self) -> u8 {
        match self {
            Self::InitializeRequest
            | Self::InitializeResponse
            | Self::HostTermination
            | Self::ControllerTermination => 0,
            Self::Command => HEADER_DIGEST | DATA_DIGEST,
            Self::Response | Self::ReadyToTransfer => HEADER_DIGEST,
            Self::HostData => HEADER_DIGEST | DATA_DIGEST | LAST,
            Self::ControllerData => HEADER_DIGEST | DATA_DIGEST | LAST | SUCCESS,
        }
    }
}

/// An error in a PDU; each has its place among the fatal error statuses of a termination request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PduError {
    /// No such type.
    #[error("no unit has the type {code:#04x}")]
    Type {
        /// The given value.
        code: u8,
    },
    /// A flag that this type does not have, or a digest flag that was not agreed.
    #[error("a PDU of type {kind:?} has the flags {given:#04x}, agreed is {expected:#04x} under the mask {mask:#04x}")]
    Flags {
        /// Type of the PDU.
        kind: PduType,
        /// The given value.
        given: u8,
        /// The expected value under the mask.
        expected: u8,
        /// The bits that are judged.
        mask: u8,
    },
    /// The header has one length only.
    #[error("a PDU of type {kind:?} has a header of {expected} bytes, not {given}")]
    HeaderLength {
        /// Type of the PDU.
        kind: PduType,
        /// The given value.
        given: u8,
        /// The expected value.
        expected: usize,
    },
    /// The whole PDU is too short for its parts, or too long.
    #[error("a PDU of type {kind:?} says it has {given} bytes, {least} to {most} are possible here")]
    Length {
        /// Type of the PDU.
        kind: PduType,
        /// The given value.
        given: u32,
        /// Least.
        least: u32,
        /// Most.
        most: u32,
    },
    /// The data begin at a wrong place.
    #[error("the data of a PDU of type {kind:?} begin at byte {given}; {expected} is agreed")]
    DataOffset {
        /// Type of the PDU.
        kind: PduType,
        /// The given value.
        given: u8,
        /// The expected value.
        expected: usize,
    },
    /// A field of the header has a forbidden value.
    #[error("byte {offset} of a PDU of type {kind:?}: {what}")]
    Field {
        /// Type of the PDU.
        kind: PduType,
        /// Where it stands.
        offset: u16,
        /// The rule for it.
        what: &'static str,
    },
    /// The digest of the header is wrong.
    #[error("the header digest is {stored:#010x}, the header gives {computed:#010x}")]
    HeaderDigest {
        /// The given value.
        stored: u32,
        /// The expected value.
        computed: u32,
    },
}

/// Fatal error status of a termination request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub enum FatalError {
    /// A field of a header is wrong; the information is its offset.
    InvalidHeaderField = 1,
    /// The PDU may not come now.
    SequenceError = 2,
    /// The information is the digest received.
    HeaderDigest = 3,
    /// Data outside the requested range.
    DataOutOfRange = 4,
    /// More data or more transfers than agreed.
    LimitExceeded = 5,
    /// A parameter is not supported; the information is its offset.
    UnsupportedParameter = 6,
}

impl PduError {
    /// The fatal error status and its information.
    ///
    /// # Example
    /// ```
    /// use ciphermill_nvme::pdu::{FatalError, Frame, Layout};
    ///
    /// // No PDU has the type 8.
    /// let error = Frame::parse(&[8, 0, 24, 0, 24, 0, 0, 0], &Layout::default(), 0).unwrap_err();
    /// assert_eq!(error.fatal(), (FatalError::InvalidHeaderField, 0));
    /// ```
    #[must_use]
    pub const fn fatal(&self) -> (FatalError, u32) {
        match self {
            Self::Type { .. } => (FatalError::InvalidHeaderField, 0),
            Self::Flags { .. } => (FatalError::InvalidHeaderField, 1),
            Self::HeaderLength { .. } => (FatalError::InvalidHeaderField, 2),
            Self::DataOffset { .. } => (FatalError::InvalidHeaderField, 3),
            Self::Length { .. } => (FatalError::InvalidHeaderField, 4),
            Self::Field { offset, .. } => (FatalError::InvalidHeaderField, *offset as u32),
            Self::HeaderDigest { stored, .. } => (FatalError::HeaderDigest, *stored),
        }
    }
}

/// The agreement of a connection, as far as it shapes PDUs.
///
/// # Example
/// ```
/// use ciphermill_nvme::pdu::{Digests, Layout, PduType};
///
/// let layout = Layout { digests: Digests { header: true, data: false }, alignment: 64 };
/// // 72 bytes of header and 4 of its digest, rounded up.
/// assert_eq!(layout.data_offset(PduType::Command), 128);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Digests in use.
    pub digests: Digests,
    /// Data of a PDU begin on a multiple of this many bytes; 0 is as 4 (HPDA or CPDA, in bytes).
    pub alignment: usize,
}

impl Layout {
    /// Where the data of a PDU of this type begin.
    #[must_use]
    pub const fn data_offset(&self, kind: PduType) -> usize {
        let digest = if self.digests.header && kind.has_header_digest() { DIGEST_BYTES } else { 0 };
        let begin = kind.header_bytes() + digest;
        if self.alignment == 0 { begin } else { begin.next_multiple_of(self.alignment) }
    }
}

/// A common header that was found right: how the PDU is laid out.
///
/// # Example
/// ```
/// use ciphermill_nvme::pdu::{Frame, Header, Layout, Transfer};
///
/// let (layout, mut pdu) = (Layout::default(), Vec::new());
/// let transfer = Transfer { command: 9, tag: 0, offset: 0, length: 4 };
/// Header::ControllerData(transfer).encode(&layout, 4, true, false, &mut pdu);
/// pdu.extend_from_slice(b"data");
/// let frame = Frame::parse(pdu.first_chunk().expect("a common header"), &layout, 4096)?;
/// assert_eq!((frame.before_data(), frame.data, frame.is_last()), (16, 4, true));
/// assert_eq!(frame.header(&pdu)?, Header::ControllerData(transfer));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Type of the PDU.
    pub kind: PduType,
    /// Its flags.
    pub flags: u8,
    /// Bytes of the header, the common one included.
    pub header: usize,
    /// Bytes of the header digest: 0 or 4.
    pub header_digest: usize,
    /// Bytes between that and the data.
    pub padding: usize,
    /// Bytes of data.
    pub data: usize,
    /// Bytes of the data digest: 0 or 4.
    pub data_digest: usize,
}

impl Frame {
    /// Judges a common header. `layout` is how PDUs of the other side are laid out; `max_data` the most bytes of data
    /// that a PDU may have.
    ///
    /// # Errors
    /// See [`PduError`].
    pub fn parse(bytes: &[u8; COMMON_BYTES], layout: &Layout, max_data: usize) -> Result<Self, PduError> {
        let kind = PduType::from_code(bytes[0]).ok_or(PduError::Type { code: bytes[0] })?;
        let (flags, header, offset) = (bytes[1], kind.header_bytes(), bytes[3]);
        let length = u32::from_le_bytes(array(bytes, 4));
        let wants_header_digest = layout.digests.header && kind.has_header_digest();
        if usize::from(bytes[2]) != header {
            return Err(PduError::HeaderLength { kind, given: bytes[2], expected: header });
        }
        let header_digest = if wants_header_digest { DIGEST_BYTES } else { 0 };
        let least = (header + header_digest) as u32;
        let judge_length = |least: u32, most: u32| {
            if (least..=most).contains(&length) {
                Ok(())
            } else {
                Err(PduError::Length { kind, given: length, least, most })
            }
        };
        if kind.is_termination() {
            judge_length(least, least + MAX_QUOTE_BYTES as u32)?;
            let data = (length - least) as usize;
            // Their flags are reserved: nothing is read into them.
            return Ok(Self { kind, flags: 0, header, header_digest, padding: 0, data, data_digest: 0 });
        }
        let has_data = kind.has_data() && length > least;
        // The digest flag of data stands where there are data.
        let data_flag = if layout.digests.data && has_data { DATA_DIGEST } else { 0 };
        let expected = if wants_header_digest { HEADER_DIGEST } else { 0 } | data_flag;
        // Without data, the flag of their digest means nothing; some hosts set it all the same.
        let ignored = if has_data || !kind.has_data() { 0 } else { DATA_DIGEST };
        let mask = !(kind.known_flags() & (LAST | SUCCESS)) & !ignored;
        if flags & mask != expected & mask {
            return Err(PduError::Flags { kind, given: flags, expected, mask });
        }
        if !has_data {
            // Reserved in the others without data, and some hosts fill it in there.
            if matches!(kind, PduType::InitializeRequest | PduType::InitializeResponse) && offset != 0 {
                return Err(PduError::DataOffset { kind, given: offset, expected: 0 });
            }
            judge_length(least, least)?;
            return Ok(Self { kind, flags, header, header_digest, padding: 0, data: 0, data_digest: 0 });
        }
        let begin = layout.data_offset(kind);
        if usize::from(offset) != begin {
            return Err(PduError::DataOffset { kind, given: offset, expected: begin });
        }
        let data_digest = if layout.digests.data { DIGEST_BYTES } else { 0 };
        // One byte of data at least: a PDU that is longer than its header has some.
        let most = u32::try_from(begin + max_data + data_digest).unwrap_or(u32::MAX);
        judge_length((begin + 1 + data_digest) as u32, most)?;
        let data = length as usize - begin - data_digest;
        Ok(Self { kind, flags, header, header_digest, padding: begin - header - header_digest, data, data_digest })
    }

    /// Bytes that follow the common header, up to the data: the rest of the header, its digest and the padding.
    #[must_use]
    pub const fn before_data(&self) -> usize {
        self.header - COMMON_BYTES + self.header_digest + self.padding
    }

    /// Whether it is the last PDU of its data transfer.
    #[must_use]
    pub const fn is_last(&self) -> bool {
        self.flags & LAST != 0
    }

    /// Whether it stands for the completion of its command too.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        self.flags & SUCCESS != 0
    }

    /// Judges the digest, if there is one, and reads the header. `bytes` begin with the common header and hold all up to
    /// the data.
    ///
    /// # Errors
    /// [`PduError::HeaderDigest`], [`PduError::Field`]; [`PduError::Length`] when there are fewer bytes.
    pub fn header(&self, bytes: &[u8]) -> Result<Header, PduError> {
        let end = self.header + self.header_digest;
        let Some((header, digest)) = bytes.get(..end).and_then(|bytes| bytes.split_at_checked(self.header)) else {
            let (given, least) = (bytes.len() as u32, end as u32);
            return Err(PduError::Length { kind: self.kind, given, least, most: least });
        };
        if let Ok(stored) = digest.try_into() {
            let (stored, computed) = (u32::from_le_bytes(stored), crc32c::crc32c(header));
            if stored != computed {
                return Err(PduError::HeaderDigest { stored, computed });
            }
        }
        let mut fixed = [0; MAX_HEADER_BYTES];
        fixed[..self.header].copy_from_slice(header);
        Header::decode(self.kind, &fixed)
    }
}

/// A piece of data on its way: header of H2CData, C2HData and R2T.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transfer {
    /// Identifier of the command.
    pub command: u16,
    /// Tag that the controller gave the transfer; 0 in C2HData.
    pub tag: u16,
    /// Offset of the first byte in the command's data.
    pub offset: u32,
    /// Number of bytes.
    pub length: u32,
}

/// The content of the header of a PDU.
///
/// # Example
/// ```
/// use ciphermill_nvme::pdu::{Digests, Header, Layout, PduType};
///
/// let request = Header::InitializeRequest { alignment: 4, digests: Digests::default(), max_r2t: 4 };
/// let mut pdu = Vec::new();
/// request.encode(&Layout::default(), 0, false, false, &mut pdu);
/// assert_eq!((request.kind(), pdu.len()), (PduType::InitializeRequest, 128));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// ICReq.
    InitializeRequest {
        /// Data to the host begin on multiples of this number of bytes (HPDA, here in bytes, 4 to 128).
        alignment: usize,
        /// Digests that the host requests.
        digests: Digests,
        /// R2Ts that a command may have outstanding, at least 1.
        max_r2t: u32,
    },
    /// ICResp.
    InitializeResponse {
        /// Data to the controller begin on multiples of this number of bytes (CPDA, here in bytes, 4 to 128).
        alignment: usize,
        /// Digests agreed.
        digests: Digests,
        /// The most data of one H2CData, at least 4096 and a multiple of 4.
        max_data: u32,
    },
    /// H2CTermReq or C2HTermReq; the quoted PDU follows as data.
    Termination {
        /// From the host.
        from_host: bool,
        /// Fatal error status, see [`FatalError`].
        error: u16,
        /// Its information.
        information: u32,
    },
    /// CapsuleCmd.
    Command(Command),
    /// CapsuleResp.
    Response(Completion),
    /// H2CData.
    HostData(Transfer),
    /// C2HData.
    ControllerData(Transfer),
    /// R2T.
    ReadyToTransfer(Transfer),
}

impl Header {
    /// Type of the PDU.
    #[must_use]
    pub const fn kind(&self) -> PduType {
        match self {
            Self::InitializeRequest { .. } => PduType::InitializeRequest,
            Self::InitializeResponse { .. } => PduType::InitializeResponse,
            Self::Termination { from_host: true, .. } => PduType::HostTermination,
            Self::Termination { from_host: false, .. } => PduType::ControllerTermination,
            Self::Command(_) => PduType::Command,
            Self::Response(_) => PduType::Response,
            Self::HostData(_) => PduType::HostData,
            Self::ControllerData(_) => PduType::ControllerData,
            Self::ReadyToTransfer(_) => PduType::ReadyToTransfer,
        }
    }

    fn decode(kind: PduType, bytes: &[u8; MAX_HEADER_BYTES]) -> Result<Self, PduError> {
        let field = |offset, what| PduError::Field { kind, offset, what };
        let transfer = || Transfer {
            command: u16::from_le_bytes(array(bytes, 8)),
            tag: u16::from_le_bytes(array(bytes, 10)),
            offset: u32::from_le_bytes(array(bytes, 12)),
            length: u32::from_le_bytes(array(bytes, 16)),
        };
        Ok(match kind {
            PduType::InitializeRequest | PduType::InitializeResponse => {
                if u16::from_le_bytes(array(bytes, 8)) != PDU_VERSION {
                    return Err(field(8, "the only format version is 0"));
                }
                if bytes[10] > 31 {
                    return Err(field(10, "the data alignment is 0 to 31 (dwords less one)"));
                }
                let alignment = (usize::from(bytes[10]) + 1) * 4;
                let digests = Digests::from_bits(bytes[11]).ok_or(field(11, "digests are bits 0 and 1"))?;
                let number = u32::from_le_bytes(array(bytes, 12));
                if kind == PduType::InitializeRequest {
                    Self::InitializeRequest { alignment, digests, max_r2t: number.saturating_add(1) }
                } else if number < 4096 || number % 4 != 0 {
                    return Err(field(12, "the most data of a unit are at least 4096 bytes and a multiple of 4"));
                } else {
                    Self::InitializeResponse { alignment, digests, max_data: number }
                }
            }
            PduType::HostTermination | PduType::ControllerTermination => Self::Termination {
                from_host: kind == PduType::HostTermination,
                error: u16::from_le_bytes(array(bytes, 8)),
                information: u32::from_le_bytes(array(bytes, 10)),
            },
            PduType::Command => Self::Command(Command::decode(&array(bytes, COMMON_BYTES))),
            PduType::Response => Self::Response(Completion::decode(&array::<MAX_HEADER_BYTES, CQE_BYTES>(bytes, 8))),
            PduType::HostData => Self::HostData(transfer()),
            PduType::ControllerData => Self::ControllerData(transfer()),
            PduType::ReadyToTransfer => Self::ReadyToTransfer(transfer()),
        })
    }

    /// Appends everything of a PDU up to its data: header, digest, padding. `layout` is how this side lays out its
    /// PDUs, `data` the bytes of data that the caller appends after it, and then their digest. `last` and `success` are
    /// flags of data PDUs.
    ///
    /// # Example
    /// ```
    /// use ciphermill_nvme::pdu::{Digests, Frame, Header, Layout, PduError, Transfer};
    ///
    /// let layout = Layout { digests: Digests { header: true, data: false }, alignment: 0 };
    /// let request = Header::ReadyToTransfer(Transfer { command: 9, tag: 1, offset: 0, length: 8192 });
    /// let mut pdu = Vec::new();
    /// request.encode(&layout, 0, false, false, &mut pdu);
    /// let frame = Frame::parse(pdu.first_chunk().expect("a common header"), &layout, 0)?;
    /// assert_eq!(frame.header(&pdu)?, request);
    /// // The digest reveals a damaged byte.
    /// pdu[9] ^= 1;
    /// assert!(matches!(frame.header(&pdu), Err(PduError::HeaderDigest { .. })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encode(&self, layout: &Layout, data: usize, last: bool, success: bool, out: &mut Vec<u8>) {
        let kind = self.kind();
        let begin = out.len();
        let header = kind.header_bytes();
        let header_digest = layout.digests.header && kind.has_header_digest();
        let data_digest = layout.digests.data && kind.has_data() && data > 0;
        let data_begin = match (data, kind.is_termination()) {
            (0, _) => header + if header_digest { DIGEST_BYTES } else { 0 },
            (_, true) => header,
            (_, false) => layout.data_offset(kind),
        };
        let length = data_begin + data + if data_digest { DIGEST_BYTES } else { 0 };
        let mut flags = if header_digest { HEADER_DIGEST } else { 0 } | if data_digest { DATA_DIGEST } else { 0 };
        if last {
            flags |= LAST & kind.known_flags();
        }
        if success {
            flags |= SUCCESS & kind.known_flags();
        }
        let offset = if data > 0 && kind.has_data() { data_begin as u8 } else { 0 };
        out.extend_from_slice(&[kind as u8, flags, header as u8, offset]);
        out.extend_from_slice(&(length as u32).to_le_bytes());
        self.encode_fields(out);
        out.resize(begin + header, 0);
        if header_digest {
            let digest = crc32c::crc32c(&out[begin..]);
            out.extend_from_slice(&digest.to_le_bytes());
        }
        out.resize(begin + data_begin, 0);
    }

    fn encode_fields(&self, out: &mut Vec<u8>) {
        let opening = |out: &mut Vec<u8>, alignment: usize, digests: Digests, number: u32| {
            out.extend_from_slice(&PDU_VERSION.to_le_bytes());
            out.extend_from_slice(&[(alignment.max(4) / 4 - 1).min(31) as u8, digests.bits()]);
            out.extend_from_slice(&number.to_le_bytes());
        };
        match *self {
            Self::InitializeRequest { alignment, digests, max_r2t } => {
                opening(out, alignment, digests, max_r2t.saturating_sub(1));
            }
            Self::InitializeResponse { alignment, digests, max_data } => opening(out, alignment, digests, max_data),
            Self::Termination { error, information, .. } => {
                out.extend_from_slice(&error.to_le_bytes());
                out.extend_from_slice(&information.to_le_bytes());
            }
            Self::Command(command) => out.extend_from_slice(&command.encode()),
            Self::Response(completion) => out.extend_from_slice(&completion.encode()),
            Self::HostData(transfer) | Self::ControllerData(transfer) | Self::ReadyToTransfer(transfer) => {
                out.extend_from_slice(&transfer.command.to_le_bytes());
                out.extend_from_slice(&transfer.tag.to_le_bytes());
                out.extend_from_slice(&transfer.offset.to_le_bytes());
                out.extend_from_slice(&transfer.length.to_le_bytes());
            }
        }
    }
}
