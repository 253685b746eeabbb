//! The second stage: instructions to jobs, whose operands are checked and whose constants and randomness are at hand.

use std::sync::Arc;

use ciphermill_bigint::{Exponents, IntegerBatch, TrustedEngine, limbs};
use zeroize::Zeroizing;

use super::constants::{Constants, KeyConstants, Store};
use super::{Instruction, Limits, Refusal, Slot, randomness};
use crate::blinding::Blinding;
use crate::product;
use crate::random::Csprng;

/// Jobs that are ready for an engine.
pub(super) enum Job {
    /// Nothing: all was done in this stage.
    Nothing,
    /// Products.
    Multiply { constants: Arc<Constants>, left: IntegerBatch, right: IntegerBatch },
    /// Powers.
    Pow { constants: Arc<Constants>, bases: IntegerBatch, exponents: Exponents },
    /// 1 + m·n, each times a blinding factor.
    Encrypt { constants: Arc<Constants>, units: IntegerBatch, blinding: Factors },
}

/// What blinding factors are made of.
pub(super) enum Factors {
    /// r, and n as the exponent of all.
    Strict { bases: IntegerBatch, n: Exponents },
    /// α, exponents of h_s.
    Djn { exponents: IntegerBatch },
}

/// The bytes that the results of a stream may still take.
pub(super) struct Room {
    limit: u64,
    left: u64,
}

impl Room {
    pub(super) fn new(limit: u64) -> Self {
        Self { limit, left: limit }
    }

    /// Room for `len` integers modulo a modulus; asked for before anything of that size is made.
    fn take(&mut self, len: usize, constants: &Constants) -> Result<(), Refusal> {
        let needed = len as u64 * constants.modulus.len() as u64 * 8;
        match self.left.checked_sub(needed) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(Refusal::Results { needed, left: self.left, limit: self.limit }),
        }
    }
}

/// Plans the instruction of that index, within the limits. Keys and moduli take their slots here, so that later
/// instructions of the stream find them.
pub(super) fn plan(
    engine: &TrustedEngine,
    limits: &Limits,
    store: &mut Store,
    random: &mut Csprng,
    room: &mut Room,
    (index, instruction): (usize, &Instruction),
) -> Result<Job, Refusal> {
    if let Err((field, cause)) = limits.admit(index, instruction) {
        if instruction.sets() {
            store.clear(instruction.slot());
        }
        return Err(Refusal::Field { field, cause });
    }
    match instruction {
        Instruction::SetKey { slot, n, blinding_base } => {
            store.set_key(engine, *slot, n, blinding_base.as_ref())?;
            Ok(Job::Nothing)
        }
        Instruction::SetModulus { slot, modulus } => {
            store.set_modulus(engine, *slot, modulus)?;
            Ok(Job::Nothing)
        }
        Instruction::Encrypt { slot, blinding, plaintexts } => {
            encrypt(engine, store, random, room, *slot, *blinding, plaintexts)
        }
        Instruction::Add { slot, left, right } => {
            let constants = store.get(*slot)?;
            room.take(paired(left, right)?, &constants)?;
            let left = ciphertexts(engine, &constants, *slot, left, "left")?;
            let right = ciphertexts(engine, &constants, *slot, right, "right")?;
            Ok(Job::Multiply { constants, left, right })
        }
        Instruction::ScalarMultiply { slot, ciphertexts: given, scalars, bits } => {
            let constants = store.get(*slot)?;
            room.take(paired(given, scalars)?, &constants)?;
            let bases = ciphertexts(engine, &constants, *slot, given, "ciphertexts")?;
            let n = key(&constants, *slot)?.public.n();
            below(scalars, n, "scalars", "below n")?;
            power(constants, bases, scalars, *bits)
        }
        Instruction::ModMul { slot, left, right } => {
            let constants = store.get(*slot)?;
            room.take(paired(left, right)?, &constants)?;
            let left = below(left, &constants.modulus, "left", "below the modulus")?;
            let right = below(right, &constants.modulus, "right", "below the modulus")?;
            Ok(Job::Multiply { constants, left, right })
        }
        Instruction::ModExp { slot, bases, exponents, bits } => {
            let constants = store.get(*slot)?;
            room.take(paired(bases, exponents)?, &constants)?;
            let bases = below(bases, &constants.modulus, "bases", "below the modulus")?;
            power(constants, bases, exponents, *bits)
        }
    }
}

fn encrypt(
    engine: &TrustedEngine,
    store: &Store,
    random: &mut Csprng,
    room: &mut Room,
    slot: Slot,
    blinding: Blinding,
    plaintexts: &IntegerBatch,
) -> Result<Job, Refusal> {
    let constants = store.get(slot)?;
    let KeyConstants { public, base } = key(&constants, slot)?;
    let n = public.n();
    room.take(plaintexts.len(), &constants)?;
    let plaintexts = below(plaintexts, n, "plaintexts", "below n")?;
    let blinding = match blinding {
        Blinding::Strict => Factors::Strict {
            bases: randomness::units(engine, random, &constants, public, plaintexts.len())?,
            n: Exponents::shared(&limbs::to_uint(n), public.bits().get())?,
        },
        Blinding::Djn if base.is_none() => return Err(Refusal::NoBlindingBase { slot }),
        Blinding::Djn => Factors::Djn { exponents: randomness::exponents(random, public, plaintexts.len())? },
    };
    let units = product::generator_powers(n, &plaintexts, constants.modulus.len());
    Ok(Job::Encrypt { constants, units, blinding })
}

fn power(
    constants: Arc<Constants>,
    mut bases: IntegerBatch,
    exponents: &IntegerBatch,
    bits: u32,
) -> Result<Job, Refusal> {
    let exponents = if exponents.len() == 1 {
        Exponents::shared(&Zeroizing::new(exponents.uint(0)), bits)?
    } else {
        if bases.len() == 1 {
            bases = IntegerBatch::concat(&vec![bases; exponents.len()]);
        }
        Exponents::each(exponents.clone(), bits)?
    };
    Ok(Job::Pow { constants, bases, exponents })
}

fn key(constants: &Constants, slot: Slot) -> Result<&KeyConstants, Refusal> {
    constants.key.as_ref().ok_or(Refusal::NoKey { slot })
}

/// Numbers below a bound, at the bound's width.
fn below(
    values: &IntegerBatch,
    bound: &[u64],
    operand: &'static str,
    range: &'static str,
) -> Result<IntegerBatch, Refusal> {
    let mut out = IntegerBatch::zeros(values.len(), bound.len());
    for (element, value) in values.rows().enumerate() {
        let row = out.row_mut(element);
        let kept = value.len().min(bound.len());
        row[..kept].copy_from_slice(&value[..kept]);
        let excess = value[kept..].iter().fold(0, |any, &limb| any | limb);
        if excess != 0 || limbs::less_than(row, bound) == 0 {
            return Err(Refusal::Range { operand, element, range });
        }
    }
    Ok(out)
}

/// Ciphertexts of a key: 0 < c < n², and units.
fn ciphertexts(
    engine: &TrustedEngine,
    constants: &Constants,
    slot: Slot,
    values: &IntegerBatch,
    operand: &'static str,
) -> Result<IntegerBatch, Refusal> {
    let public = &key(constants, slot)?.public;
    let range = "in 0 < c < n²";
    let values = below(values, &constants.modulus, operand, range)?;
    if let Some(element) = values.rows().position(|row| row.iter().all(|&limb| limb == 0)) {
        return Err(Refusal::Range { operand, element, range });
    }
    if let Some(element) = randomness::not_a_unit(engine, constants, public, &values)? {
        return Err(Refusal::NotUnit { operand, element });
    }
    Ok(values)
}

/// Elements of the result.
fn paired(left: &IntegerBatch, right: &IntegerBatch) -> Result<usize, Refusal> {
    let (left, right) = (left.len(), right.len());
    if left == right || left == 1 || right == 1 { Ok(left.max(right)) } else { Err(Refusal::Length { left, right }) }
}
