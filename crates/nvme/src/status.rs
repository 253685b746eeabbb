//! The status of a completed command.

use std::fmt;

/// The status field of a completion queue entry without its phase bit: status code in bits 0 to 7, status code type in
/// bits 8 to 10, retry delay in 11 and 12, More in 13, Do Not Retry in 14 (Base Specification 2.0, figure 93).
///
/// # Example
/// ```
/// use ciphermill_nvme::Status;
///
/// let status = Status::INVALID_OPCODE.do_not_retry();
/// assert!(status.is(Status::INVALID_OPCODE) && status.is_final() && !status.is_success());
/// assert_eq!(status, Status::from_bits(0x4001));
/// assert_eq!(status.to_string(), "status type 0h, code 01h (the queue knows no such command), do not retry");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status(u16);

/// The namespace of a status code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatusType {
    /// Of any command.
    Generic,
    /// Of one command or command set.
    CommandSpecific,
    /// Media and data integrity.
    Media,
    /// Of the path to the controller.
    Path,
    /// Of the vendor: reports of a namespace about its objects.
    Vendor,
    /// Not defined by the specification.
    Other(u8),
}

const DNR: u16 = 1 << 14;
const MORE: u16 = 1 << 13;

const fn generic(code: u8) -> Status {
    Status(code as u16)
}

const fn specific(code: u8) -> Status {
    Status(0x100 | code as u16)
}

const fn media(code: u8) -> Status {
    Status(0x200 | code as u16)
}

impl Status {
    /// Done.
    pub const SUCCESS: Self = generic(0x00);
    /// The opcode is not known to this queue.
    pub const INVALID_OPCODE: Self = generic(0x01);
    /// A field of the command has a forbidden value.
    pub const INVALID_FIELD: Self = generic(0x02);
    /// The command identifier is in use.
    pub const COMMAND_ID_CONFLICT: Self = generic(0x03);
    /// The data could not be moved.
    pub const DATA_TRANSFER_ERROR: Self = generic(0x04);
    /// The controller could not, for reasons that is separate.
    pub const INTERNAL_ERROR: Self = generic(0x06);
    /// The host asked for it.
    pub const ABORT_REQUESTED: Self = generic(0x07);
    /// The submission queue is being deleted.
    pub const ABORTED_SQ_DELETION: Self = generic(0x08);
    /// No such namespace, or not for this host.
    pub const INVALID_NAMESPACE: Self = generic(0x0b);
    /// The command came out of order (before Connect, before the controller is enabled, …).
    pub const COMMAND_SEQUENCE_ERROR: Self = generic(0x0c);
    /// The SGL descriptor is not one that can stand here.
    pub const INVALID_SGL_DESCRIPTOR: Self = generic(0x0d);
    /// The SGL describes another length than the command.
    pub const DATA_SGL_LENGTH_INVALID: Self = generic(0x0f);
    /// The type of the SGL descriptor is not supported.
    pub const SGL_TYPE_INVALID: Self = generic(0x11);
    /// The offset of in-capsule data is wrong.
    pub const SGL_OFFSET_INVALID: Self = generic(0x16);
    /// The host identifier stands in another format than before.
    pub const HOST_ID_INCONSISTENT: Self = generic(0x18);
    /// The keep-alive timeout ran out.
    pub const KEEP_ALIVE_EXPIRED: Self = generic(0x19);
    /// The keep-alive timeout cannot be had.
    pub const KEEP_ALIVE_INVALID: Self = generic(0x1a);
    /// The namespace is write protected.
    pub const NAMESPACE_WRITE_PROTECTED: Self = generic(0x20);
    /// Interrupted for lack of a resource: the host may try again.
    pub const COMMAND_INTERRUPTED: Self = generic(0x21);
    /// The transport damaged something, as a wrong digest of data shows: the host may try again.
    pub const TRANSIENT_TRANSPORT_ERROR: Self = generic(0x22);
    /// The LBA range passes the end of the namespace.
    pub const LBA_OUT_OF_RANGE: Self = generic(0x80);
    /// The namespace has used up its capacity.
    pub const CAPACITY_EXCEEDED: Self = generic(0x81);
    /// The namespace is not ready: the host may try again.
    pub const NAMESPACE_NOT_READY: Self = generic(0x82);

    /// Invalid queue identifier.
    pub const INVALID_QUEUE_ID: Self = specific(0x01);
    /// Invalid queue size.
    pub const INVALID_QUEUE_SIZE: Self = specific(0x02);
    /// More Abort commands than allowed at once.
    pub const ABORT_LIMIT_EXCEEDED: Self = specific(0x03);
    /// More Asynchronous Event Requests than allowed at once.
    pub const EVENT_REQUEST_LIMIT_EXCEEDED: Self = specific(0x05);
    /// No such log page.
    pub const INVALID_LOG_PAGE: Self = specific(0x09);
    /// The feature cannot be saved.
    pub const FEATURE_NOT_SAVEABLE: Self = specific(0x0d);
    /// The feature cannot be changed.
    pub const FEATURE_NOT_CHANGEABLE: Self = specific(0x0e);
    /// Fabrics: the format of the Connect record is not supported.
    pub const CONNECT_INCOMPATIBLE_FORMAT: Self = specific(0x80);
    /// Fabrics: the controller belongs to another host or is in use.
    pub const CONNECT_CONTROLLER_BUSY: Self = specific(0x81);
    /// Fabrics: a parameter of Connect is not valid; the result says which.
    pub const CONNECT_INVALID_PARAMETERS: Self = specific(0x82);
    /// Fabrics: the host must discover again.
    pub const CONNECT_RESTART_DISCOVERY: Self = specific(0x83);
    /// Fabrics: the host may not connect.
    pub const CONNECT_INVALID_HOST: Self = specific(0x84);

    /// Fabrics: the command is not for queues of this type.
    pub const INVALID_QUEUE_TYPE: Self = specific(0x85);

    /// The blocks could not be written.
    pub const WRITE_FAULT: Self = media(0x80);
    /// The blocks could not be read, or their checksum is wrong.
    pub const UNRECOVERED_READ_ERROR: Self = media(0x81);
    /// Compare found a difference.
    pub const COMPARE_FAILURE: Self = media(0x85);
    /// The host may not access the blocks.
    pub const ACCESS_DENIED: Self = media(0x86);

    /// A status of the vendor: type 7.
    ///
    /// # Example
    /// ```
    /// use ciphermill_nvme::{Status, status::StatusType};
    ///
    /// let status = Status::vendor(0x42);
    /// assert_eq!((status.kind(), status.code()), (StatusType::Vendor, 0x42));
    /// ```
    #[must_use]
    pub const fn vendor(code: u8) -> Self {
        Self(0x700 | code as u16)
    }

    /// The same with Do Not Retry: sent again, the command would fail again.
    #[must_use]
    pub const fn do_not_retry(self) -> Self {
        Self(self.0 | DNR)
    }

    /// The same with More: the error log says more.
    #[must_use]
    pub const fn more(self) -> Self {
        Self(self.0 | MORE)
    }

    /// From the bits named above; bit 15 is dropped.
    #[must_use]
    pub const fn from_bits(bits: u16) -> Self {
        Self(bits & 0x7fff)
    }

    /// The bits named above.
    #[must_use]
    pub const fn bits(self) -> u16 {
        self.0
    }

    /// The status code.
    #[must_use]
    pub const fn code(self) -> u8 {
        self.0 as u8
    }

    /// The meaning of the code, if this crate knows it. The codes of single commands are read
    /// as Connect's and as those of fabrics, from 80h on.
    #[must_use]
    pub const fn words(self) -> Option<&'static str> {
        Some(match self.0 & 0x7ff {
            0x000 => "done",
            0x001 => "the queue knows no such command",
            0x002 => "a field of the command is not valid",
            0x003 => "the identifier of the command is in use",
            0x004 => "the data could not be moved",
            0x006 => "internal error",
            0x007 => "aborted, as was asked",
            0x008 => "aborted, as the queue is gone",
            0x00b => "no such namespace, or not for this host",
            0x00c => "the command came out of order",
            0x00d => "the data descriptor is not valid",
            0x00f => "the data have another length than the command",
            0x011 => "the type of the data descriptor is not supported",
            0x016 => "the offset of the data is not valid",
            0x018 => "the host identifier has another format than before",
            0x019 => "the keep-alive timeout ran out",
            0x01a => "the keep-alive timeout cannot be had",
            0x020 => "the namespace is write protected",
            0x021 => "interrupted, to be tried again",
            0x022 => "damaged on the way, to be tried again",
            0x080 => "beyond the end of the namespace",
            0x081 => "the capacity of the namespace is used up",
            0x082 => "the namespace is not ready, to be tried again",
            0x101 => "no such queue",
            0x102 => "the size of the queue is not valid",
            0x103 => "too many aborts at once",
            0x105 => "too many event requests at once",
            0x109 => "no such log page",
            0x10d => "the feature cannot be saved",
            0x10e => "the feature cannot be changed",
            0x180 => "the format of Connect is not supported",
            0x181 => "too many connections, or the controller is another host's",
            0x182 => "a parameter of Connect is not valid",
            0x183 => "the host must repeat the discovery",
            0x184 => "the host may not connect",
            0x185 => "the command is not for queues of this type",
            0x280 => "the blocks could not be written",
            0x281 => "the blocks could not be read, or are damaged",
            0x285 => "the blocks differ",
            _ => return None,
        })
    }

    /// The status code type.
    #[must_use]
    pub const fn kind(self) -> StatusType {
        match (self.0 >> 8) as u8 & 7 {
            0 => StatusType::Generic,
            1 => StatusType::CommandSpecific,
            2 => StatusType::Media,
            3 => StatusType::Path,
            7 => StatusType::Vendor,
            other => StatusType::Other(other),
        }
    }

    /// Whether the command was done.
    #[must_use]
    pub const fn is_success(self) -> bool {
        self.0 & 0x7ff == 0
    }

    /// Whether the command would fail again.
    #[must_use]
    pub const fn is_final(self) -> bool {
        self.0 & DNR != 0
    }

    /// Whether both name the same type and code, whatever their other bits.
    #[must_use]
    pub const fn is(self, other: Self) -> bool {
        self.0 & 0x7ff == other.0 & 0x7ff
    }
}

impl fmt::Display for Status {
    /// As type and code in hexadecimal, in words where it has some, with the Do Not Retry bit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status type {:x}h, code {:02x}h", self.0 >> 8 & 7, self.code())?;
        if let Some(words) = self.words() {
            write!(f, " ({words})")?;
        }
        if self.is_final() { f.write_str(", do not retry") } else { Ok(()) }
    }
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Status({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_says_what_it_means() {
        assert_eq!(
            Status::CONNECT_INVALID_HOST.do_not_retry().to_string(),
            "status type 1h, code 84h (the host may not connect), do not retry"
        );
        assert_eq!(
            Status::INVALID_NAMESPACE.to_string(),
            "status type 0h, code 0bh (no such namespace, or not for this host)"
        );
        assert_eq!(Status::vendor(1).to_string(), "status type 7h, code 01h", "its text says it");
    }
}
