//! The conformance suite of the kernel seam on the CPU engines, against a slow engine made of the reference definitions.

use ciphermill_testing::available;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ciphermill_lattice::{KeyTag, Torus};
use ciphermill_math::ntt::{CpuNttProvider, NttEngine, NttError, NttProvider};
use ciphermill_math::{EngineInfo, EngineKind, Isa};
use ciphermill_tfhe::ciphertext::LweElements;
use ciphermill_tfhe::circuit::ConversionKey;
use ciphermill_tfhe::conformance::{Agreement, Case, Suite};
use ciphermill_tfhe::engine::{
    BootstrapJob, DigitSelectors, Job, KeyPart, KeyPartError, KeyPartId, LookUpJob, Output, PreparedKey, SelectJob,
    Selectors, SplitJob, TfheEngine,
};
use ciphermill_tfhe::ggsw::GgswCiphertext;
use ciphermill_tfhe::glwe::GlweCiphertext;
use ciphermill_tfhe::keyswitch::LweKeyswitchKey;
use ciphermill_tfhe::lwe::LweCiphertext;
use ciphermill_tfhe::parameters::WordGadgets;
use ciphermill_tfhe::progress::Progress;
use ciphermill_tfhe::server_key::{
    KeyHeader, KeyKind, read_bootstrap_key, read_conversion_key, read_keyswitch_key, require_same_key_set,
};
use ciphermill_tfhe::word::{SelectorId, Word};
use ciphermill_tfhe::{
    Backend, Ciphertext, CpuEngine, KeyOrder, ParameterSet, SecurityPolicy, TestVectorElements, TfheError, TorusWidth,
    circuit, reference, word,
};
use rayon::prelude::*;

/// Schoolbook products and nothing else, of words as well. It uses the crate's public interface only, as an engine in another crate does.
#[derive(Debug)]
struct SlowEngine;

/// GGSW ciphertexts of either width.
#[derive(Debug)]
enum Rows {
    U32(Vec<GgswCiphertext<u32>>),
    U64(Vec<GgswCiphertext<u64>>),
}

#[derive(Debug)]
struct SlowKey {
    parameters: ParameterSet,
    tag: KeyTag,
    rows: Rows,
    keyswitch: LweKeyswitchKey,
    conversion: Option<ConversionKey>,
    /// Marks the selectors that this key made.
    mark: Arc<()>,
}

/// The selectors of a digit.
struct SlowSelectors {
    of: Arc<()>,
    pair: [GgswCiphertext<u64>; 2],
}

impl TfheEngine for SlowEngine {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("schoolbook", EngineKind::Cpu(Isa::Portable))
    }

    fn computes_words(&self) -> bool {
        true
    }

    fn key_bytes(&self, parameters: &ParameterSet) -> u64 {
        // Every word in 64 bits.
        2 * parameters.loaded_key_bytes(Backend::Ntt)
    }

    fn prepare(
        &self,
        mut parts: Vec<KeyPart<'_>>,
        policy: SecurityPolicy,
        _progress: Progress<'_>,
    ) -> Result<Arc<dyn PreparedKey>, TfheError> {
        let conversion = KeyPart::take(&mut parts, KeyPartId::CONVERSION)?;
        let [bootstrap, keyswitch] = KeyPart::select(parts, [KeyPartId::BOOTSTRAP, KeyPartId::KEYSWITCH])?;
        let (keyswitch_header, parameters, keyswitch) = read_keyswitch_key(keyswitch.into_reader(), policy)?;
        let (header, rows) = match parameters.torus {
            TorusWidth::U32 => {
                let (header, rows) = ciphertexts(bootstrap, policy)?;
                (header, Rows::U32(rows))
            }
            TorusWidth::U64 => {
                let (header, rows) = ciphertexts(bootstrap, policy)?;
                (header, Rows::U64(rows))
            }
        };
        require_same_key_set(&header, &keyswitch_header)?;
        let conversion = conversion.map(|part| {
            let (conversion_header, _, key) = read_conversion_key(part.into_reader(), policy)?;
            require_same_key_set(&header, &conversion_header)?;
            Ok::<_, TfheError>(key)
        });
        let (tag, conversion) = (header.tag(), conversion.transpose()?);
        Ok(Arc::new(SlowKey { parameters, tag, rows, keyswitch, conversion, mark: Arc::default() }))
    }
}

fn ciphertexts<T: Torus>(
    part: KeyPart<'_>,
    policy: SecurityPolicy,
) -> Result<(KeyHeader, Vec<GgswCiphertext<T>>), TfheError> {
    let mut rows = Vec::new();
    let (header, _) = read_bootstrap_key(part.into_reader(), policy, |ggsw| {
        rows.push(ggsw);
        Ok(())
    })?;
    Ok((header, rows))
}

impl SlowKey {
    fn bootstrap(&self, job: BootstrapJob<'_>) -> Result<Ciphertext, TfheError> {
        if job.input.key_tag() != self.tag {
            let (given, expected) = (job.input.key_tag(), self.tag);
            return Err(TfheError::KeySet { what: "key tag of the ciphertext", given, expected });
        }
        self.parameters.check_ciphertext(job.input)?;
        self.parameters.check_test_vector(job.test_vector)?;
        let order = job.input.choice();
        let small = match (order, job.input.elements()) {
            (KeyOrder::Small, LweElements::U32(c)) => c.clone(),
            (_, LweElements::U32(c)) => reference::keyswitch(&self.keyswitch, c)?,
            (_, LweElements::U64(c)) => reference::keyswitch(&self.keyswitch, c)?,
        };
        let elements = match (&self.rows, job.test_vector.elements()) {
            (Rows::U32(rows), TestVectorElements::U32(table)) => {
                self.rotate(rows, &small, table, order, LweElements::U32)?
            }
            (Rows::U64(rows), TestVectorElements::U64(table)) => {
                self.rotate(rows, &small, table, order, LweElements::U64)?
            }
            _ => return Err(TfheError::Engine { what: "the table is of another width than the key".to_owned() }),
        };
        Ok(Ciphertext::new(self.tag, order, elements))
    }

    fn words(&self) -> Result<(&[GgswCiphertext<u64>], WordGadgets), TfheError> {
        match (&self.rows, self.parameters.word) {
            (Rows::U64(rows), Some(gadgets)) => Ok((rows, gadgets)),
            _ => Err(TfheError::NoWords { name: self.parameters.name.clone() }),
        }
    }

    fn select(&self, SelectJob { word }: SelectJob<'_>) -> Result<Selectors, TfheError> {
        word.check(&self.parameters, self.tag)?;
        let (rows, gadgets) = self.words()?;
        let conversion = self.conversion.as_ref().ok_or(KeyPartError::Missing(KeyPartId::CONVERSION))?;
        let select = |digit| {
            let pair = circuit::reference::selectors(rows, conversion, gadgets.selector, digit)?;
            let bytes = pair.iter().map(|selector| size_of_val(selector.coefficients())).sum::<usize>() as u64;
            Ok(DigitSelectors::new(self.tag, bytes, Arc::new(SlowSelectors { of: self.mark.clone(), pair })))
        };
        word.digits().par_iter().map(select).collect::<Result<_, _>>().map(Selectors::new)
    }

    fn look_up(&self, LookUpJob { file, table }: LookUpJob<'_>) -> Result<Word, TfheError> {
        let conversion = self.conversion.as_ref().ok_or(KeyPartError::Missing(KeyPartId::CONVERSION))?;
        file.check(table, self.tag)?;
        let selector_at = |id: SelectorId| {
            let selectors = file.at(id.position)?.content::<SlowSelectors>();
            let own = selectors.filter(|selectors| Arc::ptr_eq(&selectors.of, &self.mark));
            own.map(|selectors| &selectors.pair[usize::from(id.high)]).ok_or(TfheError::ForeignSelectors)
        };
        let digits = word::reference::look_up(table, conversion.shape().polynomial_size, &selector_at)?;
        self.word(&digits)
    }

    fn split(&self, SplitJob { input, split }: SplitJob<'_>) -> Result<Word, TfheError> {
        self.parameters.check_ciphertext(input)?;
        let (rows, _) = self.words()?;
        let LweElements::U64(integer) = input.elements() else {
            return Err(TfheError::Mismatch { what: "bits of the torus", given: 32, expected: 64 });
        };
        self.word(&circuit::reference::split(rows, &self.keyswitch, split, integer)?)
    }

    fn word(&self, digits: &[LweCiphertext<u64>]) -> Result<Word, TfheError> {
        let switch = |digit| reference::keyswitch(&self.keyswitch, digit);
        Word::new(self.tag, digits.iter().map(switch).collect::<Result<_, _>>()?, f64::INFINITY)
    }

    fn rotate<T: Torus>(
        &self,
        rows: &[GgswCiphertext<T>],
        input: &LweCiphertext<u32>,
        table: &GlweCiphertext<T>,
        order: KeyOrder,
        wrap: fn(LweCiphertext<T>) -> LweElements,
    ) -> Result<LweElements, TfheError> {
        let (switch, size) = (self.parameters.modulus_switch, self.parameters.polynomial_size);
        let mut exponents = reference::modulus_switch(switch, input, size);
        let body = exponents.pop().expect("a body");
        // X^0 − 1 = 0: such steps add nothing.
        let steps = rows.iter().zip(exponents).filter(|&(_, exponent)| exponent != 0);
        let (rows, exponents): (Vec<_>, Vec<_>) = steps.map(|(row, exponent)| (row.clone(), exponent)).unzip();
        let big = reference::blind_rotate(&rows, &exponents, body, table)?.extract(0)?;
        Ok(match order {
            KeyOrder::Big => wrap(big),
            KeyOrder::Small => LweElements::U32(reference::keyswitch(&self.keyswitch, &big)?),
        })
    }
}

impl PreparedKey for SlowKey {
    fn parameters(&self) -> &ParameterSet {
        &self.parameters
    }

    fn tag(&self) -> KeyTag {
        self.tag
    }

    fn memory_bytes(&self) -> u64 {
        let rows = match &self.rows {
            Rows::U32(rows) => rows.iter().map(|row| size_of_val(row.coefficients())).sum::<usize>(),
            Rows::U64(rows) => rows.iter().map(|row| size_of_val(row.coefficients())).sum(),
        };
        let conversion = self.conversion.as_ref().map_or(0, |key| size_of::<u64>() * key.shape().len());
        (rows + size_of_val(self.keyswitch.elements()) + conversion) as u64
    }

    fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Output>, TfheError> {
        jobs.par_iter()
            .map(|job| match job {
                Job::Bootstrap(job) => self.bootstrap(*job).map(Output::Ciphertext),
                Job::Select(job) => self.select(*job).map(Output::Selectors),
                Job::LookUp(job) => self.look_up(*job).map(Output::Word),
                Job::Split(job) => self.split(*job).map(Output::Word),
                job => Err(TfheError::UnsupportedJob { engine: "schoolbook".to_owned(), job: job.name() }),
            })
            .collect()
    }
}

/// The FFT on every path, and the exact NTT on the best one: over Z (32 bits) it gives the bits of the definition, over Z_p
/// (64 bits) its phases.
#[test]
fn cpu_engines_conform_to_the_definition() {
    let suite = Suite::new(&SlowEngine).expect("the definition conforms to itself");
    for isa in available(Isa::ALL, |isa| isa.is_available()) {
        for backend in [Backend::Fft, Backend::Ntt] {
            let engine = CpuEngine::on(isa, backend);
            let agreement = |torus| match (backend, torus) {
                (Backend::Ntt, TorusWidth::U32) => Agreement::Bits,
                _ => Agreement::Phase,
            };
            suite.check(&engine, agreement).unwrap_or_else(|error| panic!("{}: {error}", engine.info()));
        }
    }
}

/// The exact NTT computes in one ring on every path, so its bits are the same on all of them.
#[test]
fn exact_engines_agree_bit_for_bit() {
    let suite = Suite::new(&CpuEngine::on(Isa::Portable, Backend::Ntt)).expect("a conforming engine");
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        suite
            .check(&CpuEngine::on(isa, Backend::Ntt), |_| Agreement::Bits)
            .unwrap_or_else(|error| panic!("{isa}: {error}"));
    }
}

/// Hands out the CPU's transforms and counts them.
#[derive(Debug, Default)]
struct Counting {
    cpu: CpuNttProvider,
    goldilocks: AtomicUsize,
}

impl NttProvider for Counting {
    fn info(&self) -> EngineInfo {
        self.cpu.info()
    }

    fn prime(&self, polynomial_size: usize, modulus: u64) -> Result<Arc<dyn NttEngine>, NttError> {
        self.cpu.prime(polynomial_size, modulus)
    }

    fn prime_u32(&self, polynomial_size: usize, modulus: u32) -> Result<Arc<dyn NttEngine<u32>>, NttError> {
        self.cpu.prime_u32(polynomial_size, modulus)
    }

    fn goldilocks(&self, polynomial_size: usize) -> Result<Arc<dyn NttEngine>, NttError> {
        self.goldilocks.fetch_add(1, Ordering::Relaxed);
        self.cpu.goldilocks(polynomial_size)
    }
}

/// The NTT back end takes its transform from the provider, and the FFT back end takes none.
#[test]
fn the_ntt_comes_from_the_provider() {
    let case = Case::small(TorusWidth::U64).expect("a named set");
    for (backend, made) in [(Backend::Ntt, 1), (Backend::Fft, 0)] {
        let provider = Arc::new(Counting::default());
        let engine = CpuEngine::new(backend).with_ntt(Arc::clone(&provider) as Arc<dyn NttProvider>);
        let key = case.prepare(&engine).expect("well-formed keys");
        case.outputs(&*key).unwrap_or_else(|error| panic!("{backend}: {error}"));
        assert_eq!(provider.goldilocks.load(Ordering::Relaxed), made, "{backend}");
    }
}

/// An engine without words: it refuses the conversion key, and jobs of words as unsupported.
#[derive(Debug)]
struct WithoutWords;

#[derive(Debug)]
struct BootstrapsOnly(Arc<dyn PreparedKey>);

impl TfheEngine for WithoutWords {
    fn info(&self) -> EngineInfo {
        EngineInfo::new("without words", EngineKind::Cpu(Isa::Portable))
    }

    fn key_bytes(&self, parameters: &ParameterSet) -> u64 {
        CpuEngine::new(Backend::Ntt).key_bytes(parameters)
    }

    fn prepare(
        &self,
        parts: Vec<KeyPart<'_>>,
        policy: SecurityPolicy,
        progress: Progress<'_>,
    ) -> Result<Arc<dyn PreparedKey>, TfheError> {
        let parts = KeyPart::select(parts, [KeyPartId::BOOTSTRAP, KeyPartId::KEYSWITCH])?;
        CpuEngine::new(Backend::Ntt)
            .prepare(parts.into(), policy, progress)
            .map(|key| Arc::new(BootstrapsOnly(key)) as Arc<dyn PreparedKey>)
    }
}

impl PreparedKey for BootstrapsOnly {
    fn parameters(&self) -> &ParameterSet {
        self.0.parameters()
    }

    fn tag(&self) -> KeyTag {
        self.0.tag()
    }

    fn memory_bytes(&self) -> u64 {
        self.0.memory_bytes()
    }

    fn run(&self, jobs: &[Job<'_>]) -> Result<Vec<Output>, TfheError> {
        match jobs.iter().find(|job| !matches!(job, Job::Bootstrap(_))) {
            Some(job) => Err(TfheError::UnsupportedJob { engine: "without words".to_owned(), job: job.name() }),
            None => self.0.run(jobs),
        }
    }
}

#[test]
fn an_engine_without_words_conforms() {
    let suite = Suite::new(&CpuEngine::new(Backend::Ntt)).expect("a conforming engine");
    suite.check(&WithoutWords, |_| Agreement::Bits).unwrap_or_else(|error| panic!("{error}"));
}

/// A header that an engine in another crate reads states kind, set and form of the key.
#[test]
fn headers_are_read_without_private_fields() {
    let case = Case::small(TorusWidth::U64).expect("a named set");
    let part = case.parts().swap_remove(0);
    let size = part.size;
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    let (_, header, parameters) = KeyHeader::open(KeyKind::Bootstrap, part.into_reader(), policy).expect("a key");
    assert_eq!((header.tag(), header.sealed_len()), (case.client().tag(), size));
    assert_eq!(parameters.spec(), case.client().parameters().spec());
}
