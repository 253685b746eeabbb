//! Conformance checks of the transforms below a [`Context`]: BFV's results must not depend on the provider.
//!
//! A crate that offers an [`NttProvider`] calls [`Suite::check`] from a test, with the feature `conformance` of this crate
//! in its `dev-dependencies`. Keys, plaintexts and all randomness come from fixed seeds. Every result, at every number of
//! limbs, must equal bit for bit the result with the transforms of the plain definition
//! ([`ReferenceNttProvider`]).
//!
//! # Example
//! ```
//! use ciphermill_bfv::Context;
//! use ciphermill_bfv::conformance::Case;
//! use ciphermill_math::Isa;
//!
//! let case = Case::small("BFV_4096")?;
//! case.check(&Context::new(case.parameters(), Isa::current())?)?;
//! # Ok::<(), ciphermill_bfv::conformance::ConformanceError>(())
//! ```

use std::sync::Arc;

use ciphermill_lattice::rns::{Form, RnsPoly};
use ciphermill_lattice::{Csprng, DecompositionBaseLog, PolynomialSize, PublicSeed, SecretSeed};
use ciphermill_math::Isa;
use ciphermill_math::conformance::ReferenceNttProvider;
use ciphermill_math::ntt::NttProvider;

use crate::ciphertext::{Ciphertext, Plaintext};
use crate::context::Context;
use crate::encoding::BatchEncoder;
use crate::error::BfvError;
use crate::gadget::Gadget;
use crate::keys::{GaloisKeys, GaloisRequest, PublicKey, RelinearizationKey};
use crate::keyswitch::KeySwitchKey;
use crate::lwe::Unused;
use crate::parameters::{
    BFV_1024, BFV_2048, BFV_4096, BFV_8192, CHAM_PAPER, ParameterSet, ParameterSpec, SET_NAMES, SecurityPolicy,
    TEST_512,
};
use crate::secret_key::{KeySeeds, SecretKey};

const POLICY: SecurityPolicy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;

/// N of the small cases.
const SMALL: usize = 64;

/// The sets that [`Suite`] runs at their full N.
pub const FULL_SETS: [&str; 6] = [TEST_512, BFV_1024, BFV_2048, CHAM_PAPER, BFV_4096, BFV_8192];

/// LWE ciphertexts that are packed together.
const PACKED: usize = 4;

/// Errors of a context that does not conform.
#[derive(Debug, thiserror::Error)]
pub enum ConformanceError {
    /// An operation failed.
    #[error(transparent)]
    Bfv(#[from] BfvError),
    /// A result differs from the reference's.
    #[error("{set}, {limbs} limbs: {step} differs from the reference at word {word}; check the provider's transforms")]
    Different {
        /// The parameter set.
        set: String,
        /// The operation.
        step: &'static str,
        /// The number of limbs; 0 for operations without ciphertexts.
        limbs: usize,
        /// The first word that differs.
        word: usize,
    },
    /// A result of the reference itself is wrong.
    #[error("{set}, {limbs} limbs: {step} decrypts to another plaintext; check the reference transforms")]
    Wrong {
        /// The parameter set.
        set: String,
        /// The operation.
        step: &'static str,
        /// The number of limbs.
        limbs: usize,
    },
}

/// One parameter set, and every result of the reference on it.
#[derive(Debug)]
pub struct Case {
    parameters: ParameterSet,
    reference: Vec<Step>,
}

impl Case {
    /// The primes and the other numbers of a named set, with N = 64 or the set's N if that is less.
    ///
    /// # Errors
    /// If no set has this name.
    pub fn small(name: &str) -> Result<Self, ConformanceError> {
        let set = ParameterSet::named(name, POLICY).map_err(BfvError::from)?;
        // Primes that are 1 modulo 2N are 1 modulo every divisor of 2N.
        let n = set.polynomial_size.get().min(SMALL);
        let polynomial_size = PolynomialSize::new(n).expect("a power of two");
        let spec = ParameterSpec { name: format!("{name}_N{n}"), polynomial_size, ..set.spec().clone() };
        Self::new(ParameterSet::new(spec, POLICY).map_err(BfvError::from)?)
    }

    /// A named set.
    ///
    /// # Errors
    /// If no set has this name.
    pub fn full(name: &str) -> Result<Self, ConformanceError> {
        Self::new(ParameterSet::named(name, POLICY).map_err(BfvError::from)?)
    }

    /// Any set.
    ///
    /// # Errors
    /// [`ConformanceError::Wrong`], if the reference transforms are wrong.
    pub fn new(parameters: ParameterSet) -> Result<Self, ConformanceError> {
        let context = Context::with_engines(&parameters, Arc::new(ReferenceNttProvider), Isa::Portable)?;
        let reference = Run::new(&context)?.finish()?;
        Ok(Self { parameters, reference })
    }

    /// The parameter set.
    pub fn parameters(&self) -> &ParameterSet {
        &self.parameters
    }

    /// Compares every result of `context` with the reference's.
    ///
    /// # Errors
    /// [`ConformanceError::Different`] at the first difference; if `context` is of another parameter set, or an operation
    /// fails.
    pub fn check(&self, context: &Context) -> Result<(), ConformanceError> {
        context.require_parameters("the context", self.parameters.id())?;
        let steps = Run::new(context)?.finish()?;
        assert_eq!(steps.len(), self.reference.len(), "one list of steps for all contexts");
        for (given, expected) in steps.iter().zip(&self.reference) {
            if given.words != expected.words {
                let differs = given.words.iter().zip(&expected.words).position(|(x, y)| x != y);
                let word = differs.unwrap_or(given.words.len().min(expected.words.len()));
                let set = self.parameters.name.clone();
                return Err(ConformanceError::Different { set, step: expected.name, limbs: expected.limbs, word });
            }
        }
        Ok(())
    }
}

/// All named sets with N = 64, and those of [`FULL_SETS`] in full.
///
/// # Example
/// ```no_run
/// use std::sync::Arc;
///
/// use ciphermill_bfv::conformance::{FULL_SETS, Suite};
/// use ciphermill_bfv::parameters::SET_NAMES;
/// use ciphermill_math::Isa;
/// use ciphermill_math::ntt::{CpuNttProvider, NttProvider};
///
/// let suite = Suite::new()?;
/// assert_eq!(suite.cases().len(), SET_NAMES.len() + FULL_SETS.len());
/// let provider: Arc<dyn NttProvider> = Arc::new(CpuNttProvider::new(Isa::current()));
/// suite.check(&provider, Isa::current())?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Suite {
    cases: Vec<Case>,
}

impl Suite {
    /// Runs every case on the reference transforms.
    ///
    /// # Errors
    /// As [`Case::new`].
    pub fn new() -> Result<Self, ConformanceError> {
        let small = SET_NAMES.iter().map(|name| Case::small(name));
        let full = FULL_SETS.iter().map(|name| Case::full(name));
        Ok(Self { cases: small.chain(full).collect::<Result<_, _>>()? })
    }

    /// The cases.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// Runs every case on the transforms of `provider`, all other arithmetic on `isa`.
    ///
    /// # Errors
    /// As [`Case::check`], and if the provider has no transform for a prime.
    pub fn check(&self, provider: &Arc<dyn NttProvider>, isa: Isa) -> Result<(), ConformanceError> {
        self.cases
            .iter()
            .try_for_each(|case| case.check(&Context::with_engines(case.parameters(), provider.clone(), isa)?))
    }
}

/// The result of one operation.
#[derive(Debug)]
struct Step {
    name: &'static str,
    limbs: usize,
    words: Vec<u64>,
}

/// The operations on one context.
struct Run<'a> {
    context: &'a Context,
    secret: SecretKey,
    public: PublicKey,
    /// None if the set switches no keys.
    keys: Option<SwitchKeys>,
    steps: Vec<Step>,
}

/// Keys that switch keys.
struct SwitchKeys {
    relinearization: RelinearizationKey,
    /// With the set's gadget: for a rotation, for the swap of rows, for packing.
    galois: GaloisKeys,
    /// For the rotation, with other gadgets.
    others: Vec<GaloisKeys>,
}

fn secret_seed(byte: u8) -> SecretSeed {
    SecretSeed::from_bytes([byte; 32])
}

fn seeds(byte: u8) -> KeySeeds {
    KeySeeds { mask: PublicSeed([byte; 32]), noise: secret_seed(!byte) }
}

impl SwitchKeys {
    fn generate(context: &Context, secret: &SecretKey) -> Result<Self, BfvError> {
        let (n, gadget) = (context.n(), context.parameters().gadget);
        let mut elements = vec![3, 2 * n - 1];
        elements.extend(context.packing_elements(PACKED, Unused::Leave));
        let requests: Vec<_> = elements.into_iter().map(|element| GaloisRequest { element, gadget }).collect();
        let galois = GaloisKeys::with_seeds(secret, &requests, |element| Ok(seeds(element as u8)))?;
        let gadgets = [
            Gadget::Limbs { limbs_per_digit: 1 },
            Gadget::Limbs { limbs_per_digit: context.top().min(2) },
            Gadget::Bits { base_log: DecompositionBaseLog(15) },
        ];
        let other = |gadget| GaloisKeys::with_seeds(secret, &[GaloisRequest { element: 3, gadget }], |_| Ok(seeds(90)));
        let others = gadgets.into_iter().filter(|&other| other != gadget).map(other).collect::<Result<_, _>>()?;
        let relinearization = RelinearizationKey::from_seeds(secret, &seeds(91))?;
        Ok(Self { relinearization, galois, others })
    }
}

impl<'a> Run<'a> {
    fn new(context: &'a Context) -> Result<Self, BfvError> {
        let secret = SecretKey::generate(context, &secret_seed(1));
        let public = PublicKey::from_seeds(&secret, &seeds(2));
        let switches = !context.parameters().special_moduli.is_empty();
        let keys = if switches { Some(SwitchKeys::generate(context, &secret)?) } else { None };
        Ok(Self { context, secret, public, keys, steps: Vec::new() })
    }

    fn finish(mut self) -> Result<Vec<Step>, ConformanceError> {
        self.keys();
        self.slots()?;
        for limbs in 1..=self.context.chain().len() {
            self.level(limbs)?;
        }
        Ok(self.steps)
    }

    fn record(&mut self, name: &'static str, limbs: usize, words: Vec<u64>) {
        self.steps.push(Step { name, limbs, words });
    }

    fn record_ciphertext(&mut self, name: &'static str, ciphertext: &Ciphertext) {
        self.record(name, ciphertext.limb_count(), all_words(ciphertext.parts()));
    }

    /// The keys, in the coefficients that are stored.
    fn keys(&mut self) {
        let chain = self.context.chain();
        let coefficients = |spectra: &[RnsPoly<ciphermill_lattice::rns::Spectrum>]| {
            all_words(&spectra.iter().map(|part| chain.inverse(part.clone())).collect::<Vec<_>>())
        };
        let of_key = |key: &KeySwitchKey| -> Vec<u64> { key.digits().iter().flat_map(|d| coefficients(d)).collect() };
        let mut words = vec![("the public key", coefficients(&self.public.parts))];
        if let Some(keys) = &self.keys {
            words.push(("the relinearisation key", of_key(&keys.relinearization.key)));
            let galois = std::iter::once(&keys.galois).chain(&keys.others);
            words.extend(galois.map(|keys| ("a Galois key", keys.keys.values().flat_map(of_key).collect())));
        }
        words.into_iter().for_each(|(name, words)| self.record(name, 0, words));
    }

    /// Encoding and decoding of slots, if the set has slots.
    fn slots(&mut self) -> Result<(), BfvError> {
        if !self.context.parameters().has_slots() {
            return Ok(());
        }
        let encoder = BatchEncoder::new(self.context)?;
        let plaintext = self.plaintext(3);
        let slots = encoder.decode(&plaintext);
        let encoded = encoder.encode(&self.context.decode(&plaintext))?;
        self.record("decoding of slots", 0, slots.into_iter().map(|x| x as u64).collect());
        self.record("encoding of slots", 0, encoded.coefficients);
        Ok(())
    }

    /// A uniform plaintext.
    fn plaintext(&self, byte: u8) -> Plaintext {
        let (t, mut rng) = (u128::from(self.context.t()), Csprng::from_secret(&secret_seed(byte), 0));
        let coefficient = |_| ((u128::from(rng.next_u64()) * t) >> 64) as u64;
        Plaintext { coefficients: (0..self.context.n()).map(coefficient).collect() }
    }

    /// All operations on ciphertexts of `limbs` limbs.
    fn level(&mut self, limbs: usize) -> Result<(), ConformanceError> {
        let (context, [a, b]) = (self.context, [4, 5].map(|byte| self.plaintext(byte)));
        let encrypt = |plaintext, byte: u8| {
            let mut noise = Csprng::from_secret(&secret_seed(byte), limbs as u64);
            self.secret.encrypt_from_seed(plaintext, limbs, PublicSeed([byte; 32]), &mut noise)?.expand(context)
        };
        let (x, y) = (encrypt(&a, 6)?, encrypt(&b, 7)?);
        self.record_ciphertext("encryption under the secret key", &x);
        let mut rng = Csprng::from_secret(&secret_seed(8), limbs as u64);
        let public = self.public.encrypt(&a, limbs, &mut rng)?;
        self.record_ciphertext("encryption under the public key", &public);
        let decrypted = self.decryption("decryption", &x)?;
        self.require("encryption under the secret key", limbs, decrypted == a)?;

        let sum = context.add(&x, &y)?;
        self.record_ciphertext("the sum", &sum);
        let decrypted = self.decryption("decryption of the sum", &sum)?;
        let t = context.t();
        let expected = a.coefficients.iter().zip(&b.coefficients).map(|(a, b)| (a + b) % t).collect();
        self.require("the sum", limbs, decrypted == Plaintext { coefficients: expected })?;
        self.record_ciphertext("the difference", &context.sub(&x, &y)?);
        self.record_ciphertext("the sum with a plaintext", &context.add_plain(&x, &b)?);
        self.record_ciphertext("the product with a plaintext", &context.mul_plain(&x, &b)?);
        self.record_ciphertext("the product with a monomial", &context.multiply_monomial(&x, context.n() + 5)?);
        if limbs > 1 {
            self.record_ciphertext("the modulus switch", &context.switch_modulus(&x, limbs - 1)?);
        }
        if limbs <= context.top() {
            let product = context.multiply(&x, &y)?;
            self.record_ciphertext("the product", &product);
            self.decryption("decryption of three parts", &product)?;
            self.switches(&x, &product)?;
        }
        Ok(())
    }

    /// Phase and plaintext.
    fn decryption(&mut self, name: &'static str, ciphertext: &Ciphertext) -> Result<Plaintext, BfvError> {
        let phase = self.secret.phase(ciphertext)?.words().to_vec();
        self.record(name, ciphertext.limb_count(), phase);
        let plaintext = self.secret.decrypt(ciphertext)?;
        self.record(name, ciphertext.limb_count(), plaintext.coefficients.clone());
        Ok(plaintext)
    }

    fn require(&self, step: &'static str, limbs: usize, holds: bool) -> Result<(), ConformanceError> {
        // A wrong transform of another provider is a difference, which names the operation.
        if holds || self.context.ntt().info() != ReferenceNttProvider.info() {
            return Ok(());
        }
        Err(ConformanceError::Wrong { set: self.context.parameters().name.clone(), step, limbs })
    }

    /// All operations that switch keys.
    fn switches(&mut self, x: &Ciphertext, product: &Ciphertext) -> Result<(), BfvError> {
        let Some(keys) = self.keys.take() else { return Ok(()) };
        let (context, limbs) = (self.context, x.limb_count());
        self.record_ciphertext("relinearisation", &context.relinearize(product, &keys.relinearization)?);
        for g in [3, 2 * context.n() - 1] {
            self.record_ciphertext("the automorphism", &context.automorphism(x, g, &keys.galois)?);
        }
        for keys in &keys.others {
            self.record_ciphertext("the automorphism with other digits", &context.automorphism(x, 3, keys)?);
        }
        for keys in std::iter::once(&keys.galois).chain(&keys.others) {
            let key = keys.get(3).expect("a key for the rotation");
            let digits = context.decompose(&x.parts()[1], key.gadget());
            for g in [1, 3] {
                let sums = context.key_switch_extended(&digits, key, g);
                let sums = sums.map(|sum| context.extended(limbs).inverse(sum));
                self.record("the key switch of shared digits", limbs, all_words(&sums));
            }
        }
        let lwe: Vec<_> = (0..PACKED)
            .map(|k| context.divide_lwe(&context.extract_lwe(x, 3 * k)?, PACKED.ilog2()))
            .collect::<Result<_, _>>()?;
        self.record_ciphertext("packing of LWE ciphertexts", &context.pack_lwes(&lwe, Unused::Leave, &keys.galois)?);
        self.keys = Some(keys);
        Ok(())
    }
}

/// The words of polynomials, one after another.
fn all_words<F: Form>(polynomials: &[RnsPoly<F>]) -> Vec<u64> {
    polynomials.iter().flat_map(|polynomial| polynomial.words().iter().copied()).collect()
}
