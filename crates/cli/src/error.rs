//! What a command can fail with, and how it is told.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use ciphermill_arch::array::SimulationError;
use ciphermill_arch::pipeline::PipelineError;
use ciphermill_arch::report::ReportError;
use ciphermill_bfv::BfvError;
use ciphermill_bigint::{BigIntError, EngineError};
use ciphermill_blockspace::volume::VolumeError;
use ciphermill_device::{DeviceError, StoreError};
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
    /// The arguments contradict each other in a way that only their values show.
    #[error("{0}")]
    Usage(String),
    /// `CIPHERMILL_ISA` cannot be honoured.
    #[error(transparent)]
    Isa(#[from] IsaError),
    /// The operating system refused something about a file.
    #[error("cannot {action} {}: {source}", path.display())]
    File {
        /// What was tried, as a verb with its object.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file exists that would be overwritten.
    #[error("{} exists already; choose another name, or overwrite it with --force", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// What would be overwritten is no file.
    #[error("{} is not a regular file, and only such are overwritten; choose another name", path.display())]
    NotAFile {
        /// The device, pipe or link.
        path: PathBuf,
    },
    /// A file is not what it should be.
    #[error("{}: {what}", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A file system has no room.
    #[error("{} needs {needed} bytes and its file system has {free} free; free some space or choose another", path.display())]
    NoSpace {
        /// The file to be written.
        path: PathBuf,
        /// Bytes needed.
        needed: u64,
        /// Bytes free.
        free: u64,
    },
    /// A directory holds no store, and the command would not make one.
    #[error("{} holds no store; make one by putting a blob into it", path.display())]
    NoStore {
        /// The directory.
        path: PathBuf,
    },
    /// A store has no such space, and the command would not make one.
    #[error(
        "{} has no space {space}; putting a blob with --space {space} makes it, or serving a namespace of that number",
        path.display()
    )]
    NoSpaceOfNumber {
        /// The store.
        path: PathBuf,
        /// The space.
        space: u32,
    },
    /// Another process has the store, maybe a server.
    #[error("{0}, or reach its device with --connect HOST:PORT if that is `ciphermill serve`")]
    InUse(DeviceError),
    /// There is no directory for a file.
    #[error("cannot create {}: there is no directory {}; make it first", path.display(), directory.display())]
    NoDirectory {
        /// The file.
        path: PathBuf,
        /// What is missing.
        directory: PathBuf,
    },
    /// The scheme refused.
    #[error(transparent)]
    Tfhe(#[from] TfheError),
    /// The scheme of matrix-vector products refused.
    #[error(transparent)]
    Bfv(#[from] BfvError),
    /// A matrix-vector product, or its plan, was refused.
    #[error(transparent)]
    Hmvp(#[from] HmvpError),
    /// Paillier's scheme refused.
    #[error(transparent)]
    Paillier(#[from] PaillierError),
    /// A number does not fit its declared precision.
    #[error(transparent)]
    FixedPoint(#[from] FixedPointError),
    /// The arithmetic of big integers refused.
    #[error(transparent)]
    BigInt(#[from] BigIntError),
    /// An engine of modular exponentiation refused or failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The device refused.
    #[error(transparent)]
    Device(#[from] DeviceError),
    /// The middleware's transport refused or failed.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// The middleware refused.
    #[error(transparent)]
    Middleware(#[from] MiddlewareError),
    /// A name was bound twice.
    #[error(transparent)]
    Binding(#[from] BindingError),
    /// There is not enough memory or disk for what was asked.
    #[error("{0}")]
    Resources(String),
    /// Nothing of what was asked could be run.
    #[error("nothing was run: {why}")]
    NothingRan {
        /// The first reason.
        why: String,
    },
    /// A benchmark's results were wrong.
    #[error("{wrong} result(s) were not what they should be; the times mean nothing")]
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
    /// The way to a served device.
    #[error("{0}")]
    Connect(String),
    /// A cycle model refused or failed.
    #[error(transparent)]
    Arch(#[from] ReportError),
    /// Programs on the array did not run to their end.
    #[error(transparent)]
    Simulation(#[from] SimulationError),
    /// Programs on the array wait for each other, or for what nobody sends.
    #[error("deadlock in cycle {cycle}: {}", waiting.join("; "))]
    Deadlock {
        /// When nothing had moved for long.
        cycle: u64,
        /// What waits, and for what.
        waiting: Vec<String>,
    },
    /// The model of the macro-pipeline refused or failed.
    #[error(transparent)]
    Pipeline(#[from] PipelineError),
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

impl From<ParameterError> for CliError {
    fn from(error: ParameterError) -> Self {
        Self::Tfhe(error.into())
    }
}

impl From<EncodingError> for CliError {
    fn from(error: EncodingError) -> Self {
        Self::Tfhe(error.into())
    }
}

impl From<RngError> for CliError {
    fn from(error: RngError) -> Self {
        Self::Tfhe(error.into())
    }
}

impl From<RandomError> for CliError {
    fn from(error: RandomError) -> Self {
        Self::Paillier(error.into())
    }
}

impl CliError {
    /// Says of a store that is in use how else to reach its device; for [`Result::map_err`].
    pub(crate) fn or_connect(self) -> Self {
        match self {
            Self::Device(error @ DeviceError::Store(StoreError::AlreadyOpen { .. })) => Self::InUse(error),
            other => other,
        }
    }

    /// What a served device refused: the opt-in to insecure parameters is its server's.
    pub(crate) fn served(error: TransportError) -> Self {
        let text = error.to_string();
        if text.contains(OPT_IN) {
            Self::Connect(text.replace(OPT_IN, &format!("{OPT_IN} where it is served (`serve --insecure-params`)")))
        } else {
            error.into()
        }
    }

    /// Names the file that an operating system error is about; for [`Result::map_err`].
    pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { action, path, source }
    }

    /// Names the file whose content is at fault; for [`Result::map_err`].
    pub(crate) fn content<E: std::fmt::Display>(path: &Path) -> impl FnOnce(E) -> Self {
        let path = path.to_owned();
        move |error| Self::Content { path, what: error.to_string() }
    }

    /// Writes the one line on stderr and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        match self {
            // Whoever reads has seen enough, as `| head` does; that is no failure.
            Self::Output(source) if source.kind() == io::ErrorKind::BrokenPipe => return ExitCode::SUCCESS,
            _ => {}
        }
        eprintln!("ciphermill: error: {}", one_line(&self.to_string()));
        match self {
            Self::Usage(_) | Self::Isa(_) => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }
}

/// The libraries' words for an explicit opt-in, which know nothing of flags.
const OPT_IN: &str = "opt in to insecure parameters explicitly";

/// A message as one line that cannot drive the terminal: file names and operating systems may say anything. Where it asks
/// for the opt-in to insecure parameters, the flag is named; the text is looked at because such a refusal may come wrapped
/// in the device's own.
fn one_line(message: &str) -> String {
    let mut line = String::with_capacity(message.len());
    for c in message.chars() {
        match c {
            '\n' | '\t' => line.push(' '),
            c if c.is_control() => line.extend(c.escape_default()),
            c => line.push(c),
        }
    }
    if line.contains("--insecure-params") {
        line
    } else {
        line.replace(OPT_IN, &format!("{OPT_IN} (--insecure-params)"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_one_harmless_line() {
        assert_eq!(one_line("a\nb\x1b[31mc"), "a b\\u{1b}[31mc");
    }

    /// The registry of kinds has words for those that crates name.
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
        let told = TransportError::Refused(format!("too weak; {OPT_IN}").into());
        let line = one_line(&CliError::served(told).to_string());
        assert!(line.ends_with("where it is served (`serve --insecure-params`)"), "{line}");
    }

    #[test]
    fn the_flag_for_insecure_sets_is_named_once() {
        let refused = ciphermill_tfhe::ParameterSet::named(
            ciphermill_tfhe::parameters::TEST_SMALL_U64,
            ciphermill_tfhe::SecurityPolicy::Require128Bits,
        );
        let line = one_line(&refused.expect_err("a toy set").to_string());
        assert_eq!(line.matches("--insecure-params").count(), 1, "{line}");
        assert_eq!(one_line(&line), line);
    }
}
