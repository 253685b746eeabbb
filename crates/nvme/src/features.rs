//! Feature identifiers and values (Base Specification 2.0, section 5.27.1), and asynchronous events (section 5.2).

/// Feature identifiers.
pub mod id {
    /// Arbitration.
    pub const ARBITRATION: u8 = 0x01;
    /// Power Management.
    pub const POWER_MANAGEMENT: u8 = 0x02;
    /// Temperature Threshold.
    pub const TEMPERATURE_THRESHOLD: u8 = 0x04;
    /// Error Recovery.
    pub const ERROR_RECOVERY: u8 = 0x05;
    /// Volatile Write Cache.
    pub const VOLATILE_WRITE_CACHE: u8 = 0x06;
    /// Number of Queues.
    pub const NUMBER_OF_QUEUES: u8 = 0x07;
    /// Write Atomicity Normal.
    pub const WRITE_ATOMICITY: u8 = 0x0a;
    /// Asynchronous Event Configuration.
    pub const ASYNC_EVENTS: u8 = 0x0b;
    /// Keep Alive Timer, in milliseconds.
    pub const KEEP_ALIVE: u8 = 0x0f;
    /// Host Identifier.
    pub const HOST_IDENTIFIER: u8 = 0x81;
}

/// Number of Queues, as asked for in dword 11 and as granted in the result: each less one.
///
/// # Example
/// ```
/// use ciphermill_nvme::features::QueueCount;
///
/// assert_eq!(QueueCount::both(4).bits(), 0x0003_0003);
/// assert_eq!(QueueCount::of(0x0003_0003), Some(QueueCount::both(4)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueCount {
    /// I/O submission queues, 1 to 65,535.
    pub submission: u32,
    /// I/O completion queues, 1 to 65,535.
    pub completion: u32,
}

impl QueueCount {
    /// As many of both.
    #[must_use]
    pub const fn both(queues: u32) -> Self {
        Self { submission: queues, completion: queues }
    }

    /// From the bits; `None` if one of them is 65,536, which is not allowed.
    #[must_use]
    pub const fn of(bits: u32) -> Option<Self> {
        let (submission, completion) = ((bits & 0xffff) + 1, (bits >> 16) + 1);
        if submission > 0xffff || completion > 0xffff { None } else { Some(Self { submission, completion }) }
    }

    /// The bits.
    #[must_use]
    pub const fn bits(&self) -> u32 {
        (self.submission.saturating_sub(1) & 0xffff) | (self.completion.saturating_sub(1) & 0xffff) << 16
    }
}

/// Events in the Asynchronous Event Configuration, and in the same places of OAES.
pub mod event_bits {
    /// The spare capacity is low; only in the configuration.
    pub const SPARE: u32 = 1;
    /// Attributes of a namespace changed, or the list of namespaces.
    pub const NAMESPACES: u32 = 1 << 8;
    /// The discovery log page changed.
    pub const DISCOVERY: u32 = 1 << 31;
}

/// The result of an Asynchronous Event Request.
///
/// # Example
/// ```
/// use ciphermill_nvme::features::Event;
///
/// assert_eq!(Event::of(Event::NAMESPACES.result()), Event::NAMESPACES);
/// assert_eq!(Event::NAMESPACES.log_page, 0x04);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Event {
    /// Type: 0 error, 1 SMART, 2 notice.
    pub kind: u8,
    /// What happened.
    pub information: u8,
    /// The log page that says more and whose reading lets the next event of this type come.
    pub log_page: u8,
}

impl Event {
    /// The list of namespaces changed, or one of them.
    pub const NAMESPACES: Self = Self { kind: 2, information: 0x00, log_page: crate::log::id::CHANGED_NAMESPACES };
    /// The discovery log page changed.
    pub const DISCOVERY: Self = Self { kind: 2, information: 0xf0, log_page: crate::log::id::DISCOVERY };
    /// The capacity of a namespace is nearly used up: the spare is at its threshold.
    pub const SPARE: Self = Self { kind: 1, information: 0x02, log_page: crate::log::id::SMART };
    /// An error of the controller that no command's completion reported.
    pub const TRANSIENT_ERROR: Self = Self { kind: 0, information: 0x04, log_page: crate::log::id::ERROR };

    /// As the result of a completion.
    #[must_use]
    pub const fn result(&self) -> u64 {
        (self.kind & 7) as u64 | (self.information as u64) << 8 | (self.log_page as u64) << 16
    }

    /// From the result of a completion.
    #[must_use]
    pub const fn of(result: u64) -> Self {
        Self { kind: result as u8 & 7, information: (result >> 8) as u8, log_page: (result >> 16) as u8 }
    }
}
