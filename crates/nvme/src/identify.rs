//! The data of Identify (Base Specification 2.0, section 5.17; NVM Command Set Specification 1.0, section 4.1.5).

use crate::fields::{RecordError, ascii, bytes, put, put_ascii, put_text, record, text, u16_at, u32_at, u64_at};

/// Bytes of every structure that Identify gives.
pub const IDENTIFY_BYTES: usize = 4096;
/// The most namespaces that one list names.
pub const LIST_ENTRIES: usize = IDENTIFY_BYTES / 4;
/// The namespace identifier that means all of them.
pub const ALL_NAMESPACES: u32 = 0xffff_ffff;

/// What Identify gives: Controller or Namespace Structure.
pub mod cns {
    /// [`NamespaceIdentity`](super::NamespaceIdentity).
    pub const NAMESPACE: u8 = 0x00;
    /// [`ControllerIdentity`](super::ControllerIdentity).
    pub const CONTROLLER: u8 = 0x01;
    /// Active namespaces above a given one.
    pub const ACTIVE_NAMESPACES: u8 = 0x02;
    /// [`descriptors`](super::encode_descriptors) of a namespace.
    pub const DESCRIPTORS: u8 = 0x03;
    /// The data of a command set about a namespace.
    pub const COMMAND_SET_NAMESPACE: u8 = 0x05;
    /// The data of a command set about a controller, [`NvmLimits`](super::NvmLimits).
    pub const COMMAND_SET_CONTROLLER: u8 = 0x06;
    /// Active namespaces of a command set above a given one.
    pub const COMMAND_SET_NAMESPACES: u8 = 0x07;
    /// What no command set shapes about a namespace.
    pub const INDEPENDENT_NAMESPACE: u8 = 0x08;
    /// Which command sets can be in use together.
    pub const COMMAND_SETS: u8 = 0x1c;
}

/// Kinds of controllers (CNTRLTYPE).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ControllerKind {
    /// Has namespaces.
    Io = 1,
    /// Reports the addresses of subsystems.
    Discovery = 2,
}

/// The Identify Controller structure, as far as it is not fixed.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let config = served(subsystem()?).await?;
/// # let controller = Controller::connect(config).await?;
/// use ciphermill_nvme::identify::ControllerIdentity;
///
/// let identity = controller.identify();
/// assert!(identity.optional_commands & ControllerIdentity::COMPARE != 0);
/// assert_eq!(ControllerIdentity::decode(&identity.encode())?, identity);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControllerIdentity {
    /// Serial number, at most 20 characters of ASCII.
    pub serial: String,
    /// Model, at most 40.
    pub model: String,
    /// Firmware revision, at most 8.
    pub firmware: String,
    /// The most data of a command, as a power of two of 4,096 bytes; 0 for no limit (MDTS).
    pub max_transfer: u8,
    /// Its identifier.
    pub controller: u16,
    /// Version.
    pub version: u32,
    /// Asynchronous events that can be enabled (OAES).
    pub events: u32,
    /// Kind; `None` for one that this crate does not know.
    pub kind: Option<ControllerKind>,
    /// Abort commands at once, less one (ACL).
    pub abort_limit: u8,
    /// Asynchronous Event Requests at once, less one (AERL).
    pub event_request_limit: u8,
    /// Attributes of log pages (LPA).
    pub log_attributes: u8,
    /// Entries of the error log, less one (ELPE).
    pub error_entries: u8,
    /// Granularity of the keep-alive timeout, in units of 100 ms; 0 for none (KAS).
    pub keep_alive: u16,
    /// The most commands in a queue; 0 if it does not say (MAXCMD).
    pub max_commands: u16,
    /// The greatest namespace identifier (NN).
    pub namespaces: u32,
    /// Optional commands (ONCS), see [`ControllerIdentity::COMPARE`].
    pub optional_commands: u16,
    /// Volatile write cache (VWC); bit 0 says that there is one.
    pub write_cache: u8,
    /// Blocks of the longest write that every namespace makes whole or not at all, less one (AWUN, AWUPF).
    pub atomic_write: u16,
    /// SGL support (SGLS).
    pub sgls: u32,
    /// Name of the subsystem.
    pub subsystem: String,
    /// Bytes of a command capsule in units of 16 (IOCCSZ).
    pub command_capsule: u32,
    /// Bytes of a response capsule in units of 16 (IORCSZ).
    pub response_capsule: u32,
    /// Offset of in-capsule data after the command, in units of 16 (ICDOFF).
    pub data_offset: u16,
}

impl ControllerIdentity {
    /// Optional command: Compare.
    pub const COMPARE: u16 = 1;
    /// Optional command: Dataset Management.
    pub const DATASET_MANAGEMENT: u16 = 1 << 2;
    /// Optional command: Write Zeroes.
    pub const WRITE_ZEROES: u16 = 1 << 3;
    /// [`ControllerIdentity::sgls`]: SGLs are supported, offsets within the capsule, and the Transport SGL Data Block.
    pub const SGLS: u32 = 1 | 1 << 20 | 1 << 21;

    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut data = vec![0; IDENTIFY_BYTES];
        put_ascii(&mut data, 4, 20, &self.serial);
        put_ascii(&mut data, 24, 40, &self.model);
        put_ascii(&mut data, 64, 8, &self.firmware);
        // CMIC: the subsystem may have two or more controllers.
        data[76] = 1 << 1;
        data[77] = self.max_transfer;
        put(&mut data, 78, &self.controller.to_le_bytes());
        put(&mut data, 80, &self.version.to_le_bytes());
        put(&mut data, 92, &self.events.to_le_bytes());
        // CTRATT: host identifiers of 128 bits.
        put(&mut data, 96, &1u32.to_le_bytes());
        data[111] = self.kind.map_or(0, |kind| kind as u8);
        data[258] = self.abort_limit;
        data[259] = self.event_request_limit;
        // FRMW: one slot, read-only.
        data[260] = 1 | 1 << 1;
        data[261] = self.log_attributes;
        data[262] = self.error_entries;
        // WCTEMP and CCTEMP: 70 and 80 degrees, the recommended values where there is no sensor.
        put(&mut data, 266, &343u16.to_le_bytes());
        put(&mut data, 268, &353u16.to_le_bytes());
        put(&mut data, 320, &self.keep_alive.to_le_bytes());
        // SQES and CQES: 64 and 16 bytes, least and most.
        data[512] = 0x66;
        data[513] = 0x44;
        put(&mut data, 514, &self.max_commands.to_le_bytes());
        put(&mut data, 516, &self.namespaces.to_le_bytes());
        put(&mut data, 520, &self.optional_commands.to_le_bytes());
        data[525] = self.write_cache;
        put(&mut data, 526, &self.atomic_write.to_le_bytes());
        put(&mut data, 528, &self.atomic_write.to_le_bytes());
        put(&mut data, 536, &self.sgls.to_le_bytes());
        put_text(&mut data, 768, 256, &self.subsystem);
        put(&mut data, 1792, &self.command_capsule.to_le_bytes());
        put(&mut data, 1796, &self.response_capsule.to_le_bytes());
        put(&mut data, 1800, &self.data_offset.to_le_bytes());
        // MSDBD: one SGL descriptor.
        data[1803] = 1;
        data
    }

    /// Reads them; what [`ControllerIdentity`] does not name is ignored.
    ///
    /// # Errors
    /// Too few bytes, or a subsystem name that is none.
    pub fn decode(data: &[u8]) -> Result<Self, RecordError> {
        let data = record(data, "the Identify Controller structure", IDENTIFY_BYTES)?;
        Ok(Self {
            serial: ascii(data, 4, 20),
            model: ascii(data, 24, 40),
            firmware: ascii(data, 64, 8),
            max_transfer: data[77],
            controller: u16_at(data, 78),
            version: u32_at(data, 80),
            events: u32_at(data, 92),
            kind: match data[111] {
                1 => Some(ControllerKind::Io),
                2 => Some(ControllerKind::Discovery),
                _ => None,
            },
            abort_limit: data[258],
            event_request_limit: data[259],
            log_attributes: data[261],
            error_entries: data[262],
            keep_alive: u16_at(data, 320),
            max_commands: u16_at(data, 514),
            namespaces: u32_at(data, 516),
            optional_commands: u16_at(data, 520),
            write_cache: data[525],
            atomic_write: u16_at(data, 526).min(u16_at(data, 528)),
            sgls: u32_at(data, 536),
            subsystem: text(data, 768, 256, "the subsystem's name")?,
            command_capsule: u32_at(data, 1792),
            response_capsule: u32_at(data, 1796),
            data_offset: u16_at(data, 1800),
        })
    }
}

/// The Identify Namespace structure of a namespace with one format and no metadata.
///
/// # Example
/// ```
/// use ciphermill_nvme::identify::NamespaceIdentity;
///
/// let (size, capacity, used) = (1024, 512, 3);
/// let identity = NamespaceIdentity { size, capacity, used, block_shift: 12, ..NamespaceIdentity::default() };
/// assert_eq!(NamespaceIdentity::decode(&identity.encode())?, identity);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NamespaceIdentity {
    /// Blocks that have an address (NSZE).
    pub size: u64,
    /// Blocks that may be in use (NCAP).
    pub capacity: u64,
    /// Blocks in use (NUSE).
    pub used: u64,
    /// Features (NSFEAT): bit 0 thin provisioning, bit 1 atomic writes by namespace.
    pub features: u8,
    /// What deallocated blocks read as (DLFEAT), see [`NamespaceIdentity::READS_ZEROS`].
    pub deallocated: u8,
    /// Blocks of the longest write that is made whole or not at all, less one (NAWUN, NAWUPF); counts with
    /// [`NamespaceIdentity::ATOMIC`].
    pub atomic_write: u16,
    /// Whether several controllers may attach (NMIC bit 0).
    pub shared: bool,
    /// Globally unique identifier (NGUID).
    pub nguid: [u8; 16],
    /// Bytes of a block, as a power of two, of the format in use.
    pub block_shift: u8,
    /// Bytes of metadata of a block, of the format in use.
    pub metadata_bytes: u16,
}

impl NamespaceIdentity {
    /// [`NamespaceIdentity::features`]: thin provisioning, capacity may be less than size.
    pub const THIN: u8 = 1;
    /// [`NamespaceIdentity::features`]: the namespace states its own [`atomic_write`](Self::atomic_write).
    pub const ATOMIC: u8 = 1 << 1;
    /// [`NamespaceIdentity::deallocated`]: zeros, and Write Zeroes may deallocate.
    pub const READS_ZEROS: u8 = 1 | 1 << 3;

    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut data = vec![0; IDENTIFY_BYTES];
        put(&mut data, 0, &self.size.to_le_bytes());
        put(&mut data, 8, &self.capacity.to_le_bytes());
        put(&mut data, 16, &self.used.to_le_bytes());
        data[24] = self.features;
        data[30] = u8::from(self.shared);
        data[33] = self.deallocated;
        put(&mut data, 34, &self.atomic_write.to_le_bytes());
        put(&mut data, 36, &self.atomic_write.to_le_bytes());
        put(&mut data, 104, &self.nguid);
        put(&mut data, 128, &self.metadata_bytes.to_le_bytes());
        data[130] = self.block_shift;
        data
    }

    /// Reads them; of several formats, the one in use.
    ///
    /// # Errors
    /// Too few bytes.
    pub fn decode(data: &[u8]) -> Result<Self, RecordError> {
        let data = record(data, "the Identify Namespace structure", IDENTIFY_BYTES)?;
        // FLBAS: bits 0 to 3, and 5 and 6 above them.
        let format = usize::from(data[26] & 15 | (data[26] >> 5 & 3) << 4);
        Ok(Self {
            size: u64_at(data, 0),
            capacity: u64_at(data, 8),
            used: u64_at(data, 16),
            features: data[24],
            shared: data[30] & 1 != 0,
            deallocated: data[33],
            atomic_write: u16_at(data, 34).min(u16_at(data, 36)),
            nguid: bytes(data, 104),
            metadata_bytes: u16_at(data, 128 + 4 * format),
            block_shift: data[130 + 4 * format],
        })
    }
}

/// The data of the NVM command set about a controller: limits of commands that move no data, as powers of two of 4,096
/// bytes or in blocks; 0 for none.
///
/// # Example
/// ```
/// use ciphermill_nvme::identify::NvmLimits;
///
/// let limits = NvmLimits { ranges: 16, range_blocks: 1 << 16, ..NvmLimits::default() };
/// assert_eq!(NvmLimits::decode(&limits.encode())?, limits);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NvmLimits {
    /// The most that one Write Zeroes may cover, as a power of two of 4,096 bytes (WZSL).
    pub write_zeroes: u8,
    /// The most ranges of one Dataset Management (DMRL).
    pub ranges: u8,
    /// The most blocks of a range (DMRSL).
    pub range_blocks: u32,
    /// The most blocks of all ranges (DMSL).
    pub total_blocks: u64,
}

impl NvmLimits {
    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut data = vec![0; IDENTIFY_BYTES];
        data[1] = self.write_zeroes;
        data[3] = self.ranges;
        put(&mut data, 4, &self.range_blocks.to_le_bytes());
        put(&mut data, 8, &self.total_blocks.to_le_bytes());
        data
    }

    /// Reads them.
    ///
    /// # Errors
    /// Too few bytes.
    pub fn decode(data: &[u8]) -> Result<Self, RecordError> {
        let data = record(data, "the NVM command set's controller structure", IDENTIFY_BYTES)?;
        Ok(Self {
            write_zeroes: data[1],
            ranges: data[3],
            range_blocks: u32_at(data, 4),
            total_blocks: u64_at(data, 8),
        })
    }
}

/// A list of namespaces, ascending; at most [`LIST_ENTRIES`] of them.
///
/// # Example
/// ```
/// use ciphermill_nvme::identify::{decode_namespaces, encode_namespaces};
///
/// let list = encode_namespaces([1, 5]);
/// assert_eq!((list.len(), decode_namespaces(&list)), (4096, vec![1, 5]));
/// ```
#[must_use]
pub fn encode_namespaces(ids: impl IntoIterator<Item = u32>) -> Vec<u8> {
    let mut data = Vec::with_capacity(IDENTIFY_BYTES);
    for id in ids.into_iter().take(LIST_ENTRIES) {
        data.extend_from_slice(&id.to_le_bytes());
    }
    data.resize(IDENTIFY_BYTES, 0);
    data
}

/// Reads a list of namespaces, up to the first 0.
#[must_use]
pub fn decode_namespaces(data: &[u8]) -> Vec<u32> {
    let ids = data.chunks_exact(4).map(|entry| u32_at(entry, 0));
    ids.take(LIST_ENTRIES).take_while(|id| *id != 0).collect()
}

/// How a namespace is named beyond its number.
///
/// # Example
/// ```
/// use ciphermill_nvme::identify::{Descriptors, decode_descriptors, encode_descriptors};
///
/// let descriptors = Descriptors { uuid: Some([7; 16]), command_set: Some(0), ..Descriptors::default() };
/// assert_eq!(decode_descriptors(&encode_descriptors(&descriptors)), descriptors);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Descriptors {
    /// Globally unique identifier.
    pub nguid: Option<[u8; 16]>,
    /// UUID.
    pub uuid: Option<[u8; 16]>,
    /// Its command set: 0 is NVM.
    pub command_set: Option<u8>,
}

/// The identification descriptors of a namespace.
#[must_use]
pub fn encode_descriptors(descriptors: &Descriptors) -> Vec<u8> {
    let mut data = Vec::with_capacity(IDENTIFY_BYTES);
    let mut add = |kind: u8, value: &[u8]| {
        data.extend_from_slice(&[kind, value.len() as u8, 0, 0]);
        data.extend_from_slice(value);
    };
    if let Some(nguid) = &descriptors.nguid {
        add(2, nguid);
    }
    if let Some(uuid) = &descriptors.uuid {
        add(3, uuid);
    }
    if let Some(set) = descriptors.command_set {
        add(4, &[set]);
    }
    data.resize(IDENTIFY_BYTES, 0);
    data
}

/// Reads identification descriptors, up to the first that has no length; unknown ones are skipped.
#[must_use]
pub fn decode_descriptors(mut data: &[u8]) -> Descriptors {
    let mut descriptors = Descriptors::default();
    while let [kind, length, _, _, rest @ ..] = data {
        let Some((value, after)) = rest.split_at_checked(usize::from(*length)).filter(|_| *length > 0) else { break };
        match (kind, value.len()) {
            (2, 16) => descriptors.nguid = Some(bytes(value, 0)),
            (3, 16) => descriptors.uuid = Some(bytes(value, 0)),
            (4, 1) => descriptors.command_set = Some(value[0]),
            _ => {}
        }
        data = after;
    }
    descriptors
}
