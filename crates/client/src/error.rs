//! Errors of the client library.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

use ciphermill_bfv::BfvError;
use ciphermill_device::{DeviceError, HandlerError, StoreError};
use ciphermill_hmvp::{HmvpError, PlanError};
use ciphermill_lattice::rng::RngError;
use ciphermill_middleware::NvmeError;
use ciphermill_paillier::{KeyBits, PaillierError, RandomError};
use ciphermill_program::BindingError;
use ciphermill_tfhe::{EncodingError, ParameterError, TfheError};

use crate::paillier_host::HostError;

/// Why a call of the client library failed.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let missing = files::read(Path::new("/no/such/file"), 10);
/// assert!(matches!(missing, Err(ClientError::File { action: "open", .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The operating system refused an operation on a file.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// The operation, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The file exists and must not be overwritten.
    #[error("{} exists already; choose another name, or overwrite it", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The path to be overwritten is a device, a pipe or a link.
    #[error("{} is not a regular file, and only such are overwritten; choose another name", path.display())]
    NotAFile {
        /// The device, pipe or link.
        path: PathBuf,
    },
    /// The content of a file cannot be used.
    #[error("{}: {source}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The problem of the content.
        source: Box<dyn Error + Send + Sync>,
    },
    /// Others than its owner may read the file of a secret key.
    #[error(
        "{} is a secret key, and others may read it (mode {mode:04o}); use `chmod 600`, and think of the key as known",
        path.display()
    )]
    SecretReadable {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// The file system has too little free space.
    #[error("{} needs {needed} bytes and its file system has {free} free; free some space or choose another", path.display())]
    NoSpace {
        /// The file to be written.
        path: PathBuf,
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// The directory for a new file does not exist.
    #[error("cannot create {}: there is no directory {}; make it first", path.display(), directory.display())]
    NoDirectory {
        /// The file.
        path: PathBuf,
        /// The missing directory.
        directory: PathBuf,
    },
    /// Two files of a key set have the same path.
    #[error("{first} and {second} would both be written to {}; use different files", path.display())]
    SameFile {
        /// The first file's content.
        first: &'static str,
        /// The second file's content.
        second: &'static str,
        /// The path of both.
        path: PathBuf,
    },
    /// The directory holds no store.
    #[error("{} holds no store; make one by putting a blob into it", path.display())]
    NoStore {
        /// The directory.
        path: PathBuf,
    },
    /// The store has no space of this number.
    #[error("{} has no space {space}; putting a blob with --space {space} makes it, or serving a namespace of that number", path.display())]
    NoSuchSpace {
        /// The store.
        path: PathBuf,
        /// The space.
        space: u32,
    },
    /// The plan is for vectors under the secret key, but only a public key was given.
    #[error("the plan is for vectors under the secret key; give the secret key")]
    SecretKeyNeeded,
    /// Names were bound for a program whose registers are fixed.
    #[error("{} is a binary program, its registers are fixed; only names of a text can be bound", path.display())]
    BoundBinary {
        /// The program.
        path: PathBuf,
    },
    /// The engine does not implement the operation.
    #[error("engine {engine} does not implement {operation}; use {}", available.join(" or "))]
    EngineLacks {
        /// The engine.
        engine: &'static str,
        /// The operation.
        operation: &'static str,
        /// The engines of this build that implement it.
        available: Vec<&'static str>,
    },
    /// The hardware of the engine was left out of this build.
    #[error(
        "this build has no {configuration} for {operation} on the engine {engine}; build with \
         CIPHERMILL_HW={configuration}, or use {}", available.join(" or ")
    )]
    EngineNotBuilt {
        /// The engine.
        engine: &'static str,
        /// The operation.
        operation: &'static str,
        /// The configuration of hw/units.toml that implements the operation.
        configuration: &'static str,
        /// The engines of this build that implement it.
        available: Vec<&'static str>,
    },
    /// The engine computes with insecure keys only, and these are not accepted.
    #[error("engine {engine} computes with keys below 128 bits of security only; accept them, or use another engine")]
    EngineInsecure {
        /// The engine.
        engine: &'static str,
    },
    /// A Paillier host cannot be served or reached.
    #[error(transparent)]
    PaillierHost(#[from] HostError),
    /// The address of a served device cannot be used.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The served device cannot be reached.
    #[error(transparent)]
    Connect(#[from] NvmeError),
    /// TFHE refused.
    #[error(transparent)]
    Tfhe(#[from] TfheError),
    /// BFV refused.
    #[error(transparent)]
    Bfv(#[from] BfvError),
    /// A matrix-vector product, or its plan, was refused.
    #[error(transparent)]
    Hmvp(#[from] HmvpError),
    /// Paillier refused.
    #[error(transparent)]
    Paillier(#[from] PaillierError),
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// A name of a program was bound twice.
    #[error(transparent)]
    Binding(#[from] BindingError),
}

/// The address of a served device cannot be used.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// use ciphermill_client::remote::{self, RemoteOptions};
///
/// let refused = remote::config("http://localhost:4420", &RemoteOptions::default(), None).unwrap_err();
/// assert_eq!(refused.problem, AddressProblem::Scheme("http".to_owned()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("`{given}`: {problem}; write HOST:PORT, or nvme-tcp://HOST:PORT/SUBSYSTEM-NQN")]
pub struct AddressError {
    /// The address.
    pub given: String,
    /// The problem.
    pub problem: AddressProblem,
}

/// A problem of an address.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum AddressProblem {
    /// The address has an unknown scheme.
    #[error("`{0}` is not a way to a device")]
    Scheme(String),
    /// The port is out of range.
    #[error("the port {0} is not 1 to 65535")]
    Port(String),
    /// The address does not have the form HOST:PORT.
    #[error("there is no host with a port")]
    NoHostWithPort,
    /// The namespace is not a number.
    #[error("`{0}` is not a namespace")]
    Namespace(String),
    /// The query has an unknown part.
    #[error("`{0}` is neither host-nqn=NQN nor namespace=N")]
    Query(String),
    /// The name is not an NVMe qualified name.
    #[error("the name of the {0} is not an NVMe qualified name")]
    NotAnNqn(&'static str),
}

impl From<ParameterError> for ClientError {
    fn from(error: ParameterError) -> Self {
        Self::Tfhe(error.into())
    }
}

impl From<EncodingError> for ClientError {
    fn from(error: EncodingError) -> Self {
        Self::Tfhe(error.into())
    }
}

impl From<RngError> for ClientError {
    fn from(error: RngError) -> Self {
        Self::Tfhe(error.into())
    }
}

impl From<RandomError> for ClientError {
    fn from(error: RandomError) -> Self {
        Self::Paillier(error.into())
    }
}

impl ClientError {
    /// Names the file that an operating system error is about; for [`Result::map_err`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let file = Path::new("/no/such/file");
    /// let refused = std::fs::read(file).map_err(ClientError::file("read", file)).unwrap_err();
    /// assert!(refused.to_string().starts_with("cannot read /no/such/file: "));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { action, path, source }
    }

    /// Names the file whose content is at fault; for [`Result::map_err`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let number = "x".parse::<u8>().map_err(ClientError::content(Path::new("n.txt")));
    /// assert_eq!(number.unwrap_err().to_string(), "n.txt: invalid digit found in string");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn content<E: Into<Box<dyn Error + Send + Sync>>>(path: &Path) -> impl FnOnce(E) -> Self {
        let path = path.to_owned();
        move |error| Self::Content { path, source: error.into() }
    }

    /// Whether the arguments contradict each other, rather than an operation having failed.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(ClientError::SecretKeyNeeded.is_usage());
    /// assert!(!ClientError::EngineInsecure { engine: "rtl" }.is_usage());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::SameFile { .. }
                | Self::SecretKeyNeeded
                | Self::BoundBinary { .. }
                | Self::Address(_)
                | Self::PaillierHost(HostError::NotLoopback { .. } | HostError::Address { .. })
                | Self::EngineLacks { .. }
                | Self::EngineNotBuilt { .. }
        )
    }

    /// Whether another process has the store open.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// use ciphermill_client::store::{self, DeviceSettings};
    ///
    /// let open = || store::open(directory.path(), &DeviceSettings::default(), Arc::new(|_, _| {}));
    /// let device = open()?;
    /// assert!(open().is_err_and(|error| error.is_store_in_use()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_store_in_use(&self) -> bool {
        matches!(self, Self::Device(DeviceError::Store(StoreError::AlreadyOpen { .. })))
    }
}

/// Whether an error, or one of its causes, is the refusal of a parameter set below 128 bits of security, or of an engine for
/// such sets, which an explicit opt-in would accept.
///
/// ```
/// use ciphermill_client::needs_opt_in;
/// use ciphermill_tfhe::{ParameterSet, SecurityPolicy, parameters::TEST_SMALL_U64};
///
/// let refused = ParameterSet::named(TEST_SMALL_U64, SecurityPolicy::Require128Bits).unwrap_err();
/// assert!(needs_opt_in(&refused));
/// ```
#[must_use]
pub fn needs_opt_in(error: &(dyn Error + 'static)) -> bool {
    std::iter::successors(Some(error), |&error| error.source()).any(is_insecure)
}

/// Whether this error, its causes left aside, is such a refusal. A transparent variant hides the error that it holds from
/// `source`, so its variants are looked at here.
fn is_insecure(error: &(dyn Error + 'static)) -> bool {
    use ciphermill_bfv::parameters::ParameterError as BfvParameterError;
    if let Some(error) = error.downcast_ref::<ClientError>() {
        return match error {
            ClientError::Tfhe(inner) => is_insecure(inner),
            ClientError::Bfv(inner) => is_insecure(inner),
            ClientError::Hmvp(inner) => is_insecure(inner),
            ClientError::Paillier(inner) => is_insecure(inner),
            ClientError::Device(inner) => is_insecure(inner),
            ClientError::Content { source, .. } => needs_opt_in(&**source),
            ClientError::EngineInsecure { .. } => true,
            _ => false,
        };
    }
    match error.downcast_ref() {
        Some(HmvpError::Scheme(inner)) => return is_insecure(inner),
        Some(HmvpError::Plan(PlanError::Security { .. })) => return true,
        _ => {}
    }
    matches!(error.downcast_ref(), Some(ParameterError::Insecure { .. }))
        || matches!(error.downcast_ref(), Some(TfheError::Parameters(ParameterError::Insecure { .. })))
        || matches!(error.downcast_ref(), Some(BfvParameterError::Insecure { .. }))
        || matches!(error.downcast_ref(), Some(BfvError::Parameters(BfvParameterError::Insecure { .. })))
        || matches!(error.downcast_ref(), Some(&PaillierError::KeyBits { bits }) if (KeyBits::MIN_INSECURE..KeyBits::MIN).contains(&bits))
        || matches!(error.downcast_ref(), Some(HandlerError::Insecure { .. }))
        || matches!(error.downcast_ref(), Some(DeviceError::Handler(HandlerError::Insecure { .. })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ciphermill_tfhe::{ParameterSet, SecurityPolicy, parameters::TEST_SMALL_U64};

    fn refusal() -> ParameterError {
        ParameterSet::named(TEST_SMALL_U64, SecurityPolicy::Require128Bits).expect_err("a toy set")
    }

    #[test]
    fn a_missing_opt_in_is_found_in_every_wrapping() {
        let content = ClientError::content(Path::new("me.key"))(TfheError::from(refusal()));
        for error in [ClientError::from(refusal()), content, ClientError::EngineInsecure { engine: "rtl" }] {
            assert!(needs_opt_in(&error), "{error}");
        }
        let device = HandlerError::Insecure {
            id: ciphermill_device::handlers::tfhe::bootstrapping_key(ciphermill_program::KeyId(0)),
            what: refusal().to_string(),
        };
        assert!(needs_opt_in(&DeviceError::from(device.clone())));
        // A plan for 192 bits, read from its file, by a set of fewer.
        let plan = PlanError::Security { name: "MINE".to_owned(), bits: 190.0, required: 192 };
        assert!(needs_opt_in(&ClientError::content(Path::new("p.plan"))(HmvpError::from(plan.clone()))));
        assert!(needs_opt_in(&ClientError::from(HmvpError::from(plan))));
        let transport = ciphermill_middleware::TransportError::Refused(Box::new(DeviceError::from(device)));
        assert!(needs_opt_in(&transport));
    }

    #[test]
    fn other_errors_need_no_opt_in() {
        for error in
            [ClientError::SecretKeyNeeded, ClientError::content(Path::new("a"))("opt in to insecure parameters")]
        {
            assert!(!needs_opt_in(&error), "{error}");
        }
    }
}
