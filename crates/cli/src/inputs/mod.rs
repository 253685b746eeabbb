//! Arguments that several commands share.

pub(crate) mod bigint;
pub(crate) mod hmvp;
pub(crate) mod paillier;

use std::ops::{Bound, RangeBounds};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ciphermill_bigint::ModExpEngine;
use ciphermill_client::engines::{EngineName, Engines};
use ciphermill_client::program::LoadedProgram;
use ciphermill_client::security::Security;
use ciphermill_client::{program, store, tfhe};
use ciphermill_program::{Binding, DataId, KeyId, TypeCode, VrId};
use ciphermill_tfhe::{Backend, Encoding, KeyForm, KeyOrder, ParameterSet, SecurityPolicy, TfheEngine};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};

use crate::error::CliError;

/// Accepts the names of the engines that this build has, and lists them in the help.
pub(crate) fn engine_names() -> impl TypedValueParser<Value = EngineName> {
    let names = EngineName::ALL.iter().map(|engine| PossibleValue::new(engine.name()).help(engine.about()));
    PossibleValuesParser::new(names).try_map(|name| name.parse::<EngineName>())
}

/// Accepts the integers of a range that has a smallest one, and names the range where another text is given.
pub(crate) fn within<T: TryFrom<i128>>(range: impl RangeBounds<i128>) -> impl Fn(&str) -> Result<T, String> + Clone {
    let min = match range.start_bound() {
        Bound::Included(&min) => min,
        Bound::Excluded(&below) => below + 1,
        Bound::Unbounded => 0,
    };
    let max = match range.end_bound() {
        Bound::Included(&max) => Some(max),
        Bound::Excluded(&above) => Some(above - 1),
        Bound::Unbounded => None,
    };
    move |text| {
        let given = text.parse::<i128>().ok().filter(|&given| given >= min && max.is_none_or(|max| given <= max));
        given.and_then(|given| T::try_from(given).ok()).ok_or_else(|| match max {
            Some(max) => format!("use {min} to {max}"),
            None => format!("use {min} or more"),
        })
    }
}

/// The engine that computes.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct EngineArgs {
    /// Engine that computes
    #[arg(long, value_name = "NAME", value_parser = engine_names(), default_value = EngineName::Cpu.name())]
    pub(crate) engine: EngineName,
}

impl EngineArgs {
    /// TFHE's bootstraps on the engine; the CPU multiplies polynomials with `backend`.
    pub(crate) fn bootstrap(self, backend: Backend) -> Result<Arc<dyn TfheEngine>, CliError> {
        Ok(Engines::new(self.engine, backend).bootstrap()?)
    }

    /// Modular exponentiation on the engine.
    pub(crate) fn mod_exp(self) -> Result<Arc<dyn ModExpEngine>, CliError> {
        // No transform takes part.
        Ok(Engines::new(self.engine, Backend::Fft).mod_exp()?)
    }
}

/// The opt-in to parameter sets and keys below 128 bits of security.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct SecurityArgs {
    /// Accept parameter sets below 128 bits of security and Paillier keys below 2048 bits: for published figures and tests, never for data that matters
    #[arg(long, alias = "insecure-bench")]
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

    pub(crate) fn security(self) -> Security {
        if self.insecure_params { Security::AcceptInsecure } else { Security::Require128Bits }
    }

    /// The policy for TFHE's parameter sets.
    pub(crate) fn policy(self) -> SecurityPolicy {
        self.security().tfhe()
    }
}

/// Which transform multiplies polynomials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BackendArg {
    /// FFT in f64, the fastest
    Fft,
    /// NTT, exact
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

/// The key of ciphertexts, which decides the order of bootstrap and key switch.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum KeyOrderArg {
    /// Dimension n, as in the paper: short ciphertexts, the key switch comes last
    Small,
    /// Dimension k·N: the key switch comes first, results carry less noise
    Big,
}

impl From<KeyOrderArg> for KeyOrder {
    fn from(choice: KeyOrderArg) -> Self {
        match choice {
            KeyOrderArg::Small => KeyOrder::Small,
            KeyOrderArg::Big => KeyOrder::Big,
        }
    }
}

/// How masks of keys are stored.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum FormArg {
    /// Replaced by a public seed: 1/(k+1) of the size
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
    /// Bits of the messages: 0 to 2^BITS - 1
    #[arg(long, value_name = "BITS", conflicts_with_all = ["min", "max"])]
    bits: Option<u32>,
    /// With --bits: messages from -2^(BITS-1) to 2^(BITS-1) - 1
    #[arg(long, requires = "bits")]
    signed: bool,
    /// Smallest message, at most 0
    #[arg(long, value_name = "MIN", requires = "max", allow_negative_numbers = true)]
    min: Option<i64>,
    /// Largest message, at least 0
    #[arg(long, value_name = "MAX", requires = "min", allow_negative_numbers = true)]
    max: Option<i64>,
    /// Messages without a padding bit, on the whole torus; a table for such an input must be negacyclic
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
    #[arg(long = "type", value_name = "T", requires_all = ["key", "data"], group = "register")]
    #[arg(help = format!("Type: {}", store::object_types()))]
    type_code: Option<u16>,
    /// Key ID
    #[arg(long, value_name = "K", requires_all = ["type_code", "data"], group = "register")]
    key: Option<u32>,
    /// Data ID; of a TFHE key, 1 is the bootstrapping key and 2 the key-switching key
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

/// The parameter set by its name, or that of a secret key.
#[derive(Args, Clone, Debug)]
#[group(id = "parameters", required = true, multiple = false)]
pub(crate) struct ParametersArgs {
    /// Name of a parameter set; `ciphermill info` lists them
    #[arg(long, value_name = "NAME")]
    params: Option<String>,
    /// Use the parameter set of this secret key
    #[arg(long, value_name = "FILE")]
    secret_key: Option<PathBuf>,
}

impl ParametersArgs {
    pub(crate) fn parameters(&self, policy: SecurityPolicy) -> Result<ParameterSet, CliError> {
        match (&self.params, &self.secret_key) {
            (Some(name), _) => Ok(ParameterSet::named(name, policy)?),
            (None, Some(path)) => Ok(tfhe::secret_key(path, policy)?.parameters().clone()),
            // The group leaves no other case.
            _ => Err(CliError::Usage("give --params or --secret-key".to_owned())),
        }
    }
}

/// A program and the names its text may leave open.
#[derive(Args, Clone, Debug)]
pub(crate) struct ProgramArgs {
    /// Program: assembly text, or the binary form that `program asm` writes
    file: PathBuf,
    /// Bind a name of the text to a register, as r2=3:0:2; may be repeated
    #[arg(long = "bind", value_name = "NAME=T:K:D")]
    bindings: Vec<Binding>,
}

impl ProgramArgs {
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    pub(crate) fn load(&self) -> Result<LoadedProgram, CliError> {
        Ok(program::load(&self.file, &self.bindings)?)
    }
}
