//! Conformance checks of the kernel seam: what every [`TfheEngine`] must pass.
//!
//! Call [`check`] from a test of the crate that implements the engine, and enable the feature `conformance` in its
//! `dev-dependencies`. Exact engines of one arithmetic agree bit for bit ([`Agreement::Bits`]). Approximate engines agree in decryption,
//! and in phase within the bound of the [noise model](crate::noise) ([`Agreement::Phase`]).
//!
//! # Example
//! ```
//! use ciphermill_tfhe::conformance::{Agreement, Case};
//! use ciphermill_tfhe::{Backend, CpuEngine, TorusWidth};
//!
//! let case = Case::small(TorusWidth::U64)?;
//! let [fft, ntt] = [Backend::Fft, Backend::Ntt].map(|backend| case.prepare(&CpuEngine::new(backend)));
//! let (fft, ntt) = (case.outputs(&*fft?)?, case.outputs(&*ntt?)?);
//! assert_eq!(fft.len(), ntt.len());
//! case.compare(&fft, &ntt, Agreement::Phase)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod words;

use std::sync::Arc;

use ciphermill_lattice::{Csprng, NoiseDistribution, SecretSeed};

use crate::backend::Backend;
use crate::ciphertext::{Ciphertext, KeyTag, LweElements, TestVector};
use crate::client::{ClientKey, KeySeeds};
use crate::dimension::{Decomposition, LweDimension};
use crate::encoding::Encoding;
use crate::engine::{
    BootstrapJob, Job, KeyPart, KeyPartError, KeyPartId, Output, PreparedKey, ProgramJob, Step, TfheEngine,
};
use crate::error::TfheError;
use crate::lwe::LweCiphertext;
use crate::modulus_switch::ModulusSwitch;
use crate::noise;
use crate::parameters::{
    KeyOrder, NVME_TFHE_PAPER, NVME_TFHE_PAPER_U32, ParameterSet, ParameterSpec, SecurityPolicy, TEST_SMALL_U32,
    TEST_SMALL_U64, TorusWidth,
};
use crate::server_key::KeyForm;
use crate::word::Word;
pub use words::WordCase;

const POLICY: SecurityPolicy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;

/// Standard deviations by which a phase may miss its place.
const DEVIATIONS: f64 = 10.0;

/// Errors of an engine that does not conform.
#[derive(Debug, thiserror::Error)]
pub enum ConformanceError {
    /// The engine failed.
    #[error(transparent)]
    Tfhe(#[from] TfheError),
    /// A result is wrong.
    #[error("{case}: {what}")]
    Wrong {
        /// The case.
        case: String,
        /// The difference from the required value.
        what: String,
    },
}

/// How the outputs of two engines must agree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// Bit for bit: both engines compute exactly, in the same ring.
    Bits,
    /// In decryption, and in phase within the noise model's bound.
    Phase,
}

/// Keys, inputs and a table, from fixed seeds.
#[derive(Debug)]
pub struct Case {
    client: ClientKey,
    parts: [Vec<u8>; 2],
    encoding: Encoding,
    /// m ↦ max − m, and m ↦ m: the jobs of a batch use both in turn.
    tables: [TestVector; 2],
    inputs: Vec<(i64, Ciphertext)>,
}

impl Case {
    /// A small test set with the plain modulus switch: one bootstrap in each order of key switch and blind rotation, and
    /// one of an input that the two modulus switches look up as different messages.
    ///
    /// # Errors
    /// Never for an admissible parameter set.
    pub fn small(torus: TorusWidth) -> Result<Self, TfheError> {
        Self::small_with(torus, ModulusSwitch::Plain)
    }

    /// [`small`](Self::small) with the centred modulus switch.
    ///
    /// # Errors
    /// Never for an admissible parameter set.
    pub fn centred(torus: TorusWidth) -> Result<Self, TfheError> {
        Self::small_with(torus, ModulusSwitch::Centred)
    }

    fn small_with(torus: TorusWidth, modulus_switch: ModulusSwitch) -> Result<Self, TfheError> {
        let name = match torus {
            TorusWidth::U32 => TEST_SMALL_U32,
            TorusWidth::U64 => TEST_SMALL_U64,
        };
        let set = ParameterSet::named(name, POLICY)?;
        let spec = ParameterSpec { name: format!("{name}_{modulus_switch}"), modulus_switch, ..set.spec().clone() };
        let mut case = Self::new(spec, KeyForm::Seeded)?;
        case.encrypt_inputs()?;
        case.add_input_between_switches()?;
        Ok(case)
    }

    /// The paper's N and l, with inputs that need one external product, and two (n = 2).
    ///
    /// A set has at least 16 key bits. The inputs have one and two mask elements that are not 0, and a product with X^0 − 1 = 0 adds nothing.
    /// The key switch is fine enough not to hide errors of the products.
    ///
    /// # Errors
    /// Never for an admissible parameter set.
    pub fn full_polynomials(torus: TorusWidth) -> Result<Self, TfheError> {
        let name = match torus {
            TorusWidth::U32 => NVME_TFHE_PAPER_U32,
            TorusWidth::U64 => NVME_TFHE_PAPER,
        };
        let spec = ParameterSpec {
            name: format!("{name}_N"),
            lwe_dimension: LweDimension(16),
            lwe_noise: NoiseDistribution::Gaussian { std_dev: (-31f64).exp2() },
            ks: Decomposition::new(4, 8),
            message_bits: 2,
            ..ParameterSet::named(name, POLICY)?.spec().clone()
        };
        let mut case = Self::new(spec, KeyForm::Full)?;
        for (message, products) in [(1, 1), (3, 2)] {
            let mut rng = Csprng::from_secret(&SecretSeed::from_bytes([50; 32]), products);
            let mut elements = vec![0u32; case.client.parameters.lwe_dimension.lwe_size()];
            let mut body: u32 = case.encoding.encode(message)?;
            // Rotations by odd exponents, under key bits that differ.
            for (place, bit) in [1u8, 0].into_iter().enumerate().take(products as usize) {
                let index = case.client.lwe.bits().iter().position(|&b| b == bit).unwrap_or(place);
                elements[index] = rng.next_u64() as u32 | 1 << 17;
                body = body.wrapping_add(elements[index].wrapping_mul(u32::from(case.client.lwe.bits()[index])));
            }
            elements[case.client.parameters.lwe_dimension.0] = body;
            let elements = LweElements::U32(LweCiphertext::from_elements(elements));
            case.inputs.push((message, Ciphertext::new(case.client.tag, KeyOrder::Small, elements)));
        }
        Ok(case)
    }

    /// The paper's set in full. Keys of 1.1 GB are generated; a prepared key occupies about 2 GB.
    ///
    /// # Errors
    /// Never for an admissible parameter set.
    pub fn full() -> Result<Self, TfheError> {
        let mut case = Self::new(ParameterSet::named(NVME_TFHE_PAPER, POLICY)?.spec().clone(), KeyForm::Seeded)?;
        case.encrypt_inputs()?;
        Ok(case)
    }

    fn new(spec: ParameterSpec, form: KeyForm) -> Result<Self, TfheError> {
        let parameters = ParameterSet::new(spec, POLICY)?;
        let client = ClientKey::generate(&parameters, &SecretSeed::from_bytes([40; 32]));
        let seeds = |byte: u8| KeySeeds::from_bytes([byte; 32], [!byte; 32]);
        let parts = [
            client.write_bootstrap_key(form, seeds(41), Vec::new(), &mut |_, _| ())?,
            client.write_keyswitch_key(form, seeds(42), Vec::new())?,
        ];
        let encoding = Encoding::unsigned(parameters.message_bits.min(2), true)?;
        let tables = [
            parameters.test_vector(&encoding, &encoding, |m| encoding.max() - m)?,
            parameters.test_vector(&encoding, &encoding, |m| m)?,
        ];
        Ok(Self { client, parts, encoding, tables, inputs: Vec::new() })
    }

    fn encrypt_inputs(&mut self) -> Result<(), TfheError> {
        let mut rng = Csprng::from_secret(&SecretSeed::from_bytes([43; 32]), 0);
        for (message, order) in [(0, KeyOrder::Small), (1, KeyOrder::Big)] {
            self.inputs.push((message, self.client.encrypt(&self.encoding, message, order, &mut rng)?));
        }
        Ok(())
    }

    /// Adds a noiseless input whose mask elements all lie 0.49 steps above their exponents, and whose phase lies 13 steps
    /// below the upper edge of the message 1. The centred switch changes the phase by 0.49 steps for each key bit above or
    /// below n/2, and looks up 1. The plain one raises it by 0.49 steps for each key bit that is 1, and looks up 2.
    fn add_input_between_switches(&mut self) -> Result<(), TfheError> {
        let (spec, bits) = (self.client.parameters.spec(), self.client.lwe.bits());
        let log_step = 31 - spec.polynomial_size.get().trailing_zeros();
        let above = (0.49 * f64::from(1u32 << log_step)) as u32;
        let mut rng = Csprng::from_secret(&SecretSeed::from_bytes([44; 32]), 0);
        let mut elements: Vec<u32> =
            bits.iter().map(|_| ((rng.next_u64() as u32) >> log_step << log_step) + above).collect();
        let places = self.encoding.places() as u32;
        let edge = self.encoding.encode::<u32>(1)?.wrapping_add(1 << (31 - places.trailing_zeros()));
        let sum = elements.iter().zip(bits).fold(0u32, |sum, (&x, &bit)| sum.wrapping_add(x * u32::from(bit)));
        elements.push(edge.wrapping_sub(13 << log_step).wrapping_add(sum));
        let message = match spec.modulus_switch {
            ModulusSwitch::Plain => 2,
            ModulusSwitch::Centred => 1,
        };
        let elements = LweElements::U32(LweCiphertext::from_elements(elements));
        self.inputs.push((message, Ciphertext::new(self.client.tag, KeyOrder::Small, elements)));
        Ok(())
    }

    /// The sealed parts of the server key.
    pub fn parts(&self) -> Vec<KeyPart<'_>> {
        vec![KeyPart::bootstrap(&self.parts[0]), KeyPart::keyswitch(&self.parts[1])]
    }

    /// The first input under this key, and a table for it.
    pub fn job(&self, order: KeyOrder) -> Option<(&Ciphertext, &TestVector)> {
        let (_, input) = self.inputs.iter().find(|(_, input)| input.choice() == order)?;
        Some((input, &self.tables[0]))
    }

    /// The keys that produced the case.
    pub fn client(&self) -> &ClientKey {
        &self.client
    }

    /// The key in the engine's form. Its description must be that of the case.
    ///
    /// # Errors
    /// As [`TfheEngine::prepare`], and if the description differs or the key takes more memory than the engine said.
    pub fn prepare(&self, engine: &dyn TfheEngine) -> Result<Arc<dyn PreparedKey>, ConformanceError> {
        let key = engine.prepare(self.parts(), POLICY, &mut |_, _| ())?;
        let same = key.parameters().spec() == self.client.parameters.spec() && key.tag() == self.client.tag;
        self.require(same && key.memory_bytes() > 0, || "the prepared key describes another key set".to_owned())?;
        let (taken, said) = (key.memory_bytes(), engine.key_bytes(key.parameters()));
        self.require(taken <= said, || format!("the key takes {taken} bytes, the engine said at most {said}"))?;
        Ok(key)
    }

    /// Runs all inputs in one batch and one by one. Both must give the same bits, decrypt to the table's values, and have
    /// phases within ten standard deviations of their places.
    ///
    /// # Errors
    /// If the engine fails or a result is wrong.
    pub fn outputs(&self, key: &dyn PreparedKey) -> Result<Vec<Ciphertext>, ConformanceError> {
        let numbered = || self.inputs.iter().enumerate().map(|(i, (message, input))| (i % 2, *message, input));
        let jobs: Vec<Job<'_>> = numbered()
            .map(|(table, _, input)| BootstrapJob { input, test_vector: &self.tables[table] }.into())
            .collect();
        let outputs = key.run(&jobs)?;
        self.require(outputs.len() == jobs.len(), || format!("{} jobs, {} outputs", jobs.len(), outputs.len()))?;
        let outputs: Option<Vec<Ciphertext>> = outputs.into_iter().map(|output| output.into_ciphertext()).collect();
        let Some(outputs) = outputs else { return Err(self.wrong("a bootstrap returned no ciphertext".to_owned())) };
        if let [first, .., last] = &outputs[..] {
            let (_, input) = &self.inputs[0];
            let alone = key.bootstrap(input, &self.tables[0])?;
            self.require(&alone == first, || "an output depends on its batch".to_owned())?;
            self.require(first.choice() == input.choice() && last.key_tag() == self.client.tag, || {
                "an output is under another key than its input".to_owned()
            })?;
        }
        for ((table, message, input), output) in numbered().zip(&outputs) {
            let expected = if table == 0 { self.encoding.max() - message } else { message };
            let decrypted = self.client.decrypt(&self.encoding, output)?;
            self.require(decrypted == expected, || format!("{decrypted} where {expected} is the table's value"))?;
            let place: u64 = self.encoding.encode(expected).map_err(TfheError::from)?;
            let error = distance(self.client.decrypt_phase(output)?, place);
            let bound = self.bound(input.choice());
            self.require(error <= bound, || format!("phase error {error:e} above the bound {bound:e}"))?;
        }
        Ok(outputs)
    }

    /// Runs a program with every kind of step on the first two inputs that are under one key, as one job. Its output must
    /// have the bits that the same steps have one after another on the same prepared key. An engine that runs no programs
    /// must refuse it by type.
    ///
    /// # Errors
    /// If the engine fails, or the bits differ.
    pub fn check_program(&self, engine: &dyn TfheEngine, key: &dyn PreparedKey) -> Result<(), ConformanceError> {
        let Some((x, y)) = self.inputs.iter().enumerate().find_map(|(at, (_, x))| {
            let (_, y) = self.inputs[at + 1..].iter().find(|(_, y)| y.choice() == x.choice())?;
            Some((x, y))
        }) else {
            return Err(self.wrong("no two inputs are under one key".to_owned()));
        };
        let steps = [
            Step::Push(0),
            Step::Scale(0, -3),
            Step::Bootstrap(200, 0),
            Step::Move(2, 1),
            Step::Push(2),
            Step::Add(2, 0),
            Step::Bootstrap(201, 2),
            Step::Pop(0),
            Step::Sub(2, 0),
            Step::Pop(1),
            Step::Add(2, 1),
            Step::Return(2),
            Step::Pop(2),
        ];
        let [first, second] = &self.tables;
        let program =
            ProgramJob { steps: &steps, ciphertexts: &[(0, x), (1, y)], test_vectors: &[(200, first), (201, second)] };
        if !engine.runs_programs() {
            let refused = key.run(&[program.into()]);
            let by_type = matches!(&refused, Err(TfheError::UnsupportedJob { job: "program", .. }));
            return self.require(by_type && !key.runs_program(&program), || {
                format!("the engine runs no programs, and answered one with {refused:?}")
            });
        }
        self.require(key.runs_program(&program), || "the engine refuses a program of 13 steps".to_owned())?;
        let mut outputs = key.run(&[program.into()])?;
        let output = outputs.pop().and_then(Output::into_ciphertext).filter(|_| outputs.is_empty());
        let Some(output) = output else { return Err(self.wrong("a program returned no ciphertext".to_owned())) };
        let expected = program.by_steps(key)?;
        self.require(same_bits(&output, &expected), || "the bits differ from those of single steps".to_owned())?;
        // What cannot be done is refused with an error, and nothing is computed instead.
        for (steps, what) in [
            (&[Step::Add(0, 9), Step::Return(0)][..], "a step on an empty place"),
            (&[Step::Pop(0), Step::Return(0)], "a step on an empty stack"),
            (&[Step::Bootstrap(0, 1), Step::Return(1)], "a ciphertext as test vector"),
            (&[Step::Add(0, 1)], "a program without return"),
            (&[], "an empty program"),
            (&[Step::Move(200, 0), Step::Return(0)], "a ciphertext in the place of a test vector"),
        ] {
            let accepted = key.run(&[ProgramJob { steps, ..program }.into()]).is_ok();
            self.require(!accepted, || format!("{what} was accepted"))?;
        }
        for ciphertexts in [&[(0, x), (0, y)], &[(0, x), (200, y)]] {
            let steps = &[Step::Return(0)];
            let accepted = key.run(&[ProgramJob { steps, ciphertexts, ..program }.into()]).is_ok();
            self.require(!accepted, || "a register with two objects was accepted".to_owned())?;
        }
        let again = key.run(&[program.into()])?.pop().and_then(Output::into_ciphertext);
        self.require(again.is_some_and(|again| same_bits(&again, &expected)), || {
            "a program after refused ones has other bits".to_owned()
        })
    }

    /// Compares the outputs of two engines.
    ///
    /// # Errors
    /// If they do not agree.
    pub fn compare(
        &self,
        outputs: &[Ciphertext],
        reference: &[Ciphertext],
        agreement: Agreement,
    ) -> Result<(), ConformanceError> {
        self.require(outputs.len() == reference.len(), || "the numbers of outputs differ".to_owned())?;
        if agreement == Agreement::Bits {
            let same = outputs.iter().zip(reference).all(|(output, reference)| same_bits(output, reference));
            return self.require(same, || "the bits differ from the reference's".to_owned());
        }
        for (output, reference) in outputs.iter().zip(reference) {
            let [given, expected] = [output, reference].map(|c| self.client.decrypt_phase(c));
            let error = distance(given?, expected?);
            let bound = self.difference_bound(output.choice());
            self.require(error <= bound, || format!("phases differ by {error:e}, more than the bound {bound:e}"))?;
        }
        Ok(())
    }

    /// Ten standard deviations of a bootstrap's noise.
    fn bound(&self, order: KeyOrder) -> f64 {
        DEVIATIONS * noise::bootstrap_variance(&self.client.parameters, order, Backend::Fft).sqrt()
    }

    /// Ten standard deviations of the difference of two engines. With the key switch first, both rotate by the same
    /// exponents with the same key, and differ in the errors of their transforms and in the roundings of the
    /// decompositions of slightly different accumulators. With the key switch last, small differences change its
    /// digits.
    fn difference_bound(&self, order: KeyOrder) -> f64 {
        let spec = self.client.parameters.spec();
        let variance = match order {
            KeyOrder::Big => noise::blind_rotation_variance(spec, Backend::Fft),
            KeyOrder::Small => noise::bootstrap_variance(spec, order, Backend::Fft),
        };
        DEVIATIONS * (2.0 * variance).sqrt()
    }

    fn require(&self, holds: bool, what: impl FnOnce() -> String) -> Result<(), ConformanceError> {
        if holds { Ok(()) } else { Err(self.wrong(what())) }
    }

    fn wrong(&self, what: String) -> ConformanceError {
        ConformanceError::Wrong { case: self.client.parameters.name.clone(), what }
    }
}

/// Whether two ciphertexts have the same key and the same words; engines need not state bounds.
fn same_bits(left: &Ciphertext, right: &Ciphertext) -> bool {
    (left.key_tag(), left.choice(), left.elements()) == (right.key_tag(), right.choice(), right.elements())
}

/// Distance of two phases, as a fraction of the torus.
fn distance(lhs: u64, rhs: u64) -> f64 {
    (lhs.wrapping_sub(rhs) as i64 as f64).abs() * (-64f64).exp2()
}

/// The small cases, those of full polynomials and that of words, with the outputs of a reference engine.
///
/// # Example
/// ```no_run
/// use ciphermill_tfhe::conformance::{Agreement, Suite};
/// use ciphermill_tfhe::{Backend, CpuEngine};
///
/// let suite = Suite::new(&CpuEngine::new(Backend::Ntt))?;
/// assert!(suite.check(&CpuEngine::new(Backend::Fft), |_| Agreement::Phase).is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Suite {
    cases: Vec<(Case, Vec<Ciphertext>)>,
    words: WordCase,
    /// `None` if the reference engine has no words.
    reference_words: Option<Vec<Word>>,
}

impl Suite {
    /// Runs every case on the reference engine.
    ///
    /// # Errors
    /// If the reference engine does not conform itself.
    pub fn new(reference: &dyn TfheEngine) -> Result<Self, ConformanceError> {
        let widths = [TorusWidth::U32, TorusWidth::U64];
        let small = widths.into_iter().flat_map(|torus| [Case::small(torus), Case::centred(torus)]);
        let full = widths.into_iter().map(Case::full_polynomials);
        let cases = small.chain(full).map(|case| {
            let case = case?;
            let outputs = case.outputs(&*case.prepare(reference)?)?;
            Ok((case, outputs))
        });
        let cases = cases.collect::<Result<_, ConformanceError>>()?;
        let words = WordCase::small()?;
        let reference_words = match reference.computes_words() {
            true => Some(words.outputs(&*words.prepare(reference)?)?),
            false => None,
        };
        Ok(Self { cases, words, reference_words })
    }

    /// Runs every case on another engine. `agreement` states, for a torus width, how its outputs must agree with the
    /// reference's.
    ///
    /// # Errors
    /// If the engine does not conform.
    pub fn check(
        &self,
        engine: &dyn TfheEngine,
        agreement: impl Fn(TorusWidth) -> Agreement,
    ) -> Result<(), ConformanceError> {
        for (case, reference) in &self.cases {
            let key = case.prepare(engine)?;
            let outputs = case.outputs(&*key)?;
            case.compare(&outputs, reference, agreement(case.client.parameters.torus))?;
            case.check_program(engine, &*key)?;
        }
        check_refusals(engine)?;
        if !engine.computes_words() {
            return self.words.check_absence(engine);
        }
        let outputs = self.words.outputs(&*self.words.prepare(engine)?)?;
        if let Some(reference) = &self.reference_words {
            self.words.compare(&outputs, reference, agreement(TorusWidth::U64))?;
        }
        self.words.check_refusals(engine)
    }
}

/// Lists of key parts and operands that every engine must refuse, by type, and two keys in turn.
///
/// # Errors
/// If the engine accepts one, or refuses it with another error.
///
/// # Example
/// ```
/// use ciphermill_tfhe::conformance::check_refusals;
/// use ciphermill_tfhe::{Backend, CpuEngine};
///
/// assert!(check_refusals(&CpuEngine::new(Backend::Fft)).is_ok());
/// ```
pub fn check_refusals(engine: &dyn TfheEngine) -> Result<(), ConformanceError> {
    let case = Case::small(TorusWidth::U64)?;
    let [bootstrap, keyswitch] = &case.parts;
    let later = KeyPartId(0x7fff_fff0);
    let lists = [
        (KeyPartError::Missing(KeyPartId::BOOTSTRAP), vec![KeyPart::keyswitch(keyswitch)]),
        (KeyPartError::Missing(KeyPartId::KEYSWITCH), vec![KeyPart::bootstrap(bootstrap)]),
        (
            KeyPartError::Unknown(later),
            [case.parts(), vec![KeyPart::new(later, keyswitch)]].into_iter().flatten().collect(),
        ),
        (
            KeyPartError::Repeated(KeyPartId::BOOTSTRAP),
            [case.parts(), vec![KeyPart::bootstrap(bootstrap)]].into_iter().flatten().collect(),
        ),
    ];
    for (expected, parts) in lists {
        let error = engine.prepare(parts, POLICY, &mut |_, _| ()).err();
        let same = matches!(&error, Some(TfheError::KeyPart(given)) if *given == expected);
        case.require(same, || format!("\"{expected}\" is required, and the engine answered {error:?}"))?;
    }
    let crossed = vec![KeyPart::bootstrap(keyswitch), KeyPart::keyswitch(bootstrap)];
    let accepted = engine.prepare(crossed, POLICY, &mut |_, _| ()).is_ok();
    case.require(!accepted, || "parts under each other's numbers were accepted".to_owned())?;
    let cut = vec![KeyPart::bootstrap(&bootstrap[..bootstrap.len() - 1]), KeyPart::keyswitch(keyswitch)];
    let accepted = engine.prepare(cut, POLICY, &mut |_, _| ()).is_ok();
    case.require(!accepted, || "a truncated bootstrapping key was accepted".to_owned())?;
    let strict = engine.prepare(case.parts(), SecurityPolicy::Require128Bits, &mut |_, _| ());
    case.require(strict.is_err(), || "a set below 128 bits was accepted without the opt-in".to_owned())?;
    let key = case.prepare(engine)?;
    case.require(key.run(&[])?.is_empty(), || "no jobs, but outputs".to_owned())?;
    // A key that is prepared later does not take the place of the first one.
    let other = Case::small(TorusWidth::U32)?;
    let other_key = other.prepare(engine)?;
    case.outputs(&*key)?;
    other.outputs(&*other_key)?;
    case.outputs(&*key)?;
    let (_, input) = &case.inputs[0];
    let foreign = Ciphertext::new(KeyTag(!case.client.tag.0), input.choice(), input.elements().clone());
    for (input, table, what) in [
        (&foreign, &case.tables[0], "a ciphertext of another key set"),
        (input, &other.tables[0], "a test vector of another size"),
    ] {
        case.require(key.bootstrap(input, table).is_err(), || format!("{what} was accepted"))?;
    }
    Ok(())
}
