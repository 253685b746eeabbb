//! What fabrics commands carry: Connect, Disconnect, and the properties of a controller (Base Specification 2.0, chapters 3
//! and 6).

use crate::{
    command::{Command, FLAGS_SGL, Sgl, fabrics},
    fields::{RecordError, bytes, put, put_text, record, text, u16_at},
};

/// The name of every discovery subsystem.
pub const DISCOVERY_NQN: &str = "nqn.2014-08.org.nvmexpress.discovery";
/// The most bytes of a qualified name, without the NUL that ends it.
pub const MAX_NQN_BYTES: usize = 223;
/// The controller identifier that asks for any controller.
pub const DYNAMIC_CONTROLLER: u16 = 0xffff;
/// Bytes of the data of Connect.
pub const CONNECT_DATA_BYTES: usize = 1024;

const NQN_FIELD_BYTES: usize = 256;

/// Whether a text can be a qualified name: `nqn.` and more, at most [`MAX_NQN_BYTES`] bytes, no control characters.
///
/// # Example
/// ```
/// use ciphermill_nvme::fabrics::{DISCOVERY_NQN, is_nqn};
///
/// assert!(is_nqn(DISCOVERY_NQN) && is_nqn("nqn.2026-01.example:disk"));
/// assert!(!is_nqn("iqn.2026-01.example:disk") && !is_nqn("nqn."));
/// ```
#[must_use]
pub fn is_nqn(text: &str) -> bool {
    text.len() > 4 && text.len() <= MAX_NQN_BYTES && text.starts_with("nqn.") && !text.chars().any(char::is_control)
}

/// The fields of a Connect command.
///
/// # Example
/// ```
/// use ciphermill_nvme::fabrics::Connect;
///
/// let connect = Connect { format: 0, queue: 1, size: 127, attributes: Connect::NO_FLOW_CONTROL, keep_alive: 0 };
/// assert_eq!(Connect::of(&connect.command(9)), connect);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connect {
    /// Format of the record; only 0 is defined.
    pub format: u16,
    /// Queue: 0 is the admin queue.
    pub queue: u16,
    /// Entries of the submission queue less one.
    pub size: u16,
    /// Attributes: bits 0 and 1 the priority class, bit 2 [`Connect::NO_FLOW_CONTROL`].
    pub attributes: u8,
    /// Keep-alive timeout in milliseconds; 0 for none.
    pub keep_alive: u32,
}

impl Connect {
    /// Attribute: the host does without flow control of the submission queue.
    pub const NO_FLOW_CONTROL: u8 = 1 << 2;

    /// From a command's dwords.
    #[must_use]
    pub const fn of(command: &Command) -> Self {
        Self {
            format: command.dwords[0] as u16,
            queue: (command.dwords[0] >> 16) as u16,
            size: command.dwords[1] as u16,
            attributes: (command.dwords[1] >> 16) as u8,
            keep_alive: command.dwords[2],
        }
    }

    /// As a command with its data in the capsule.
    #[must_use]
    pub const fn command(&self, id: u16) -> Command {
        Command {
            opcode: fabrics::OPCODE,
            flags: FLAGS_SGL,
            id,
            nsid: fabrics::CONNECT as u32,
            dwords_2_3: [0; 2],
            metadata: 0,
            sgl: Sgl::in_capsule(CONNECT_DATA_BYTES as u32),
            dwords: [
                self.format as u32 | (self.queue as u32) << 16,
                self.size as u32 | (self.attributes as u32) << 16,
                self.keep_alive,
                0,
                0,
                0,
            ],
        }
    }
}

/// The data of a Connect command.
///
/// # Example
/// ```
/// use ciphermill_nvme::fabrics::{ConnectData, DYNAMIC_CONTROLLER};
///
/// let data = ConnectData {
///     host_id: [1; 16],
///     controller: DYNAMIC_CONTROLLER,
///     subsystem: "nqn.2026-01.example:disk".into(),
///     host: "nqn.2026-01.example:host".into(),
/// };
/// assert_eq!(ConnectData::decode(&data.encode())?, data);
/// assert!(ConnectData::decode(&data.encode()[..1000]).is_err(), "the record has 1,024 bytes");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectData {
    /// Host identifier.
    pub host_id: [u8; 16],
    /// Controller, [`DYNAMIC_CONTROLLER`] on an admin queue.
    pub controller: u16,
    /// Name of the subsystem.
    pub subsystem: String,
    /// Name of the host.
    pub host: String,
}

impl ConnectData {
    /// Where the host identifier stands.
    pub const HOST_ID_OFFSET: u16 = 0;
    /// Where the controller identifier stands.
    pub const CONTROLLER_OFFSET: u16 = 16;
    /// Where the name of the subsystem stands.
    pub const SUBSYSTEM_OFFSET: u16 = 256;
    /// Where the name of the host stands.
    pub const HOST_OFFSET: u16 = 512;

    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; CONNECT_DATA_BYTES] {
        let mut data = [0; CONNECT_DATA_BYTES];
        put(&mut data, 0, &self.host_id);
        put(&mut data, 16, &self.controller.to_le_bytes());
        put_text(&mut data, usize::from(Self::SUBSYSTEM_OFFSET), NQN_FIELD_BYTES, &self.subsystem);
        put_text(&mut data, usize::from(Self::HOST_OFFSET), NQN_FIELD_BYTES, &self.host);
        data
    }

    /// Reads them. Whether the names are qualified names is not judged.
    ///
    /// # Errors
    /// Too few bytes, or a name that no NUL ends or that is not UTF-8; the offset says which.
    pub fn decode(data: &[u8]) -> Result<Self, RecordError> {
        let data = record(data, "the data of Connect", CONNECT_DATA_BYTES)?;
        Ok(Self {
            host_id: bytes(data, 0),
            controller: u16_at(data, 16),
            subsystem: text(data, usize::from(Self::SUBSYSTEM_OFFSET), NQN_FIELD_BYTES, "the subsystem's name")?,
            host: text(data, usize::from(Self::HOST_OFFSET), NQN_FIELD_BYTES, "the host's name")?,
        })
    }
}

/// The result of a Connect that failed with Invalid Parameters: which one.
///
/// # Example
/// ```
/// use ciphermill_nvme::fabrics::{ConnectData, InvalidParameter};
///
/// let parameter = InvalidParameter { offset: ConnectData::SUBSYSTEM_OFFSET, in_data: true };
/// assert_eq!(parameter.result(), 0x1_0100);
/// assert_eq!(InvalidParameter::of(0x1_0100), parameter);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidParameter {
    /// Its byte.
    pub offset: u16,
    /// Whether that is in the data, not in the command.
    pub in_data: bool,
}

impl InvalidParameter {
    /// As the result of a completion.
    #[must_use]
    pub const fn result(&self) -> u64 {
        self.offset as u64 | (self.in_data as u64) << 16
    }

    /// From the result of a completion.
    #[must_use]
    pub const fn of(result: u64) -> Self {
        Self { offset: result as u16, in_data: result & 1 << 16 != 0 }
    }
}

/// The properties that a controller has over fabrics: their offsets.
pub mod property {
    /// Controller Capabilities, 8 bytes.
    pub const CAPABILITIES: u32 = 0x00;
    /// Version, 4 bytes.
    pub const VERSION: u32 = 0x08;
    /// Controller Configuration, 4 bytes.
    pub const CONFIGURATION: u32 = 0x14;
    /// Controller Status, 4 bytes.
    pub const STATUS: u32 = 0x1c;
    /// NVM Subsystem Reset, 4 bytes.
    pub const SUBSYSTEM_RESET: u32 = 0x20;
}

/// Property Get or Property Set.
///
/// # Example
/// ```
/// use ciphermill_nvme::fabrics::{Configuration, Property, property};
///
/// let enable = Property { offset: property::CONFIGURATION, wide: false, value: Some(Configuration::ENABLE.0.into()) };
/// assert_eq!(Property::of(&enable.command(9)), Some(enable));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Property {
    /// Its offset, see [`property`].
    pub offset: u32,
    /// Whether it has 8 bytes, else 4.
    pub wide: bool,
    /// What to set; `None` to get.
    pub value: Option<u64>,
}

impl Property {
    /// From a command's dwords; `None` if the size is neither 4 nor 8 bytes.
    #[must_use]
    pub const fn of(command: &Command) -> Option<Self> {
        let wide = match command.dwords[0] & 7 {
            0 => false,
            1 => true,
            _ => return None,
        };
        let value = command.dwords[2] as u64 | (command.dwords[3] as u64) << 32;
        let value = if command.fabrics_type() == fabrics::PROPERTY_SET { Some(value) } else { None };
        Some(Self { offset: command.dwords[1], wide, value })
    }

    /// As a command.
    #[must_use]
    pub const fn command(&self, id: u16) -> Command {
        let (kind, value) = match self.value {
            Some(value) => (fabrics::PROPERTY_SET, value),
            None => (fabrics::PROPERTY_GET, 0),
        };
        Command {
            opcode: fabrics::OPCODE,
            flags: FLAGS_SGL,
            id,
            nsid: kind as u32,
            dwords_2_3: [0; 2],
            metadata: 0,
            sgl: Sgl { address: 0, length: 0, identifier: 0 },
            dwords: [self.wide as u32, self.offset, value as u32, (value >> 32) as u32, 0, 0],
        }
    }
}

/// Controller Capabilities (CAP).
///
/// # Example
/// ```
/// use ciphermill_nvme::fabrics::Capabilities;
///
/// let capabilities = Capabilities { max_queue: 127, timeout: 1 };
/// assert_eq!(Capabilities::of(capabilities.bits()), capabilities);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The most entries of a queue, less one (MQES).
    pub max_queue: u16,
    /// Time to become ready or not ready, in units of 500 ms (TO).
    pub timeout: u8,
}

impl Capabilities {
    /// Its bits: queues are contiguous (CQR), the command set is NVM, pages have 4,096 bytes.
    #[must_use]
    pub const fn bits(&self) -> u64 {
        self.max_queue as u64 | 1 << 16 | (self.timeout as u64) << 24 | 1 << 37
    }

    /// From these bits.
    #[must_use]
    pub const fn of(bits: u64) -> Self {
        Self { max_queue: bits as u16, timeout: (bits >> 24) as u8 }
    }
}

/// Controller Configuration (CC).
///
/// # Example
/// ```
/// use ciphermill_nvme::fabrics::Configuration;
///
/// let stop = Configuration::ENABLE.with_shutdown();
/// assert!(stop.enabled());
/// assert_eq!((stop.shutdown(), stop.submission_entry(), stop.completion_entry()), (1, 6, 4));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Configuration(pub u32);

impl Configuration {
    /// The configuration that enables an I/O controller: entries of 64 and 16 bytes, the NVM command set.
    pub const ENABLE: Self = Self(1 | 6 << 16 | 4 << 20);

    /// Whether the controller is enabled (EN).
    #[must_use]
    pub const fn enabled(self) -> bool {
        self.0 & 1 != 0
    }

    /// I/O Command Set Selected (CSS).
    #[must_use]
    pub const fn command_set(self) -> u32 {
        self.0 >> 4 & 7
    }

    /// Memory page size, as a power of two above 4,096 (MPS).
    #[must_use]
    pub const fn page_size(self) -> u32 {
        self.0 >> 7 & 15
    }

    /// Arbitration mechanism (AMS).
    #[must_use]
    pub const fn arbitration(self) -> u32 {
        self.0 >> 11 & 7
    }

    /// Shutdown notification (SHN): 0 none, 1 normal, 2 abrupt.
    #[must_use]
    pub const fn shutdown(self) -> u32 {
        self.0 >> 14 & 3
    }

    /// The same with a normal shutdown notification.
    #[must_use]
    pub const fn with_shutdown(self) -> Self {
        Self(self.0 & !(3 << 14) | 1 << 14)
    }

    /// Size of a submission queue entry as a power of two (IOSQES).
    #[must_use]
    pub const fn submission_entry(self) -> u32 {
        self.0 >> 16 & 15
    }

    /// Size of a completion queue entry as a power of two (IOCQES).
    #[must_use]
    pub const fn completion_entry(self) -> u32 {
        self.0 >> 20 & 15
    }
}

/// Controller Status (CSTS).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControllerStatus(pub u32);

impl ControllerStatus {
    /// Ready (RDY).
    pub const READY: u32 = 1;
    /// Fatal (CFS).
    pub const FATAL: u32 = 1 << 1;
    /// Shutdown complete (SHST).
    pub const SHUTDOWN_COMPLETE: u32 = 2 << 2;

    /// Whether the controller is ready.
    #[must_use]
    pub const fn ready(self) -> bool {
        self.0 & Self::READY != 0
    }

    /// Whether the controller failed.
    #[must_use]
    pub const fn fatal(self) -> bool {
        self.0 & Self::FATAL != 0
    }

    /// Whether shutdown is complete.
    #[must_use]
    pub const fn shutdown_complete(self) -> bool {
        self.0 & 3 << 2 == Self::SHUTDOWN_COMPLETE
    }
}

/// The version that controllers of this crate name: 1.4. Version 2.0 would promise ready modes and log pages that say
/// nothing here; the identify structures of 2.0 that hosts ask for are answered all the same.
pub const VERSION: u32 = 0x0001_0400;
