//! The second stage, its constants: computed once per key or modulus.

use std::sync::{Arc, Weak};

use ciphermill_bigint::{BaseHandle, EngineModulus, IntegerBatch, Path, TrustedEngine, TrustedModulus, limbs};

use super::{Refusal, Slot};
use crate::integers;
use crate::keys::PublicKey;
use crate::parameters::SizePolicy;

/// A modulus that an engine holds the constants of.
pub(super) struct Constants {
    /// N; n² of a key.
    pub(super) modulus: Vec<u64>,
    pub(super) prepared: TrustedModulus,
    pub(super) key: Option<KeyConstants>,
}

/// The additional constants of a key.
pub(super) struct KeyConstants {
    pub(super) public: PublicKey,
    pub(super) base: Option<BaseConstants>,
}

/// h_s and, if the engine has them, powers of it.
pub(super) struct BaseConstants {
    pub(super) value: IntegerBatch,
    pub(super) powers: Option<BaseHandle>,
}

/// What constants are found by: a key by n and h_s, a modulus by N.
#[derive(Clone, PartialEq, Eq)]
enum Name {
    Key(Vec<u64>, Option<Vec<u64>>),
    Modulus(Vec<u64>),
}

/// Slots, and the constants used last, in or out of a slot.
pub(super) struct Store {
    slots: Vec<Option<Arc<Constants>>>,
    /// Used last at the end.
    recent: Vec<(Name, Arc<Constants>)>,
    capacity: usize,
    /// All computed constants; an entry stays until a lookup finds that they were dropped.
    alive: Vec<Weak<Constants>>,
    policy: SizePolicy,
    computed: u64,
}

impl Store {
    pub(super) fn new(slots: u8, capacity: usize, policy: SizePolicy) -> Self {
        let slots = (0..slots).map(|_| None).collect();
        Self { slots, recent: Vec::new(), capacity, alive: Vec::new(), policy, computed: 0 }
    }

    /// How often constants were computed rather than found.
    pub(super) fn computed(&self) -> u64 {
        self.computed
    }

    /// Constants that are remembered.
    pub(super) fn remembered(&self) -> usize {
        self.recent.len()
    }

    /// Whether the constants, including those that jobs hold, fill the slots and the memory. If no job holds any, one
    /// more still fits: each slot has its own constants, and a slot drops its former ones when it is filled.
    pub(super) fn is_full(&mut self) -> bool {
        self.alive.retain(|constants| constants.strong_count() > 0);
        self.alive.len() >= self.slots.len() + self.capacity
    }

    pub(super) fn get(&self, slot: Slot) -> Result<Arc<Constants>, Refusal> {
        self.slots.get(usize::from(slot.0)).and_then(Clone::clone).ok_or(Refusal::SlotEmpty { slot })
    }

    /// Empties a slot, if there is one of that number.
    pub(super) fn clear(&mut self, slot: Slot) {
        if let Some(place) = self.slots.get_mut(usize::from(slot.0)) {
            *place = None;
        }
    }

    /// `n`, and `base` if given, has one row.
    pub(super) fn set_key(
        &mut self,
        engine: &TrustedEngine,
        slot: Slot,
        n: &IntegerBatch,
        base: Option<&IntegerBatch>,
    ) -> Result<(), Refusal> {
        let policy = self.policy;
        let name = Name::Key(trimmed(n.row(0)), base.map(|base| trimmed(base.row(0))));
        self.set(slot, name, || key(engine, policy, n, base))
    }

    /// `modulus` has one row.
    pub(super) fn set_modulus(
        &mut self,
        engine: &TrustedEngine,
        slot: Slot,
        modulus: &IntegerBatch,
    ) -> Result<(), Refusal> {
        let modulus = trimmed(modulus.row(0));
        self.set(slot, Name::Modulus(modulus.clone()), || {
            let prepared = engine.prepare(EngineModulus::Value(&limbs::to_uint(&modulus)))?;
            Ok(Constants { modulus, prepared, key: None })
        })
    }

    /// The slot is empty if this fails.
    fn set(
        &mut self,
        slot: Slot,
        name: Name,
        compute: impl FnOnce() -> Result<Constants, Refusal>,
    ) -> Result<(), Refusal> {
        let Some(place) = self.slots.get_mut(usize::from(slot.0)) else { return Err(Refusal::SlotEmpty { slot }) };
        *place = None;
        let constants = match self.recent.iter().position(|(known, _)| *known == name) {
            Some(at) => self.recent.remove(at).1,
            None => {
                self.computed += 1;
                let constants = Arc::new(compute()?);
                self.alive.push(Arc::downgrade(&constants));
                constants
            }
        };
        *place = Some(Arc::clone(&constants));
        self.recent.push((name, constants));
        if self.recent.len() > self.capacity {
            self.recent.remove(0);
        }
        Ok(())
    }
}

fn key(
    engine: &TrustedEngine,
    policy: SizePolicy,
    n: &IntegerBatch,
    base: Option<&IntegerBatch>,
) -> Result<Constants, Refusal> {
    let base = base.map(|base| integers::to_big(base.row(0)));
    // The path is of the checks only: what the key is used for goes to the engine.
    let public = PublicKey::from_parts(&integers::to_big(n.row(0)), base.as_ref(), policy, Path::current())
        .map_err(Refusal::Key)?;
    let prepared = engine.prepare(EngineModulus::SquareOf(&limbs::to_uint(public.n())))?;
    let modulus = public.ring().value().to_vec();
    let base = match base.and_then(|base| integers::from_big(&base, modulus.len())) {
        None => None,
        Some(words) => {
            let value = IntegerBatch::from_words(modulus.len(), words);
            let powers = prepared.prepare_base(&value, public.blinding_exponent_bits())?;
            Some(BaseConstants { value, powers })
        }
    };
    Ok(Constants { modulus, prepared, key: Some(KeyConstants { public, base }) })
}

/// Without leading zeros, but for one limb.
fn trimmed(words: &[u64]) -> Vec<u64> {
    let len = words.iter().rposition(|&word| word != 0).map_or(1, |last| last + 1);
    words[..len].to_vec()
}
