//! The seam between the protocol and what keeps the blocks.

use crate::status::Status;
use std::{fmt, future::Future, net::IpAddr, ops::Range, pin::Pin, sync::Arc};

/// A host, as it named itself in Connect.
///
/// # Example
/// ```
/// use ciphermill_nvme::{Host, fabrics::is_nqn};
///
/// let host = Host { nqn: "nqn.2026-01.example:host".into(), id: [1; 16] };
/// assert!(is_nqn(&host.nqn));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Host {
    /// Its qualified name.
    pub nqn: String,
    /// Its identifier.
    pub id: [u8; 16],
}

/// The account that a host's use of the target is charged to. All hosts of one account have one share of every resource.
///
/// # Example
/// ```
/// use ciphermill_nvme::Account;
///
/// let named = Account::Host("nqn.2026-01.example:host".into());
/// assert_eq!(named.to_string(), "nqn.2026-01.example:host");
/// // Every address of this machine is one source.
/// let (one, other) = ("127.0.0.1".parse()?, "127.9.9.9".parse()?);
/// assert_eq!(Account::source(one), Account::source(other));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Account {
    /// The name of a host that the configuration names.
    Host(Arc<str>),
    /// The source address of hosts whose names are not configured.
    Address(IpAddr),
}

impl Account {
    /// The account of a source address. All addresses of the loopback interface count as one, and so do the addresses of
    /// one IPv6 network of 64 bits: a host that has one of them can take the others. The name of a host is not a part of
    /// it, also on the loopback interface: a process that invents names would have a share for each of them.
    #[must_use]
    pub fn source(address: IpAddr) -> Self {
        use std::net::{Ipv4Addr, Ipv6Addr};
        Self::Address(match address.to_canonical() {
            address if address.is_loopback() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() >> 64 << 64).into(),
            address => address,
        })
    }
}

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(nqn) => f.write_str(nqn),
            Self::Address(address) => write!(f, "hosts at {address}"),
        }
    }
}

/// The host that a command comes from.
///
/// # Example
/// ```
/// use ciphermill_nvme::{Account, Caller, Host};
///
/// let caller = Caller::named(Host { nqn: "nqn.2026-01.example:host".into(), id: [1; 16] });
/// assert_eq!(caller.account, Account::Host("nqn.2026-01.example:host".into()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Caller {
    /// The host, as it named itself.
    pub host: Host,
    /// The account that its use is charged to.
    pub account: Account,
}

impl Caller {
    /// A host with its own account.
    #[must_use]
    pub fn named(host: Host) -> Self {
        Self { account: Account::Host(host.nqn.as_str().into()), host }
    }
}

/// The properties of a namespace that never change, for Identify and the log pages.
///
/// # Example
/// ```
/// use ciphermill_nvme::Properties;
///
/// let disk = Properties { deallocated_reads_zeros: true, ..Properties::default() };
/// assert_eq!((disk.atomic_blocks, disk.vendor.len()), (1, 0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Properties {
    /// Whether deallocated blocks read as zeros (DLFEAT).
    pub deallocated_reads_zeros: bool,
    /// Blocks of the longest write that is old or new as a whole, also after a power failure; at least 1.
    pub atomic_blocks: u32,
    /// The vendor's opcodes, ascending.
    pub vendor: &'static [VendorOpcode],
}

impl Default for Properties {
    fn default() -> Self {
        Self { deallocated_reads_zeros: false, atomic_blocks: 1, vendor: &[] }
    }
}

/// A vendor's opcode that a namespace implements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VendorOpcode {
    /// The opcode, 80h to FFh.
    pub opcode: u8,
    /// Whether the command may change blocks.
    pub changes: bool,
}

/// Sizes of a namespace in blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Blocks that have an address (NSZE).
    pub size: u64,
    /// Blocks that may be in use at one time (NCAP), at most `size`.
    pub capacity: u64,
    /// Blocks in use (NUSE).
    pub used: u64,
}

/// The error of a command: the status for the host, and the detail for the error log.
///
/// # Example
/// ```
/// use ciphermill_nvme::{CommandError, Status};
///
/// let error = CommandError::new(Status::LBA_OUT_OF_RANGE, "the namespace has 64 blocks").at(64);
/// assert_eq!((error.status, error.lba), (Status::LBA_OUT_OF_RANGE, Some(64)));
/// assert!(error.to_string().ends_with("at block 64: the namespace has 64 blocks"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandError {
    /// The status.
    pub status: Status,
    /// The cause in words; empty when the status says all.
    pub detail: String,
    /// The first block concerned, if it is one in particular.
    pub lba: Option<u64>,
}

impl CommandError {
    /// A status with its cause in words.
    #[must_use]
    pub fn new(status: Status, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), lba: None }
    }

    /// The same, about this block.
    #[must_use]
    pub fn at(self, lba: u64) -> Self {
        Self { lba: Some(lba), ..self }
    }
}

impl From<Status> for CommandError {
    fn from(status: Status) -> Self {
        Self { status, detail: String::new(), lba: None }
    }
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.status)?;
        if let Some(lba) = self.lba {
            write!(f, " at block {lba}")?;
        }
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

impl std::error::Error for CommandError {}

/// The outcome of a command, at once or later.
///
/// # Example
/// ```
/// use ciphermill_nvme::{Answer, Status};
///
/// # #[tokio::main]
/// # async fn main() {
/// let at_once = Answer::Ready(Ok(6));
/// let refused = Answer::<u32>::failed(Status::NAMESPACE_WRITE_PROTECTED);
/// let slow = Answer::later(async { Ok(7) });
/// assert_eq!((at_once.wait().await, slow.wait().await), (Ok(6), Ok(7)));
/// assert!(refused.wait().await.is_err_and(|error| error.status == Status::NAMESPACE_WRITE_PROTECTED));
/// # }
/// ```
pub enum Answer<T> {
    /// Known already.
    Ready(Result<T, CommandError>),
    /// Known when this future completes. If it changes anything, it runs to its end even when no caller waits for it: the
    /// target never drops it half-way.
    Later(Pin<Box<dyn Future<Output = Result<T, CommandError>> + Send>>),
}

impl<T> Answer<T> {
    /// A failure known already.
    #[must_use]
    pub fn failed(error: impl Into<CommandError>) -> Self {
        Self::Ready(Err(error.into()))
    }

    /// The result of a future.
    ///
    /// # Example
    /// ```
    /// use ciphermill_nvme::{Answer, CommandError, Status};
    ///
    /// # #[tokio::main]
    /// # async fn main() {
    /// let answer = Answer::<u32>::later(async {
    ///     tokio::task::yield_now().await;
    ///     Err(CommandError::from(Status::WRITE_FAULT))
    /// });
    /// assert!(answer.wait().await.is_err_and(|error| error.status.is(Status::WRITE_FAULT)));
    /// # }
    /// ```
    #[must_use]
    pub fn later(future: impl Future<Output = Result<T, CommandError>> + Send + 'static) -> Self {
        Self::Later(Box::pin(future))
    }

    /// Waits for the outcome.
    ///
    /// # Errors
    /// The command's.
    pub async fn wait(self) -> Result<T, CommandError> {
        match self {
            Self::Ready(outcome) => outcome,
            Self::Later(future) => future.await,
        }
    }
}

impl<T> fmt::Debug for Answer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ready(Ok(_)) => "Answer::Ready(Ok)",
            Self::Ready(Err(_)) => "Answer::Ready(Err)",
            Self::Later(_) => "Answer::Later",
        })
    }
}

/// An I/O command with a vendor's opcode (80h to FFh) that moves data to the host or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VendorCommand {
    /// The opcode.
    pub opcode: u8,
    /// Command dwords 10 to 15.
    pub dwords: [u32; 6],
    /// The most bytes that the host takes; 0 when the command moves no data.
    pub length: usize,
}

/// Blocks of [`BLOCK_BYTES`](crate::BLOCK_BYTES) bytes that hosts read and write.
///
/// The target calls with ranges that are not empty, lie within [`Geometry::size`] and are not longer than its transfer
/// limit. Calls come from many tasks at once and must not block: a call that would wait returns [`Answer::Later`]. Commands that
/// are in progress together may take effect in any order; each block of a write is old or new, never a mixture.
///
/// # Example
/// ```
/// use ciphermill_nvme::{Answer, BLOCK_BYTES, Caller, CommandError, Geometry, Host, Namespace, Status};
/// use std::{ops::Range, sync::Arc};
///
/// /// A read-only disk of 16 blocks. Every byte of a block is the number of the block.
/// #[derive(Debug)]
/// struct Numbers;
///
/// fn refused<T>(lba: u64) -> Answer<T> {
///     Answer::failed(CommandError::from(Status::NAMESPACE_WRITE_PROTECTED).at(lba))
/// }
///
/// impl Namespace for Numbers {
///     fn geometry(&self) -> Geometry {
///         Geometry { size: 16, capacity: 16, used: 16 }
///     }
///
///     fn read(self: Arc<Self>, _: &Arc<Caller>, lba: u64, blocks: u32) -> Answer<Vec<u8>> {
///         let numbers = lba..lba + u64::from(blocks);
///         Answer::Ready(Ok(numbers.flat_map(|number| [number as u8; BLOCK_BYTES]).collect()))
///     }
///
///     fn write(self: Arc<Self>, _: &Arc<Caller>, lba: u64, _: Vec<u8>) -> Answer<()> {
///         refused(lba)
///     }
///
///     fn write_zeroes(self: Arc<Self>, _: &Arc<Caller>, lba: u64, _: u32, _: bool) -> Answer<()> {
///         refused(lba)
///     }
///
///     fn deallocate(self: Arc<Self>, _: &Arc<Caller>, ranges: Vec<Range<u64>>) -> Answer<()> {
///         refused(ranges[0].start)
///     }
///
///     fn flush(self: Arc<Self>, _: &Arc<Caller>) -> Answer<()> {
///         Answer::Ready(Ok(()))
///     }
/// }
///
/// # #[tokio::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let host = Arc::new(Caller::named(Host { nqn: "nqn.2026-01.example:host".into(), id: [1; 16] }));
/// let disk = Arc::new(Numbers);
/// assert_eq!(disk.clone().read(&host, 3, 1).wait().await?, [3u8; BLOCK_BYTES]);
/// assert!(disk.write(&host, 3, vec![0; BLOCK_BYTES]).wait().await.is_err_and(|error| error.lba == Some(3)));
/// # Ok(())
/// # }
/// ```
pub trait Namespace: Send + Sync + fmt::Debug + 'static {
    /// Its sizes now. `size` never changes.
    fn geometry(&self) -> Geometry;

    /// Its further properties, which never change.
    fn properties(&self) -> Properties {
        Properties::default()
    }

    /// Reads `blocks` blocks from `lba`; gives exactly as many bytes.
    fn read(self: Arc<Self>, caller: &Arc<Caller>, lba: u64, blocks: u32) -> Answer<Vec<u8>>;

    /// Writes whole blocks from `lba`; durable when it is answered.
    fn write(self: Arc<Self>, caller: &Arc<Caller>, lba: u64, data: Vec<u8>) -> Answer<()>;

    /// Makes `blocks` blocks from `lba` read as zeros; durable when it is answered. With `deallocate` they need not keep
    /// their place on the disk.
    fn write_zeroes(self: Arc<Self>, caller: &Arc<Caller>, lba: u64, blocks: u32, deallocate: bool) -> Answer<()>;

    /// Deallocates these blocks, at most 256 ranges. The namespace decides the content that they read as then.
    fn deallocate(self: Arc<Self>, caller: &Arc<Caller>, ranges: Vec<Range<u64>>) -> Answer<()>;

    /// Returns when everything answered before is durable.
    fn flush(self: Arc<Self>, caller: &Arc<Caller>) -> Answer<()>;

    /// A vendor's command; gives at most [`VendorCommand::length`] bytes.
    fn vendor(self: Arc<Self>, caller: &Arc<Caller>, command: VendorCommand) -> Answer<Vec<u8>> {
        let _ = (caller, command);
        Answer::failed(Status::INVALID_OPCODE.do_not_retry())
    }
}
