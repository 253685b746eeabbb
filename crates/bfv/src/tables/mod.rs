//! Tables that only some computations need: made on first use and kept with the bases.

mod multiplication;

use std::collections::HashMap;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ciphermill_lattice::rns::{BaseConverter, ModDown, RnsBasisError};
use ciphermill_math::EngineInfo;
use ciphermill_math::automorphism::SpectrumAutomorphism;

use self::multiplication::Multiplication;
use crate::bases::Bases;

/// The most automorphisms whose tables are kept: 4N bytes for each order of spectra, so 8 MB at N = 32768.
const MAX_AUTOMORPHISMS: usize = 64;

/// The most pieces of memory that wait to be used again, as many as threads that compute at once seldom exceed.
const MAX_IDLE: usize = 4;

/// X ↦ X^g on the spectra of each limb of the chain.
pub(crate) type ChainAutomorphism = Arc<[Arc<SpectrumAutomorphism>]>;

#[derive(Debug)]
pub(crate) struct Tables {
    /// For products of ciphertexts, by limbs − 1.
    multiplication: Vec<OnceLock<Result<Multiplication, RnsBasisError>>>,
    /// For switches of the modulus, by limbs before − 1 and limbs after − 1.
    modulus_switch: Vec<Vec<OnceLock<ModDown>>>,
    /// From each digit to each limb of the extended basis, by limbs − 1 and limbs per digit − 1.
    digit_converters: Vec<Vec<OnceLock<Vec<Vec<BaseConverter>>>>>,
    automorphisms: Mutex<HashMap<usize, ChainAutomorphism>>,
    /// Memory that waits to be used again.
    idle: Mutex<Vec<Vec<u64>>>,
}

impl Tables {
    /// None yet, for `top` limbs of ciphertexts among `all`.
    pub(crate) fn new(top: usize, all: usize) -> Self {
        Self {
            multiplication: unmade(top),
            modulus_switch: (0..all).map(unmade).collect(),
            digit_converters: (1..=top).map(unmade).collect(),
            automorphisms: Mutex::default(),
            idle: Mutex::default(),
        }
    }

    /// For products at `limbs` limbs, 1 to L.
    ///
    /// # Errors
    /// If the provider of `bases` has no transform for an auxiliary prime.
    pub(crate) fn multiplication(&self, bases: &Bases, t: u64, limbs: usize) -> Result<&Multiplication, RnsBasisError> {
        let made = self.multiplication[limbs - 1].get_or_init(|| Multiplication::new(bases, t, limbs));
        made.as_ref().map_err(Clone::clone)
    }

    /// From `from` limbs to fewer, `to`.
    pub(crate) fn modulus_switch(&self, bases: &Bases, from: usize, to: usize) -> &ModDown {
        let make = || ModDown::new(bases.level(to), &bases.chain().slice(to..from));
        self.modulus_switch[from - 1][to - 1].get_or_init(make)
    }

    /// From each digit of `per_digit` limbs of a polynomial of `limbs` limbs to each limb of the extended basis.
    pub(crate) fn digit_converters(&self, bases: &Bases, limbs: usize, per_digit: usize) -> &[Vec<BaseConverter>] {
        // All of these digits are the whole polynomial.
        let per_digit = per_digit.min(limbs);
        self.digit_converters[limbs - 1][per_digit - 1].get_or_init(|| {
            let (basis, extended) = (bases.level(limbs), bases.extended(limbs));
            let converters = |first| {
                let own = basis.slice(first..limbs.min(first + per_digit));
                (0..extended.len()).map(|i| BaseConverter::new(&own, &extended.slice(i..i + 1))).collect()
            };
            (0..limbs).step_by(per_digit).map(converters).collect()
        })
    }

    /// X ↦ X^g for odd g.
    pub(crate) fn automorphism(&self, bases: &Bases, g: usize) -> ChainAutomorphism {
        // The map is whole at every point where a panic could happen, so a poisoned lock is harmless.
        let mut kept = self.automorphisms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(automorphism) = kept.get(&g) {
            return automorphism.clone();
        }
        // Engines of one description have one order: their limbs share a table.
        let mut by_engine: HashMap<EngineInfo, Arc<SpectrumAutomorphism>> = HashMap::new();
        let limbs = bases.chain().limbs().iter().map(|limb| {
            let make = || Arc::new(SpectrumAutomorphism::new(limb.engine(), g).expect("elements are odd"));
            by_engine.entry(limb.engine().info()).or_insert_with(make).clone()
        });
        let automorphism: ChainAutomorphism = limbs.collect();
        if kept.len() >= MAX_AUTOMORPHISMS {
            let any = kept.keys().next().copied();
            any.map(|any| kept.remove(&any));
        }
        kept.insert(g, automorphism.clone());
        automorphism
    }
}

/// Memory for parts of ciphertexts, which returns to its tables when it is dropped: fresh pages would cost about as
/// much time as the computation that fills them.
#[derive(Debug)]
pub(crate) struct Scratch<'a> {
    tables: &'a Tables,
    words: Vec<u64>,
    len: usize,
}

impl Tables {
    /// `len` words with content left over from their last use.
    pub(crate) fn scratch(&self, len: usize) -> Scratch<'_> {
        let used = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut words = used.unwrap_or_default();
        if words.len() < len {
            // Not grown, which would copy what nobody needs.
            words = vec![0; len];
        }
        Scratch { tables: self, words, len }
    }
}

impl Deref for Scratch<'_> {
    type Target = [u64];

    fn deref(&self) -> &[u64] {
        &self.words[..self.len]
    }
}

impl DerefMut for Scratch<'_> {
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.words[..self.len]
    }
}

impl Drop for Scratch<'_> {
    fn drop(&mut self) {
        let mut idle = self.tables.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE {
            idle.push(std::mem::take(&mut self.words));
        }
    }
}

fn unmade<T>(count: usize) -> Vec<OnceLock<T>> {
    (0..count).map(|_| OnceLock::new()).collect()
}
