//! The tables of a parameter set.

use std::sync::Arc;

use ciphermill_lattice::rns::{ModDown, RnsBasis, ScaleAndRound};
use ciphermill_math::Isa;
use ciphermill_math::ntt::{CpuNttProvider, NttProvider};

use crate::error::BfvError;
use crate::evaluation::Tables;
use crate::parameters::ParameterSet;

/// A parameter set on one instruction set, with all its tables. Cloning shares them.
#[derive(Clone, Debug)]
pub struct Context {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    parameters: ParameterSet,
    /// Makes every transform of the context.
    ntt: Arc<dyn NttProvider>,
    /// q_0 … q_(L−1), p_0 … p_(K−1).
    chain: RnsBasis,
    /// The first l primes of the chain, l = 1 … L + K.
    levels: Vec<RnsBasis>,
    /// q_0 … q_(l−1) and the special primes, l = 1 … L; empty without special primes.
    extended: Vec<RnsBasis>,
    /// From `extended` to `levels`, by l.
    mod_down: Vec<ModDown>,
    /// Decryption at each level.
    scale: Vec<ScaleAndRound>,
    /// Tables that are computed at their first use.
    tables: Tables,
}

impl Context {
    /// The tables of `parameters` on the CPU, with kernels for `isa`.
    ///
    /// # Errors
    /// If the CPU lacks `isa`.
    pub fn new(parameters: &ParameterSet, isa: Isa) -> Result<Self, BfvError> {
        Self::with_engines(parameters, Arc::new(CpuNttProvider::new(isa)), isa)
    }

    /// The tables of `parameters` with the transforms of `provider`: those of the chain, of the auxiliary primes of
    /// products, and of the plaintext modulus for slots. All other arithmetic runs on the CPU with kernels for `isa`.
    /// Every result has the same bits with any provider.
    ///
    /// # Errors
    /// If the provider has no transform for a prime of the chain, or makes one of another size or prime; if the CPU lacks
    /// `isa`.
    ///
    /// # Example
    /// ```
    /// use std::sync::Arc;
    ///
    /// use ciphermill_bfv::parameters::TEST_32;
    /// use ciphermill_bfv::{Context, ParameterSet, SecurityPolicy};
    /// use ciphermill_math::Isa;
    /// use ciphermill_math::ntt::CpuNttProvider;
    ///
    /// let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    /// let provider = Arc::new(CpuNttProvider::new(Isa::Portable));
    /// let context = Context::with_engines(&ParameterSet::named(TEST_32, policy)?, provider, Isa::current())?;
    /// assert_eq!(context.ntt().info().name, "cpu-ntt");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_engines(parameters: &ParameterSet, provider: Arc<dyn NttProvider>, isa: Isa) -> Result<Self, BfvError> {
        let chain: Vec<u64> = parameters.chain().collect();
        let (top, all) = (parameters.ciphertext_moduli.len(), chain.len());
        let chain = RnsBasis::with_engines(parameters.polynomial_size, &chain, &*provider, isa)?;
        let levels: Vec<RnsBasis> = (1..=all).map(|limbs| chain.slice(0..limbs)).collect();
        let scale = levels.iter().map(|basis| ScaleAndRound::new(basis, parameters.plaintext_modulus)).collect();
        let (mut extended, mut mod_down) = (Vec::new(), Vec::new());
        if top < all {
            let special = chain.slice(top..all);
            for basis in &levels[..top] {
                extended.push(basis.join(&special));
                mod_down.push(ModDown::new(basis, &special));
            }
        }
        let inner = Inner {
            parameters: parameters.clone(),
            ntt: provider,
            chain,
            levels,
            extended,
            mod_down,
            scale,
            tables: Tables::new(top, all),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The parameter set.
    pub fn parameters(&self) -> &ParameterSet {
        &self.inner.parameters
    }

    /// The provider of every transform.
    pub fn ntt(&self) -> &dyn NttProvider {
        &*self.inner.ntt
    }

    /// The instruction set of all other arithmetic.
    pub fn isa(&self) -> Isa {
        self.inner.chain.isa()
    }

    /// N.
    pub fn n(&self) -> usize {
        self.inner.chain.polynomial_size().get()
    }

    /// t.
    pub fn t(&self) -> u64 {
        self.inner.parameters.plaintext_modulus
    }

    /// L, the limbs of a ciphertext at the top level.
    pub fn top(&self) -> usize {
        self.inner.parameters.ciphertext_moduli.len()
    }

    /// All primes, the special ones last.
    pub fn chain(&self) -> &RnsBasis {
        &self.inner.chain
    }

    /// The basis of ciphertexts with `limbs` limbs, 1 to L + K.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn basis(&self, limbs: usize) -> &RnsBasis {
        &self.inner.levels[limbs - 1]
    }

    /// The basis in which keys are switched at `limbs` limbs, 1 to L: those of the ciphertext, then the special ones.
    ///
    /// # Panics
    /// If there is no such level, or the set has no special modulus.
    pub fn extended(&self, limbs: usize) -> &RnsBasis {
        &self.inner.extended[limbs - 1]
    }

    /// From [`extended`](Self::extended) back to [`basis`](Self::basis).
    ///
    /// # Panics
    /// As [`extended`](Self::extended).
    pub fn mod_down(&self, limbs: usize) -> &ModDown {
        &self.inner.mod_down[limbs - 1]
    }

    /// What decryption at `limbs` limbs ends with.
    ///
    /// # Panics
    /// If there is no such level.
    pub fn scale_and_round(&self, limbs: usize) -> &ScaleAndRound {
        &self.inner.scale[limbs - 1]
    }

    /// The tables that are computed at their first use.
    pub(crate) fn tables(&self) -> &Tables {
        &self.inner.tables
    }
}
