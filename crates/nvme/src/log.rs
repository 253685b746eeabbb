//! Log pages (Base Specification 2.0, section 5.16), and the vendor's page with the causes of errors in words.

use crate::{
    command::Command,
    fields::{
        RecordError, abridged, ascii, bytes, put, put_ascii, put_text, record, text, u16_at, u32_at, u64_at, u128_at,
    },
    status::Status,
};

/// Log page identifiers.
pub mod id {
    /// Which log pages there are.
    pub const SUPPORTED: u8 = 0x00;
    /// [`ErrorEntry`](super::ErrorEntry)s, the latest first.
    pub const ERROR: u8 = 0x01;
    /// [`Smart`](super::Smart).
    pub const SMART: u8 = 0x02;
    /// Firmware slots.
    pub const FIRMWARE: u8 = 0x03;
    /// Namespaces that changed since the page was read.
    pub const CHANGED_NAMESPACES: u8 = 0x04;
    /// Commands supported, and their effects.
    pub const EFFECTS: u8 = 0x05;
    /// [`DiscoveryEntry`](super::DiscoveryEntry)s behind a header.
    pub const DISCOVERY: u8 = 0x70;
    /// The vendor's: [`ErrorText`](super::ErrorText)s, the latest first.
    pub const ERROR_TEXTS: u8 = 0xc1;
}

/// Which part of which log page a command asks for.
///
/// # Example
/// ```
/// use ciphermill_nvme::{command::Command, log::{LogRequest, id}};
///
/// let request = LogRequest { page: id::SMART, length: 512, offset: 0, retain_event: false };
/// let command = Command { dwords: request.dwords(), ..Command::default() };
/// assert_eq!(LogRequest::of(&command), request);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRequest {
    /// Log page.
    pub page: u8,
    /// Bytes, a multiple of 4.
    pub length: u64,
    /// Where they begin.
    pub offset: u64,
    /// Whether an asynchronous event about this page stays as it is.
    pub retain_event: bool,
}

impl LogRequest {
    /// From a command's dwords.
    #[must_use]
    pub const fn of(command: &Command) -> Self {
        let dwords = &command.dwords;
        Self {
            page: dwords[0] as u8,
            length: (((dwords[0] >> 16) as u64 | (dwords[1] as u64 & 0xffff) << 16) + 1) * 4,
            offset: dwords[2] as u64 | (dwords[3] as u64) << 32,
            retain_event: dwords[0] & 1 << 15 != 0,
        }
    }

    /// Command dwords 10 to 15; a length of 0 counts as 4.
    #[must_use]
    pub const fn dwords(&self) -> [u32; 6] {
        let last = (self.length.div_ceil(4)).saturating_sub(1);
        [
            self.page as u32 | (self.retain_event as u32) << 15 | (last as u32 & 0xffff) << 16,
            (last >> 16) as u32 & 0xffff,
            self.offset as u32,
            (self.offset >> 32) as u32,
            0,
            0,
        ]
    }
}

/// An entry of the error log.
///
/// # Example
/// ```
/// use ciphermill_nvme::{Status, log::{ErrorEntry, id}};
///
/// let (status, vendor_page) = (Status::vendor(1), id::ERROR_TEXTS);
/// let entry = ErrorEntry { count: 5, queue: 1, command: 9, status, location: 0xffff, lba: 40, nsid: 1, vendor_page };
/// assert_eq!(ErrorEntry::decode(&entry.encode())?, entry);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorEntry {
    /// Number of this error since the controller was made, from 1; 0 stands for no entry.
    pub count: u64,
    /// Queue of the command.
    pub queue: u16,
    /// Identifier of the command.
    pub command: u16,
    /// How it ended.
    pub status: Status,
    /// First byte of the command that is at fault in bits 0 to 7, its first bit in 8 to 10; `0xffff` for none in particular.
    pub location: u16,
    /// First block concerned.
    pub lba: u64,
    /// Namespace.
    pub nsid: u32,
    /// A vendor's log page that says more, 0 for none.
    pub vendor_page: u8,
}

impl ErrorEntry {
    /// Bytes of an entry.
    pub const BYTES: usize = 64;

    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut data = [0; Self::BYTES];
        put(&mut data, 0, &self.count.to_le_bytes());
        put(&mut data, 8, &self.queue.to_le_bytes());
        put(&mut data, 10, &self.command.to_le_bytes());
        put(&mut data, 12, &(self.status.bits() << 1).to_le_bytes());
        put(&mut data, 14, &self.location.to_le_bytes());
        put(&mut data, 16, &self.lba.to_le_bytes());
        put(&mut data, 24, &self.nsid.to_le_bytes());
        data[28] = self.vendor_page;
        // The transport: TCP.
        data[29] = TCP;
        data
    }

    /// Reads them.
    ///
    /// # Errors
    /// Too few bytes.
    pub fn decode(data: &[u8]) -> Result<Self, RecordError> {
        let data = record(data, "an entry of the error log", Self::BYTES)?;
        Ok(Self {
            count: u64_at(data, 0),
            queue: u16_at(data, 8),
            command: u16_at(data, 10),
            status: Status::from_bits(u16_at(data, 12) >> 1),
            location: u16_at(data, 14),
            lba: u64_at(data, 16),
            nsid: u32_at(data, 24),
            vendor_page: data[28],
        })
    }
}

/// An entry of the vendor's log page C1h: the cause of an error in words.
///
/// # Example
/// ```
/// use ciphermill_nvme::{Status, log::ErrorText};
///
/// let text = "the disk has no lamp".to_owned();
/// let entry = ErrorText { count: 5, status: Status::vendor(1), queue: 1, command: 9, text };
/// assert_eq!(ErrorText::decode(&entry.encode())?, entry);
/// let long = ErrorText { text: "no lamp ".repeat(100), ..entry };
/// assert!(ErrorText::decode(&long.encode())?.text.ends_with('…'));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorText {
    /// [`ErrorEntry::count`]; 0 stands for no entry.
    pub count: u64,
    /// How the command ended.
    pub status: Status,
    /// Its queue.
    pub queue: u16,
    /// Its identifier.
    pub command: u16,
    /// The cause; longer ones are cut to 240 bytes, between words, and end with an ellipsis.
    pub text: String,
}

impl ErrorText {
    /// Bytes of an entry.
    pub const BYTES: usize = 256;
    const TEXT_BYTES: usize = 240;

    /// Its bytes: count u64, status u16 (as in [`Status::bits`]), queue u16, command u16, length of the text u16, text.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut data = [0; Self::BYTES];
        let text = abridged(&self.text, Self::TEXT_BYTES);
        put(&mut data, 0, &self.count.to_le_bytes());
        put(&mut data, 8, &self.status.bits().to_le_bytes());
        put(&mut data, 10, &self.queue.to_le_bytes());
        put(&mut data, 12, &self.command.to_le_bytes());
        put(&mut data, 14, &(text.len() as u16).to_le_bytes());
        put(&mut data, 16, text.as_bytes());
        data
    }

    /// Reads them; bytes of the text that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// Too few bytes.
    pub fn decode(data: &[u8]) -> Result<Self, RecordError> {
        let data = record(data, "an entry of the log page C1h", Self::BYTES)?;
        let length = usize::from(u16_at(data, 14)).min(Self::TEXT_BYTES);
        Ok(Self {
            count: u64_at(data, 0),
            status: Status::from_bits(u16_at(data, 8)),
            queue: u16_at(data, 10),
            command: u16_at(data, 12),
            text: String::from_utf8_lossy(&data[16..16 + length]).into_owned(),
        })
    }
}

/// SMART / Health Information.
///
/// # Example
/// ```
/// use ciphermill_nvme::log::Smart;
///
/// let health = Smart { temperature: 298, spare: 100, reads: 1 << 70, ..Smart::default() };
/// assert_eq!(Smart::decode(&health.encode())?, health);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Smart {
    /// Critical warnings.
    pub warnings: u8,
    /// Composite temperature in kelvins.
    pub temperature: u16,
    /// Spare that is left, in percent.
    pub spare: u8,
    /// Where that becomes a warning, in percent.
    pub spare_threshold: u8,
    /// Life used, in percent.
    pub used: u8,
    /// Thousands of 512 bytes read, rounded up.
    pub units_read: u128,
    /// Thousands of 512 bytes written, rounded up.
    pub units_written: u128,
    /// Read and Compare commands.
    pub reads: u128,
    /// Write commands.
    pub writes: u128,
    /// Minutes with commands in progress.
    pub busy_minutes: u128,
    /// Power cycles.
    pub power_cycles: u128,
    /// Hours since the subsystem was made.
    pub power_on_hours: u128,
    /// Shutdowns without notice.
    pub unsafe_shutdowns: u128,
    /// Media and data integrity errors.
    pub media_errors: u128,
    /// Entries that the error log ever had.
    pub error_entries: u128,
}

impl Smart {
    /// Bytes of the page.
    pub const BYTES: usize = 512;

    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut data = vec![0; Self::BYTES];
        data[0] = self.warnings;
        put(&mut data, 1, &self.temperature.to_le_bytes());
        data[3] = self.spare;
        data[4] = self.spare_threshold;
        data[5] = self.used;
        let counters = [
            self.units_read,
            self.units_written,
            self.reads,
            self.writes,
            self.busy_minutes,
            self.power_cycles,
            self.power_on_hours,
            self.unsafe_shutdowns,
            self.media_errors,
            self.error_entries,
        ];
        for (index, counter) in counters.into_iter().enumerate() {
            put(&mut data, 32 + 16 * index, &counter.to_le_bytes());
        }
        data
    }

    /// Reads them.
    ///
    /// # Errors
    /// Too few bytes.
    pub fn decode(data: &[u8]) -> Result<Self, RecordError> {
        let data = record(data, "the SMART log page", Self::BYTES)?;
        let counter = |index: usize| u128_at(data, 32 + 16 * index);
        Ok(Self {
            warnings: data[0],
            temperature: u16_at(data, 1),
            spare: data[3],
            spare_threshold: data[4],
            used: data[5],
            units_read: counter(0),
            units_written: counter(1),
            reads: counter(2),
            writes: counter(3),
            busy_minutes: counter(4),
            power_cycles: counter(5),
            power_on_hours: counter(6),
            unsafe_shutdowns: counter(7),
            media_errors: counter(8),
            error_entries: counter(9),
        })
    }
}

/// Bytes of the header of the discovery log page, and of each entry.
pub const DISCOVERY_BYTES: usize = 1024;
/// Transport type: TCP.
pub const TCP: u8 = 3;

/// The header of the discovery log page.
///
/// # Example
/// ```
/// use ciphermill_nvme::log::DiscoveryHeader;
///
/// let header = DiscoveryHeader { generation: 3, records: 2, format: 0 };
/// assert_eq!(DiscoveryHeader::decode(&header.encode())?, header);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DiscoveryHeader {
    /// Changes whenever the page does.
    pub generation: u64,
    /// Entries that follow.
    pub records: u64,
    /// Format of the page; only 0 is defined.
    pub format: u16,
}

impl DiscoveryHeader {
    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; DISCOVERY_BYTES] {
        let mut data = [0; DISCOVERY_BYTES];
        put(&mut data, 0, &self.generation.to_le_bytes());
        put(&mut data, 8, &self.records.to_le_bytes());
        put(&mut data, 16, &self.format.to_le_bytes());
        data
    }

    /// Reads them.
    ///
    /// # Errors
    /// Too few bytes.
    pub fn decode(data: &[u8]) -> Result<Self, RecordError> {
        let data = record(data, "the header of the discovery log page", DISCOVERY_BYTES)?;
        Ok(Self { generation: u64_at(data, 0), records: u64_at(data, 8), format: u16_at(data, 16) })
    }
}

/// The target of an entry of the discovery log page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubsystemKind {
    /// Another discovery subsystem.
    Referral,
    /// A subsystem with namespaces.
    Nvm,
    /// The discovery subsystem that is asked.
    CurrentDiscovery,
    /// Not known to this crate.
    Other(u8),
}

impl SubsystemKind {
    const fn code(self) -> u8 {
        match self {
            Self::Referral => 1,
            Self::Nvm => 2,
            Self::CurrentDiscovery => 3,
            Self::Other(code) => code,
        }
    }
}

/// An entry of the discovery log page: a way to a subsystem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoveryEntry {
    /// Transport type, [`TCP`] for us.
    pub transport: u8,
    /// Address family: 1 IPv4, 2 IPv6.
    pub family: u8,
    /// The kind of the subsystem.
    pub kind: SubsystemKind,
    /// Requirements: bits 0 and 1 a secure channel (2: not required), bit 2 flow control can be disabled.
    pub requirements: u8,
    /// Port of the subsystem.
    pub port_id: u16,
    /// Controller, `0xffff` if they are dynamic.
    pub controller: u16,
    /// The most entries of an admin queue.
    pub admin_queue: u16,
    /// Service: the TCP port in decimal.
    pub service: String,
    /// Name of the subsystem.
    pub subsystem: String,
    /// Address.
    pub address: String,
    /// Security type of TCP: 0 none.
    pub security: u8,
}

impl DiscoveryEntry {
    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; DISCOVERY_BYTES] {
        let mut data = [0; DISCOVERY_BYTES];
        put(&mut data, 0, &[self.transport, self.family, self.kind.code(), self.requirements]);
        put(&mut data, 4, &self.port_id.to_le_bytes());
        put(&mut data, 6, &self.controller.to_le_bytes());
        put(&mut data, 8, &self.admin_queue.to_le_bytes());
        put_ascii(&mut data, 32, 32, &self.service);
        put_text(&mut data, 256, 256, &self.subsystem);
        put_ascii(&mut data, 512, 256, &self.address);
        data[768] = self.security;
        data
    }

    /// Reads them.
    ///
    /// # Errors
    /// Too few bytes, or a subsystem name that is none.
    pub fn decode(data: &[u8]) -> Result<Self, RecordError> {
        let data = record(data, "an entry of the discovery log page", DISCOVERY_BYTES)?;
        let [transport, family, kind, requirements] = bytes(data, 0);
        Ok(Self {
            transport,
            family,
            kind: match kind {
                1 => SubsystemKind::Referral,
                2 => SubsystemKind::Nvm,
                3 => SubsystemKind::CurrentDiscovery,
                other => SubsystemKind::Other(other),
            },
            requirements,
            port_id: u16_at(data, 4),
            controller: u16_at(data, 6),
            admin_queue: u16_at(data, 8),
            service: ascii(data, 32, 32),
            subsystem: text(data, 256, 256, "the subsystem's name")?,
            address: ascii(data, 512, 256),
            security: data[768],
        })
    }
}

/// The Firmware Slot Information page of one slot.
#[must_use]
pub fn encode_firmware(revision: &str) -> Vec<u8> {
    let mut data = vec![0; 512];
    data[0] = 1;
    put_ascii(&mut data, 8, 8, revision);
    data
}

/// Effects of a command (log page 05h): it is supported.
pub const EFFECT_SUPPORTED: u32 = 1;
/// Effects of a command: it changes the content of blocks.
pub const EFFECT_CONTENT: u32 = 1 << 1;

/// The Commands Supported and Effects page: opcodes of admin and of I/O commands with their effects.
///
/// # Example
/// ```
/// use ciphermill_nvme::{command::io, log::{EFFECT_CONTENT, EFFECT_SUPPORTED, encode_effects, io_effects}};
///
/// let page = encode_effects(&[], &[(io::WRITE, EFFECT_SUPPORTED | EFFECT_CONTENT)]);
/// assert_eq!(io_effects(&page, io::WRITE), EFFECT_SUPPORTED | EFFECT_CONTENT);
/// assert_eq!(io_effects(&page, io::COMPARE), 0);
/// ```
#[must_use]
pub fn encode_effects(admin: &[(u8, u32)], io: &[(u8, u32)]) -> Vec<u8> {
    let mut data = vec![0; 4096];
    for (begin, commands) in [(0, admin), (1024, io)] {
        for (opcode, effects) in commands {
            put(&mut data, begin + 4 * usize::from(*opcode), &effects.to_le_bytes());
        }
    }
    data
}

/// Effects of an I/O command as this page reports them; 0 if it is not supported.
#[must_use]
pub fn io_effects(page: &[u8], opcode: u8) -> u32 {
    u32_at(page, 1024 + 4 * usize::from(opcode))
}
