//! The tables of a parameter set.

use std::sync::Arc;

use ciphermill_lattice::rns::{ModDown, RnsBasis, ScaleAndRound};
use ciphermill_math::ntt::{CpuNttProvider, NttProvider};
use ciphermill_math::{EngineInfo, Isa};

use crate::bases::Bases;
use crate::error::BfvError;
use crate::parameters::ParameterSet;
use crate::tables::Tables;

/// A parameter set on one instruction set, with all its tables. Cloning shares them.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let x = secret.encrypt(&context.encode(&[3, -1])?, context.top(), &mut rng)?;
/// let y = context.add(&x, &x)?;
/// assert_eq!(context.decode(&secret.decrypt(&y)?)[..3], [6, -2, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Context {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    parameters: ParameterSet,
    bases: Bases,
    /// From the extended basis of each level to the level, l = 1 … L; empty without special primes.
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
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let set = ParameterSet::named(TEST_32, policy)?;
    /// let context = Context::new(&set, Isa::Portable)?;
    /// assert_eq!((context.n(), context.t(), context.top()), (32, 12289, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(parameters: &ParameterSet, isa: Isa) -> Result<Self, BfvError> {
        Self::with_engines(parameters, Arc::new(CpuNttProvider::new(isa)), isa)
    }

    /// The tables of `parameters` with the transforms of `provider`: those of the chain, of the auxiliary primes of
    /// products, and of the plaintext modulus for slots. All other arithmetic runs on the CPU with kernels for `isa`.
    /// Every result has the same bits with any provider.
    ///
    /// A context transforms secret keys, plaintexts and errors as well as ciphertexts. It therefore refuses a provider on
    /// another machine. A simulated or co-simulated provider may record traces: use one with keys that protect nothing.
    ///
    /// # Errors
    /// [`BfvError::RemoteEngine`]; if the provider has no transform for a prime of the chain, or makes one of another size
    /// or prime; if the CPU lacks `isa`.
    ///
    /// # Example
    /// ```
    /// use std::sync::Arc;
    ///
    /// use ciphermill_bfv::parameters::TEST_32;
    /// use ciphermill_bfv::{Context, ParameterSet, SecurityPolicy};
    /// use ciphermill_math::{EngineInfo, Isa};
    /// use ciphermill_math::ntt::CpuNttProvider;
    ///
    /// let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    /// let provider = Arc::new(CpuNttProvider::new(Isa::Portable));
    /// let context = Context::with_engines(&ParameterSet::named(TEST_32, policy)?, provider, Isa::current())?;
    /// assert_eq!(context.ntt().info().name, "cpu-ntt");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_engines(parameters: &ParameterSet, provider: Arc<dyn NttProvider>, isa: Isa) -> Result<Self, BfvError> {
        let info = provider.info();
        if info.kind.is_remote() {
            return Err(BfvError::RemoteEngine { engine: info.name.into_owned() });
        }
        let bases = Bases::new(parameters, provider, isa)?;
        let (top, all) = (parameters.ciphertext_moduli.len(), bases.chain().len());
        let scale =
            (1..=all).map(|limbs| ScaleAndRound::new(bases.level(limbs), parameters.plaintext_modulus)).collect();
        let mut mod_down = Vec::new();
        if top < all {
            let special = bases.chain().slice(top..all);
            mod_down.extend((1..=top).map(|limbs| ModDown::new(bases.level(limbs), &special)));
        }
        let (parameters, tables) = (parameters.clone(), Tables::new(top, all));
        Ok(Self { inner: Arc::new(Inner { parameters, bases, mod_down, scale, tables }) })
    }

    /// The parameter set.
    pub fn parameters(&self) -> &ParameterSet {
        &self.inner.parameters
    }

    /// The provider of every transform.
    pub fn ntt(&self) -> &dyn NttProvider {
        self.inner.bases.ntt()
    }

    /// The instruction set of all other arithmetic.
    pub fn isa(&self) -> Isa {
        self.inner.bases.isa()
    }

    /// Whether spectra and tables of `other`, a context of the same parameter set, serve this one: all kernels have the
    /// same instruction set, and all transforms the same description.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let portable = Context::new(context.parameters(), Isa::Portable)?;
    /// assert!(context.same_engines(&context.clone()));
    /// assert_eq!(context.same_engines(&portable), context.isa() == Isa::Portable);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn same_engines(&self, other: &Context) -> bool {
        let infos = |context: &Context| -> Vec<EngineInfo> {
            context.chain().limbs().iter().map(|limb| limb.engine().info()).collect()
        };
        Arc::ptr_eq(&self.inner, &other.inner)
            || self.isa() == other.isa() && self.ntt().info() == other.ntt().info() && infos(self) == infos(other)
    }

    /// N.
    pub fn n(&self) -> usize {
        self.inner.bases.n()
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
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(context.chain().len(), 4);
    /// assert_eq!(context.extended(1).len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn chain(&self) -> &RnsBasis {
        self.inner.bases.chain()
    }

    /// The basis of ciphertexts with `limbs` limbs, 1 to L + K.
    ///
    /// # Panics
    /// If there is no such level.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// // The limbs of a ciphertext at level 2 are modulo the first two primes.
    /// let x = secret.encrypt(&context.encode(&[1])?, 2, &mut rng)?;
    /// assert_eq!(context.basis(2).moduli().len(), x.parts()[0].limb_count());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn basis(&self, limbs: usize) -> &RnsBasis {
        self.inner.bases.level(limbs)
    }

    /// The basis in which keys are switched at `limbs` limbs, 1 to L: those of the ciphertext, then the special ones.
    ///
    /// # Panics
    /// If there is no such level, or the set has no special modulus.
    pub fn extended(&self, limbs: usize) -> &RnsBasis {
        self.inner.bases.extended(limbs)
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

    /// All bases of the set.
    pub(crate) fn bases(&self) -> &Bases {
        &self.inner.bases
    }

    /// The tables that are computed at their first use.
    pub(crate) fn tables(&self) -> &Tables {
        &self.inner.tables
    }
}
