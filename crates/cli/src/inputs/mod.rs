//! Arguments that several commands share, and the files they name.

pub(crate) mod bigint;
pub(crate) mod hmvp;
pub(crate) mod numbers;
pub(crate) mod paillier;
pub(crate) mod size;

use ciphermill_device::handlers;
use std::path::{Path, PathBuf};

use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_paillier::SizePolicy;
use ciphermill_program::{Binding, Bindings, DataId, KeyId, LineMap, Program, TypeCode, VrId, assemble};
use ciphermill_tfhe::{Backend, Ciphertext, ClientKey, Encoding, KeyForm, KeyOrder, ParameterSet, SecurityPolicy};
use clap::{Args, ValueEnum};

use crate::error::CliError;
use crate::files;

/// Longest file of a secret key, a ciphertext, a program or a table that is read, well above what any of them needs.
const MAX_OBJECT_BYTES: u64 = 16 << 20;

/// The opt-in to sets below 128 bits.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct SecurityArgs {
    /// Accept parameter sets below 128 bits of security: for published figures and tests, never for data that matters
    #[arg(long)]
    insecure_params: bool,
}

impl SecurityArgs {
    pub(crate) fn is_given(self) -> bool {
        self.insecure_params
    }

    /// The same, with the opt-in also when `accepted`.
    pub(crate) fn or(self, accepted: bool) -> Self {
        Self { insecure_params: self.insecure_params || accepted }
    }

    pub(crate) fn policy(self) -> SecurityPolicy {
        if self.insecure_params {
            SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly
        } else {
            SecurityPolicy::Require128Bits
        }
    }

    /// Which keys of Paillier are accepted.
    pub(crate) fn paillier_keys(self) -> SizePolicy {
        if self.insecure_params { SizePolicy::InsecureBench } else { SizePolicy::Standard }
    }
}

/// Which transform multiplies polynomials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BackendArg {
    /// f64 FFT: the fastest
    Fft,
    /// Exact NTT
    Ntt,
}

impl From<BackendArg> for Backend {
    fn from(backend: BackendArg) -> Self {
        match backend {
            BackendArg::Fft => Backend::Fft,
            BackendArg::Ntt => Backend::Ntt,
        }
    }
}

/// Under which key a ciphertext is.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum ChoiceArg {
    /// Dimension n, the paper's: short ciphertexts, the key switch comes last
    Small,
    /// Dimension k·N: the key switch comes first, results carry less noise
    Big,
}

impl From<ChoiceArg> for KeyOrder {
    fn from(choice: ChoiceArg) -> Self {
        match choice {
            ChoiceArg::Small => KeyOrder::Small,
            ChoiceArg::Big => KeyOrder::Big,
        }
    }
}

/// How masks of keys are stored.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FormArg {
    /// A public seed stands for them: 1/(k+1) of the size
    Seeded,
    /// Written out
    Full,
}

impl From<FormArg> for KeyForm {
    fn from(form: FormArg) -> Self {
        match form {
            FormArg::Seeded => KeyForm::Seeded,
            FormArg::Full => KeyForm::Full,
        }
    }
}

/// Which integers a ciphertext can hold, and where they stand on the torus: `--bits`, or `--min` and `--max`.
#[derive(Args, Clone, Debug)]
pub(crate) struct EncodingArgs {
    /// Messages of this many bits: 0 to 2^N - 1
    #[arg(long, value_name = "N", conflicts_with_all = ["min", "max"])]
    bits: Option<u32>,
    /// With --bits: -2^(N-1) to 2^(N-1) - 1
    #[arg(long, requires = "bits")]
    signed: bool,
    /// Smallest message, at most 0
    #[arg(long, value_name = "M", requires = "max", allow_negative_numbers = true)]
    min: Option<i64>,
    /// Largest message, at least 0
    #[arg(long, value_name = "M", requires = "min", allow_negative_numbers = true)]
    max: Option<i64>,
    /// Use the whole torus: without the padding bit only negacyclic functions can be tabulated
    #[arg(long)]
    no_padding: bool,
}

impl EncodingArgs {
    /// Whether any of the options was given.
    pub(crate) fn is_given(&self) -> bool {
        self.bits.is_some() || self.min.is_some() || self.max.is_some() || self.signed || self.no_padding
    }

    pub(crate) fn encoding(&self) -> Result<Encoding, CliError> {
        let padding = !self.no_padding;
        Ok(match (self.bits, self.min, self.max) {
            (Some(bits), ..) if self.signed => Encoding::signed(bits, padding)?,
            (Some(bits), ..) => Encoding::unsigned(bits, padding)?,
            (None, Some(min), Some(max)) => Encoding::new(min, max, padding)?,
            _ => return Err(CliError::Usage("give the messages as --bits, or as --min and --max".to_owned())),
        })
    }
}

/// The options that name an encoding, for messages to people.
pub(crate) fn describe(encoding: &Encoding) -> String {
    let padding = if encoding.padding() { "" } else { " --no-padding" };
    format!("--min {} --max {}{padding}", encoding.min(), encoding.max())
}

/// A register, in one argument or in three.
#[derive(Args, Clone, Copy, Debug)]
#[group(id = "register", required = true, multiple = true)]
pub(crate) struct RegisterArgs {
    /// Register as type:key:data
    #[arg(long, value_name = "T:K:D", conflicts_with_all = ["type_code", "key", "data"], group = "register")]
    id: Option<VrId>,
    /// Type: 0 program, 1 test vector, 2 key, 3 compute-on-read, 4 compute-on-write ciphertext
    #[arg(long = "type", value_name = "T", requires_all = ["key", "data"], group = "register")]
    type_code: Option<u16>,
    /// Key ID
    #[arg(long, value_name = "K", requires_all = ["type_code", "data"], group = "register")]
    key: Option<u32>,
    /// Data ID; of a key, 1 is the bootstrapping key and 2 the key-switching key
    #[arg(long, value_name = "D", requires_all = ["type_code", "key"], group = "register")]
    data: Option<u32>,
}

impl RegisterArgs {
    pub(crate) fn register(&self) -> Result<VrId, CliError> {
        match (self.id, self.type_code, self.key, self.data) {
            (Some(id), ..) => Ok(id),
            (None, Some(code), Some(key), Some(data)) => Ok(VrId::new(TypeCode(code), KeyId(key), DataId(data))),
            // The group and `requires_all` leave no other case.
            _ => Err(CliError::Usage("give the register as --id, or as --type, --key and --data".to_owned())),
        }
    }
}

/// A source of randomness, seeded by the operating system.
pub(crate) fn randomness() -> Result<Csprng, CliError> {
    Ok(Csprng::from_secret(&SecretSeed::from_os()?, 0))
}

/// Reads secret keys.
pub(crate) fn secret_key(path: &Path, policy: SecurityPolicy) -> Result<ClientKey, CliError> {
    let bytes = files::read(path, MAX_OBJECT_BYTES)?;
    ClientKey::from_secret_key_bytes(&bytes, policy).map_err(CliError::content(path))
}

/// Reads a ciphertext.
pub(crate) fn ciphertext(path: &Path) -> Result<Ciphertext, CliError> {
    let bytes = files::read(path, MAX_OBJECT_BYTES)?;
    Ciphertext::from_bytes(&bytes).map_err(CliError::content(path))
}

/// Reads a text.
pub(crate) fn text(path: &Path) -> Result<String, CliError> {
    Ok(utf8(path, &files::read(path, MAX_OBJECT_BYTES)?)?.to_owned())
}

fn utf8<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, CliError> {
    std::str::from_utf8(bytes).map_err(|error| CliError::Content {
        path: path.to_owned(),
        what: format!("byte {} is not UTF-8; pass a text file", error.valid_up_to()),
    })
}

/// The parameter set by its name, or that of a secret key.
#[derive(Args, Clone, Debug)]
#[group(id = "parameters", required = true, multiple = false)]
pub(crate) struct ParametersArgs {
    /// Name of a parameter set; `ciphermill info` lists them
    #[arg(long, value_name = "NAME")]
    params: Option<String>,
    /// Take the parameter set of this secret key
    #[arg(long, value_name = "FILE")]
    secret_key: Option<PathBuf>,
}

impl ParametersArgs {
    pub(crate) fn parameters(&self, policy: SecurityPolicy) -> Result<ParameterSet, CliError> {
        match (&self.params, &self.secret_key) {
            (Some(name), _) => Ok(ParameterSet::named(name, policy)?),
            (None, Some(path)) => Ok(secret_key(path, policy)?.parameters().clone()),
            // The group leaves no other case.
            _ => Err(CliError::Usage("give --params or --secret-key".to_owned())),
        }
    }
}

/// A program and the names its text may leave open.
#[derive(Args, Clone, Debug)]
pub(crate) struct ProgramArgs {
    /// Program: assembly text, or the binary form
    file: PathBuf,
    /// Bind a name of the text to a register, as in r2=3:0:2; may be repeated
    #[arg(long = "bind", value_name = "NAME=T:K:D")]
    bindings: Vec<Binding>,
}

/// A program, and where its instructions stand if it was given as text.
pub(crate) struct LoadedProgram {
    pub(crate) program: Program,
    pub(crate) lines: Option<LineMap>,
    /// The names of the text and their registers.
    pub(crate) names: Vec<(String, VrId)>,
}

/// The first bytes of every envelope.
const ENVELOPE_MAGIC: &[u8] = &ciphermill_wire::MAGIC;

impl ProgramArgs {
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    /// Reads either form, told apart by the magic bytes of the binary one.
    pub(crate) fn load(&self) -> Result<LoadedProgram, CliError> {
        let path = &self.file;
        let bytes = files::read(path, MAX_OBJECT_BYTES)?;
        if bytes.starts_with(ENVELOPE_MAGIC) {
            if !self.bindings.is_empty() {
                return Err(CliError::Usage(format!(
                    "{} is a binary program, its registers are fixed; --bind is for text",
                    path.display()
                )));
            }
            let program = Program::decode(handlers::instruction_set(), &bytes).map_err(CliError::content(path))?;
            return Ok(LoadedProgram { program, lines: None, names: Vec::new() });
        }
        let bindings = Bindings::collect(self.bindings.iter().cloned())?;
        let assembly =
            assemble(handlers::instruction_set(), utf8(path, &bytes)?, &bindings).map_err(CliError::content(path))?;
        Ok(LoadedProgram { program: assembly.program, lines: Some(assembly.lines), names: assembly.names })
    }
}
