//! Errors of the command, their messages and exit codes.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ciphermill_arch::array::SimulationError;
use ciphermill_arch::pipeline::PipelineError;
use ciphermill_arch::report::ReportError;
use ciphermill_bfv::BfvError;
use ciphermill_bigint::{BigIntError, EngineError};
use ciphermill_blockspace::backup::BackupError;
use ciphermill_blockspace::volume::VolumeError;
use ciphermill_client::paillier_host::HostError;
use ciphermill_client::{ClientError, needs_opt_in};
use ciphermill_device::DeviceError;
use ciphermill_hls::explore::GridError;
use ciphermill_hls::{Diagnostic, ReadError};
use ciphermill_hmvp::HmvpError;
use ciphermill_lattice::rng::RngError;
use ciphermill_math::isa::IsaError;
use ciphermill_middleware::MiddlewareError;
use ciphermill_middleware::TransportError;
use ciphermill_nvme::initiator::InitiatorError;
use ciphermill_paillier::fixed_point::FixedPointError;
use ciphermill_paillier::{PaillierError, RandomError};
use ciphermill_program::BindingError;
use ciphermill_tfhe::{EncodingError, ParameterError, TfheError};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CliError {
    /// The values of the arguments contradict each other.
    #[error("{0}")]
    Usage(String),
    /// `CIPHERMILL_ISA` cannot be honoured.
    #[error(transparent)]
    Isa(#[from] IsaError),
    /// The client library refused or failed.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Another process has the store open, perhaps a server.
    #[error("{0}, or reach its device with --connect HOST:PORT if that is `ciphermill serve`")]
    InUse(ClientError),
    /// The server does not allow this host.
    #[error("{source} (`serve --allow-host {host}`)")]
    HostRefused {
        /// The refusal.
        source: ClientError,
        /// The name of this host.
        host: String,
    },
    /// Nothing listens at the address.
    #[error(
        "{source}; nothing listens there: start `ciphermill serve --listen {target}`, or give the address that it printed"
    )]
    NothingListens {
        /// The refusal.
        source: ClientError,
        /// The address.
        target: String,
    },
    /// A number does not fit its declared precision.
    #[error(transparent)]
    FixedPoint(#[from] FixedPointError),
    /// The arithmetic of big integers refused.
    #[error(transparent)]
    BigInt(#[from] BigIntError),
    /// An engine of modular exponentiation refused or failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The middleware's transport refused or failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The middleware refused.
    #[error(transparent)]
    Middleware(#[from] MiddlewareError),
    /// There is not enough memory or disk for the run.
    #[error("{0}")]
    Resources(String),
    /// None of the requested runs was possible.
    #[error("nothing was run: {why}")]
    NothingRan {
        /// The first reason.
        why: String,
    },
    /// A benchmark's results were wrong.
    #[error("{wrong} result(s) were wrong; discard the times")]
    WrongResults {
        /// How many.
        wrong: usize,
    },
    /// The thread pool or the CPU affinity of a benchmark could not be had.
    #[error("cannot set up the threads: {0}")]
    Threads(String),
    /// The server cannot be had, or ended badly.
    #[error("{0}")]
    Server(String),
    /// The blocks of namespaces refused or failed.
    #[error(transparent)]
    Volume(#[from] VolumeError),
    /// The initiator of a benchmark.
    #[error(transparent)]
    Initiator(#[from] InitiatorError),
    /// A served device refused, or its answer cannot be used.
    #[error("{0}")]
    Connect(String),
    /// A cycle model refused or failed.
    #[error(transparent)]
    Arch(#[from] ReportError),
    /// Programs on the array did not run to their end.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// Programs on the array wait for each other, or for data that no core sends.
    #[error("deadlock in cycle {cycle}: {}", waiting.join("; "))]
    Deadlock {
        /// The cycle in which the deadlock was detected.
        cycle: u64,
        /// The waiting cores and the reasons.
        waiting: Vec<String>,
    },
    /// The model of the macro-pipeline refused or failed.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
    /// The compiler of C refuses a source.
    #[error(transparent)]
    Hls(Diagnostic),
    /// A C source cannot be read.
    #[error(transparent)]
    Source(#[from] ReadError),
    /// An exploration is refused.
    #[error(transparent)]
    Grid(#[from] GridError),
    /// A backup, a restore or a repair refused or failed.
    #[error(transparent)]
    Backup(#[from] BackupError),
    /// A check found damage.
    #[error("{} is damaged; `ciphermill store repair --store {}` recovers all undamaged objects", path.display(), path.display())]
    DamagedStore {
        /// The store.
        path: PathBuf,
    },
    /// A backup, a restored or a repaired store lacks something.
    #[error("{} is made; {missing} object(s) or block(s) listed above are missing or older", path.display())]
    Partial {
        /// The backup or the new store.
        path: PathBuf,
        /// How many.
        missing: u64,
    },
    /// A scrub found damage.
    #[error("{} has {damaged} damaged object(s) or block(s); restore them from copies", path.display())]
    Damaged {
        /// The store.
        path: PathBuf,
        /// How many.
        damaged: u64,
    },
    /// Standard output could not be written.
    #[error("cannot write to standard output: {0}")]
    Output(#[source] io::Error),
}

/// Lets `?` turn an error of a scheme or of the device into the client library's.
macro_rules! through_client {
    ($($error:ty),*) => {$(
        impl From<$error> for CliError {
            fn from(error: $error) -> Self {
                Self::Client(error.into())
            }
        }
    )*};
}

through_client!(
    TfheError,
    ParameterError,
    EncodingError,
    RngError,
    BfvError,
    HmvpError,
    PaillierError,
    HostError,
    RandomError,
    DeviceError,
    BindingError
);

impl CliError {
    /// Adds the other way to a device whose store is in use; for [`Result::map_err`].
    pub(crate) fn or_connect(self) -> Self {
        match self {
            Self::Client(error) if error.is_store_in_use() => Self::InUse(error),
            other => other,
        }
    }

    /// Names the file that an operating system error is about; for [`Result::map_err`].
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let named = ClientError::file(action, path);
        move |source| named(source).into()
    }

    /// Names the file whose content is at fault; for [`Result::map_err`].
    pub(crate) fn content<E: Into<Box<dyn Error + Send + Sync>>>(path: &Path) -> impl FnOnce(E) -> Self {
        let named = ClientError::content(path);
        move |error| named(error).into()
    }

    /// The option that would have avoided the error.
    fn option(&self) -> Option<&'static str> {
        let needs_opt_in = match self {
            Self::Client(error) => needs_opt_in(error),
            Self::Transport(error) => needs_opt_in(error),
            Self::Middleware(error) => needs_opt_in(error),
            other => needs_opt_in(other),
        };
        match self {
            _ if needs_opt_in => Some("--insecure-params"),
            Self::Client(ClientError::Exists { .. }) => Some("--force"),
            Self::Client(ClientError::SecretReadable { .. }) => Some("--accept-readable-keys"),
            Self::Client(ClientError::SecretKeyNeeded) => Some("--secret-key"),
            Self::Client(ClientError::BoundBinary { .. }) => Some("--bind"),
            Self::Client(ClientError::NoSuchSpace { .. }) => Some("--space"),
            Self::Grid(_) => Some("--vary"),
            Self::Client(ClientError::EngineLacks { .. } | ClientError::EngineNotBuilt { .. }) => Some("--engine"),
            _ => None,
        }
    }

    /// The message, with the option that would have avoided the error.
    fn message(&self) -> String {
        let message = one_line(&self.to_string());
        match self.option() {
            Some(option) => format!("{message} ({option})"),
            None => message,
        }
    }

    /// Writes the message to standard error as one line and returns the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            // The reader of the output has closed it, as `| head` does. That is not a failure.
            Self::Output(source) if source.kind() == io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
            _ => {}
        }
        eprintln!("ciphermill: error: {}", self.message());
        match self {
            Self::Usage(_) | Self::Isa(_) | Self::Grid(_) => ExitCode::from(2),
            Self::Client(error) if error.is_usage() => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }
}

/// A message as one line that cannot control the terminal: file names and operating systems may contain anything.
fn one_line(message: &str) -> String {
    let mut line = String::with_capacity(message.len());
    for c in message.chars() {
        match c {
            '\n' | '\t' => line.push(' '),
            c if c.is_control() => line.extend(c.escape_default()),
            c => line.push(c),
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_harmless_line() {
        assert_eq!(one_line("a\nb\x1b[31mc"), "a b\\u{1b}[31mc");
    }

    /// The registry of kinds describes every kind that a crate defines.
    #[test]
    fn kinds_have_words() {
        use ciphermill_bfv::serial as bfv;
        use ciphermill_paillier::serial as paillier;
        use ciphermill_tfhe::serial as tfhe;
        for (kind, words) in [
            (tfhe::PARAMETER_SET, "parameter set"),
            (tfhe::CIPHERTEXT, "ciphertext"),
            (tfhe::GLWE, "test vector"),
            (tfhe::GGSW, "GGSW"),
            (tfhe::BOOTSTRAP_KEY, "bootstrapping"),
            (tfhe::KEYSWITCH_KEY, "key-switching"),
            (tfhe::SECRET_KEY, "secret"),
            (tfhe::CONVERSION_KEY, "conversion key"),
            (tfhe::WORD, "a word"),
            (tfhe::TABLE, "a table"),
            (bfv::PARAMETER_SET, "parameter set"),
            (bfv::CIPHERTEXT, "ciphertext"),
            (bfv::SECRET_KEY, "secret"),
            (bfv::PUBLIC_KEY, "public"),
            (bfv::RELINEARIZATION_KEY, "relinearisation"),
            (bfv::GALOIS_KEYS, "Galois"),
            (bfv::PLAN, "plan"),
            (bfv::VECTOR, "vector"),
            (bfv::MATRIX, "matrix"),
            (bfv::PRODUCT, "product"),
            (bfv::RESPONSE, "response"),
            (paillier::PUBLIC_KEY, "public"),
            (paillier::SECRET_KEY, "secret"),
            (paillier::CIPHERTEXT_VECTOR, "ciphertexts"),
            (paillier::PLAINTEXT_VECTOR, "plaintexts"),
            (ciphermill_paillier::weights::WEIGHTS, "weights"),
        ] {
            let told = ciphermill_wire::kind::words(kind.0);
            assert!(told.contains(words), "{kind}: {told}");
        }
    }

    #[test]
    fn a_served_device_has_the_flag_for_insecure_sets_itself() {
        let refused = TransportError::Refused("too weak; opt in to insecure parameters explicitly".into());
        let message = CliError::from(refused).message();
        assert!(!message.contains("--insecure-params"), "{message}");
    }

    #[test]
    fn the_flag_for_insecure_sets_is_named_once() {
        let refused = ciphermill_tfhe::ParameterSet::named(
            ciphermill_tfhe::parameters::TEST_SMALL_U64,
            ciphermill_tfhe::SecurityPolicy::Require128Bits,
        );
        let error = CliError::from(refused.expect_err("a toy set"));
        assert_eq!(error.message().matches("--insecure-params").count(), 1, "{}", error.message());
    }
}
