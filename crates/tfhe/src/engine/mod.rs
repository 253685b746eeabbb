//! The kernel seam of TFHE: engines, the keys that they prepare, jobs and outputs.
//!
//! A [`TfheEngine`] brings the parts of a server key into its own form, once. The [`PreparedKey`] then runs batches of
//! [jobs](Job). Key parts, jobs and outputs are data that any host can read and write: sealed keys, labelled ciphertexts,
//! test vectors. An engine in another crate, in another process or on a chip therefore needs no private field of this
//! crate. The module `conformance` (feature `conformance`) checks any engine.
//!
//! # How the seam grows
//! - A new key part is a new [`KeyPartId`]. Engines refuse the parts that they do not know.
//! - A new operation is a new variant of [`Job`]. An engine answers variants that it does not implement with
//!   [`TfheError::UnsupportedJob`], and never computes something else instead.
//! - An operation whose result stays in the engine's own form (selectors in transformed form, for example) adds a variant to
//!   [`Output`] that holds a shared, opaque object of the engine. [`Output::memory_bytes`] then counts the memory behind it, and an engine that
//!   receives such an object from another prepared key refuses it with a typed error.

mod cpu;
mod parts;
mod program;
mod selectors;

use std::fmt::Debug;
use std::sync::Arc;

use ciphermill_math::{EngineCost, EngineInfo};

use crate::ciphertext::{Ciphertext, KeyTag, LweElements, TestVector};
use crate::circuit::Split;
use crate::error::TfheError;
use crate::parameters::{ParameterSet, SecurityPolicy};
use crate::progress::Progress;
use crate::word::{Table, Word};
pub use cpu::CpuEngine;
pub use parts::{KeyPart, KeyPartError, KeyPartId};
pub use program::{ProgramJob, Register, Step};
pub use selectors::{DigitSelectors, SelectorFile, Selectors};

/// An engine that computes on TFHE ciphertexts: the CPU, a cycle model, RTL or a GPU.
///
/// # Example
/// ```
/// use ciphermill_lattice::{Csprng, SecretSeed};
/// use ciphermill_tfhe::{
///     Backend, ClientKey, CpuEngine, Encoding, KeyForm, KeyOrder, KeyPart, KeySeeds, ParameterSet, SecurityPolicy,
///     TfheEngine,
/// };
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
/// # let parameters = ParameterSet::named("TEST_SMALL_U64", policy)?;
/// # let client = ClientKey::generate(&parameters, &SecretSeed::from_os()?);
/// # let bootstrap = client.write_bootstrap_key(KeyForm::Seeded, KeySeeds::from_os()?, Vec::new(), &mut |_, _| ())?;
/// # let keyswitch = client.write_keyswitch_key(KeyForm::Seeded, KeySeeds::from_os()?, Vec::new())?;
/// // `bootstrap` and `keyswitch` are the sealed parts of a server key.
/// let engine = CpuEngine::new(Backend::Ntt);
/// let parts = vec![KeyPart::bootstrap(&bootstrap), KeyPart::keyswitch(&keyswitch)];
/// let key = engine.prepare(parts, policy, &mut |_, _| ())?;
///
/// let encoding = Encoding::unsigned(1, true)?;
/// let input = client.encrypt(&encoding, 1, KeyOrder::Small, &mut Csprng::from_os()?)?;
/// let negation = parameters.test_vector(&encoding, &encoding, |m| 1 - m)?;
/// let output = key.bootstrap(&input, &negation)?;
/// assert_eq!(client.decrypt(&encoding, &output)?, 0);
/// # Ok(())
/// # }
/// ```
pub trait TfheEngine: Send + Sync + Debug {
    /// The engine's name, device and kind.
    fn info(&self) -> EngineInfo;

    /// Whether its keys run the jobs of words, [`Job::Select`], [`Job::LookUp`] and [`Job::Split`]. An engine that does not refuses the
    /// conversion key.
    fn computes_words(&self) -> bool {
        false
    }

    /// Whether its keys run [`Job::Program`]. A device gives such an engine whole programs, and the steps of programs to
    /// others.
    fn runs_programs(&self) -> bool {
        false
    }

    /// Whether the engine computes with keys of this set.
    ///
    /// # Errors
    /// [`TfheError::Engine`], which names the bound. [`prepare`](Self::prepare) fails in the same way.
    fn check(&self, parameters: &ParameterSet) -> Result<(), TfheError> {
        let _ = parameters;
        Ok(())
    }

    /// The most memory that [`prepare`](Self::prepare) takes at any moment for a key of this set, in bytes. It includes the
    /// prepared key.
    fn key_bytes(&self, parameters: &ParameterSet) -> u64;

    /// Brings the parts of a server key into the engine's own form. `progress` receives the work done and all work.
    ///
    /// # Errors
    /// [`TfheError::KeyPart`] if a part is missing, given twice or unknown to the engine. Other variants if a part is
    /// malformed, not admissible under `policy`, or does not belong to the other parts.
    fn prepare(
        &self,
        parts: Vec<KeyPart<'_>>,
        policy: SecurityPolicy,
        progress: Progress<'_>,
    ) -> Result<Arc<dyn PreparedKey>, TfheError>;
}

/// A server key in an engine's own form.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
#[doc = include_str!("../example_server.txt")]
/// // A loaded server key is the prepared key of the CPU engine.
/// let key: &dyn PreparedKey = &server;
/// assert_eq!(key.tag(), client.tag());
/// let output = key.bootstrap(&three, &square)?;
/// assert_eq!(client.decrypt(&encoding, &output)?, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait PreparedKey: Send + Sync + Debug {
    /// The parameter set.
    fn parameters(&self) -> &ParameterSet;

    /// The key set.
    fn tag(&self) -> KeyTag;

    /// Memory that the key occupies, in bytes.
    fn memory_bytes(&self) -> u64;

    /// Runs every job. The outputs are in the order of the jobs, one for each, and do not depend on the other jobs of the
    /// batch. An engine need not state the [bounds](Ciphertext::bounds) of its outputs.
    ///
    /// # Errors
    /// The first failure; no output is returned then. [`TfheError::UnsupportedJob`] for a job that the engine lacks.
    fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Output>, TfheError>;

    /// Whether the key runs this program as one job. An engine may lack room for it, or compute with other ciphertexts.
    fn runs_program(&self, program: &ProgramJob<'_>) -> bool {
        let _ = program;
        false
    }

    /// The costs of the jobs since the last call, in the order in which they ran. An engine that counts no cycles has
    /// none.
    fn take_costs(&self) -> Vec<EngineCost> {
        Vec::new()
    }
}

impl dyn PreparedKey + '_ {
    /// Runs one bootstrap; see [`BootstrapJob`].
    ///
    /// # Errors
    /// As [`run`](PreparedKey::run), and [`TfheError::Engine`] if the engine does not return one ciphertext.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    #[doc = include_str!("../example_server.txt")]
    /// let key: &dyn PreparedKey = &server;
    /// assert_eq!(key.bootstrap(&three, &square)?, server.bootstrap(&three, &square)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn bootstrap(&self, input: &Ciphertext, test_vector: &TestVector) -> Result<Ciphertext, TfheError> {
        let outputs = self.run(&[BootstrapJob { input, test_vector }.into()])?;
        let count = outputs.len();
        match <[Output; 1]>::try_from(outputs) {
            Ok([Output::Ciphertext(ciphertext)]) => Ok(ciphertext),
            _ => Err(TfheError::Engine { what: format!("one job returned {count} outputs") }),
        }
    }
}

/// One job of a batch.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
#[doc = include_str!("../example_server.txt")]
/// let jobs = [Job::from(BootstrapJob { input: &three, test_vector: &square })];
/// assert_eq!(jobs[0].name(), "bootstrap");
/// assert_eq!(server.run(&jobs)?.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Job<'a> {
    /// A programmable bootstrap; its output is an [`Output::Ciphertext`].
    Bootstrap(BootstrapJob<'a>),
    /// The selectors of the digits of a word; its output is an [`Output::Selectors`].
    Select(SelectJob<'a>),
    /// A look-up in a table; its output is an [`Output::Word`].
    LookUp(LookUpJob<'a>),
    /// The bits of an integer; its output is an [`Output::Word`].
    Split(SplitJob<'a>),
    /// A whole program; its output is an [`Output::Ciphertext`].
    Program(ProgramJob<'a>),
}

impl Job<'_> {
    /// The operation's name, for errors and reports.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Job::Bootstrap(_) => "bootstrap",
            Job::Select(_) => "select",
            Job::LookUp(_) => "look-up",
            Job::Split(_) => "split",
            Job::Program(_) => "program",
        }
    }
}

/// A programmable bootstrap: a fresh encryption, under the input's key, of the table's value at the input's phase.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
#[doc = include_str!("../example_server.txt")]
/// let job = BootstrapJob { input: &three, test_vector: &square };
/// let outputs = server.bootstrap_batch(&[job, job])?;
/// assert_eq!(outputs[0], outputs[1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BootstrapJob<'a> {
    /// The ciphertext. Its [order](Ciphertext::choice) decides whether key switch or blind rotation comes first.
    pub input: &'a Ciphertext,
    /// The table.
    pub test_vector: &'a TestVector,
}

impl<'a> From<BootstrapJob<'a>> for Job<'a> {
    fn from(job: BootstrapJob<'a>) -> Self {
        Job::Bootstrap(job)
    }
}

/// The selectors of all digits of a word.
///
/// # Example
/// ```
#[doc = include_str!("../example_word.txt")]
/// let outputs = server.run(&[Job::from(SelectJob { word: &word })])?;
/// assert!(matches!(&outputs[..], [Output::Selectors(selectors)] if selectors.digits().len() == 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SelectJob<'a> {
    /// The word.
    pub word: &'a Word,
}

/// A look-up by selectors.
///
/// # Example
/// ```
#[doc = include_str!("../example_word.txt")]
/// let mut file = SelectorFile::new();
/// file.put(0, &server.select(&word)?)?;
/// let outputs = server.run(&[LookUpJob { file: &file, table: &root }.into()])?;
/// let [Output::Word(result)] = &outputs[..] else { return Err("one word".into()) };
/// assert_eq!(client.decrypt_word(result)?, 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct LookUpJob<'a> {
    /// The selectors at the positions that the table names.
    pub file: &'a SelectorFile,
    /// The table.
    pub table: &'a Table,
}

/// The word of an integer, which is under the big key.
///
/// # Example
/// ```
#[doc = include_str!("../example_word.txt")]
/// use ciphermill_tfhe::circuit::Split;
/// use ciphermill_tfhe::{Encoding, KeyOrder, SplitJob};
/// let input = client.encrypt(&Encoding::unsigned(6, false)?, 41, KeyOrder::Big, &mut rng)?;
/// let outputs = server.run(&[SplitJob { input: &input, split: Split::new(6, 6)? }.into()])?;
/// let [Output::Word(result)] = &outputs[..] else { return Err("one word".into()) };
/// assert_eq!(client.decrypt_digits(result)?, [1, 2, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SplitJob<'a> {
    /// The integer.
    pub input: &'a Ciphertext,
    /// Its places and bits.
    pub split: Split,
}

impl<'a> From<SelectJob<'a>> for Job<'a> {
    fn from(job: SelectJob<'a>) -> Self {
        Job::Select(job)
    }
}

impl<'a> From<LookUpJob<'a>> for Job<'a> {
    fn from(job: LookUpJob<'a>) -> Self {
        Job::LookUp(job)
    }
}

impl<'a> From<SplitJob<'a>> for Job<'a> {
    fn from(job: SplitJob<'a>) -> Self {
        Job::Split(job)
    }
}

impl<'a> From<ProgramJob<'a>> for Job<'a> {
    fn from(job: ProgramJob<'a>) -> Self {
        Job::Program(job)
    }
}

/// The result of one job.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
#[doc = include_str!("../example_server.txt")]
/// let outputs = server.run(&[BootstrapJob { input: &three, test_vector: &square }.into()])?;
/// for output in outputs {
///     assert!(output.memory_bytes() > 0);
///     let ciphertext = output.into_ciphertext().ok_or("a bootstrap returns a ciphertext")?;
///     assert_eq!(client.decrypt(&encoding, &ciphertext)?, 1);
/// }
/// let output = Output::Ciphertext(three.clone());
/// assert_eq!(output.into_ciphertext(), Some(three));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Output {
    /// A ciphertext of the key set.
    Ciphertext(Ciphertext),
    /// Selectors, which stay in the engine.
    Selectors(Selectors),
    /// A word of the key set.
    Word(Word),
}

impl Output {
    /// Memory that the output occupies on the engine or the host, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        match self {
            Output::Ciphertext(ciphertext) => match ciphertext.elements() {
                LweElements::U32(c) => size_of_val(c.elements()) as u64,
                LweElements::U64(c) => size_of_val(c.elements()) as u64,
            },
            Output::Selectors(selectors) => selectors.memory_bytes(),
            Output::Word(word) => word.digits().iter().map(|digit| size_of_val(digit.elements()) as u64).sum(),
        }
    }

    /// The ciphertext, if the output is one.
    #[must_use]
    pub fn into_ciphertext(self) -> Option<Ciphertext> {
        match self {
            Output::Ciphertext(ciphertext) => Some(ciphertext),
            Output::Selectors(_) | Output::Word(_) => None,
        }
    }
}
