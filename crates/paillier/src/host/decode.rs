//! The first stage: bytes to instructions.

use ciphermill_bigint::{IntegerBatch, MAX_MODULUS_BITS};
use ciphermill_wire::{Decoder, WireError, open};

use super::request::{REQUEST, STREAM_VERSION};
use super::response::MESSAGE_BYTES;
use super::{FieldError, Instruction, Operation, Request, Slot, StreamError};
use crate::blinding::Blinding;

/// The limits of a host's input.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_paillier::host::Limits;
/// let limits = Limits { slots: 1, ..Limits::default() };
/// let config = HostConfig { limits, policy: SizePolicy::InsecureBench, ..HostConfig::default() };
/// let mut host = Host::new(TrustedEngine::cpu(), config)?;
/// // Slots are numbered from 0 on.
/// let n = IntegerBatch::from_words(8, key.n().to_vec());
/// let set_key = Instruction::SetKey { slot: Slot(1), n, blinding_base: None };
/// let response = host.execute(&Request { instructions: vec![set_key] });
/// assert!(matches!(response.outcomes[0], Outcome::Refused { .. }));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a stream's body.
    pub body_bytes: u64,
    /// Instructions of a stream.
    pub instructions: u32,
    /// Bytes of a stream's results together; an instruction that would exceed it is refused.
    pub result_bytes: u64,
    /// Integers of an operand.
    pub elements: u32,
    /// Slots; they are numbered from 0 on.
    pub slots: u8,
    /// Bits of a modulus N; a key's n has half as many at most.
    pub modulus_bits: u32,
    /// Bits of an exponent.
    pub exponent_bits: u32,
}

impl Limits {
    /// Bytes of a response's body at most.
    pub(super) fn response_bytes(&self) -> u64 {
        // Each result has a status, a length and either the shape of its integers or a message.
        self.result_bytes.saturating_add(u64::from(self.instructions) * (MESSAGE_BYTES as u64 + 16) + 4)
    }
}

impl Default for Limits {
    /// 64 MiB in and out, 4096 instructions, 65,536 integers, 16 slots, and whatever moduli the arithmetic takes.
    fn default() -> Self {
        Self {
            body_bytes: 64 << 20,
            result_bytes: 64 << 20,
            instructions: 4096,
            elements: 1 << 16,
            slots: 16,
            modulus_bits: MAX_MODULUS_BITS,
            exponent_bits: MAX_MODULUS_BITS,
        }
    }
}

impl Request {
    /// Reads a stream in its envelope. Memory stays within a small multiple of the bytes given.
    ///
    /// # Errors
    /// [`StreamError`], which names the instruction, the field and the bound.
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self, StreamError> {
        let (_, mut body) = open(bytes, REQUEST, STREAM_VERSION..=STREAM_VERSION, limits.body_bytes)?;
        let count = body.u32()?;
        if count > limits.instructions {
            return Err(StreamError::Instructions { given: count.into(), limit: limits.instructions.into() });
        }
        let mut instructions = Vec::new();
        for index in 0..count as usize {
            let (code, payload) = frame(&mut body).map_err(|(field, cause)| located(index, field, cause))?;
            let mut fields = Fields { rest: payload, limits };
            let instruction = fields.instruction(code).and_then(|instruction| {
                let given = fields.rest.remaining() as u64;
                if given > 0 { Err(("end", FieldError::Trailing { given })) } else { Ok(instruction) }
            });
            instructions.push(instruction.map_err(|(field, cause)| located(index, field, cause))?);
        }
        body.finish()?;
        Ok(Self { instructions })
    }
}

/// An error and the field it is in.
pub(super) type Found = (&'static str, FieldError);

pub(super) fn located(index: usize, field: &'static str, cause: FieldError) -> StreamError {
    StreamError::Field { index, field, cause }
}

/// A field's own error of a read that met the end.
pub(super) fn ended(field: &'static str) -> impl Fn(WireError) -> Found {
    move |error| match error {
        WireError::Truncated { needed, available } => (field, FieldError::Truncated { needed, available }),
        // A decoder of fields gives no other.
        _ => (field, FieldError::Truncated { needed: 0, available: 0 }),
    }
}

fn frame<'a>(body: &mut Decoder<'a>) -> Result<(u8, Decoder<'a>), Found> {
    let code = body.u8().map_err(ended("code"))?;
    let length = body.u32().map_err(ended("length"))?;
    let payload = body.bytes(length as usize).map_err(ended("length"))?;
    Ok((code, Decoder::new(payload)))
}

/// The fields of one instruction.
struct Fields<'a, 'b> {
    rest: Decoder<'a>,
    limits: &'b Limits,
}

impl Fields<'_, '_> {
    fn instruction(&mut self, code: u8) -> Result<Instruction, Found> {
        let Some(operation) = Operation::from_code(code) else {
            return Err(("code", FieldError::Unknown { given: code.into() }));
        };
        let slot = self.slot()?;
        Ok(match operation {
            Operation::SetKey => {
                let based = match self.rest.u8().map_err(ended("blinding base"))? {
                    0 => false,
                    1 => true,
                    given => return Err(("blinding base", FieldError::Unknown { given: given.into() })),
                };
                let n = self.single("n", self.limits.modulus_bits / 2)?;
                let blinding_base =
                    if based { Some(self.single("blinding base", self.limits.modulus_bits)?) } else { None };
                Instruction::SetKey { slot, n, blinding_base }
            }
            Operation::SetModulus => {
                Instruction::SetModulus { slot, modulus: self.single("modulus", self.limits.modulus_bits)? }
            }
            Operation::Encrypt => {
                let blinding = match self.rest.u8().map_err(ended("blinding"))? {
                    0 => Blinding::Strict,
                    1 => Blinding::Djn,
                    given => return Err(("blinding", FieldError::Unknown { given: given.into() })),
                };
                Instruction::Encrypt { slot, blinding, plaintexts: self.batch("plaintexts")? }
            }
            Operation::Add => Instruction::Add { slot, left: self.batch("left")?, right: self.batch("right")? },
            Operation::ModMul => Instruction::ModMul { slot, left: self.batch("left")?, right: self.batch("right")? },
            Operation::ScalarMultiply => {
                let bits = self.exponent_bits()?;
                let (ciphertexts, scalars) = (self.batch("ciphertexts")?, self.batch_of("scalars", bits)?);
                Instruction::ScalarMultiply { slot, ciphertexts, scalars, bits }
            }
            Operation::ModExp => {
                let bits = self.exponent_bits()?;
                let (bases, exponents) = (self.batch("bases")?, self.batch_of("exponents", bits)?);
                Instruction::ModExp { slot, bases, exponents, bits }
            }
        })
    }

    fn slot(&mut self) -> Result<Slot, Found> {
        let given = self.rest.u8().map_err(ended("slot"))?;
        bounded("slot", given.into(), 0, u64::from(self.limits.slots).saturating_sub(1))?;
        Ok(Slot(given))
    }

    fn exponent_bits(&mut self) -> Result<u32, Found> {
        let given = self.rest.u32().map_err(ended("bits"))?;
        bounded("bits", given.into(), 1, self.limits.exponent_bits.into())?;
        Ok(given)
    }

    fn single(&mut self, field: &'static str, bits: u32) -> Result<IntegerBatch, Found> {
        read(&mut self.rest, field, 1, bits)
    }

    /// Numbers modulo a modulus.
    fn batch(&mut self, field: &'static str) -> Result<IntegerBatch, Found> {
        self.batch_of(field, self.limits.modulus_bits)
    }

    fn batch_of(&mut self, field: &'static str, bits: u32) -> Result<IntegerBatch, Found> {
        read(&mut self.rest, field, self.limits.elements, bits)
    }
}

pub(super) fn bounded(field: &'static str, given: u64, min: u64, max: u64) -> Result<(), Found> {
    if (min..=max).contains(&given) { Ok(()) } else { Err((field, FieldError::Bound { given, min, max })) }
}

/// A batch has 1 to `elements` integers in as many limbs as `bits` bits take at most.
fn shaped(field: &'static str, len: u64, limbs: u64, elements: u32, bits: u32) -> Result<(), Found> {
    bounded(field, len, 1, elements.into())?;
    bounded(field, limbs, 1, u64::from(bits.div_ceil(64)))
}

/// A batch of 1 to `elements` integers in as many limbs as `bits` bits take at most.
pub(super) fn read(
    rest: &mut Decoder<'_>,
    field: &'static str,
    elements: u32,
    bits: u32,
) -> Result<IntegerBatch, Found> {
    let (len, limbs) = (rest.u32().map_err(ended(field))?, rest.u16().map_err(ended(field))?);
    shaped(field, len.into(), limbs.into(), elements, bits)?;
    let words = rest.u64s(len as usize * usize::from(limbs)).map_err(ended(field))?;
    Ok(IntegerBatch::from_words(limbs.into(), words))
}

impl Limits {
    /// Checks an instruction that did not come in a stream, and its place among the others, by the limits of a stream.
    pub(super) fn admit(&self, index: usize, instruction: &Instruction) -> Result<(), Found> {
        bounded("instructions", index as u64 + 1, 0, self.instructions.into())?;
        let shape = |field, batch: &IntegerBatch, elements, bits| {
            shaped(field, batch.len() as u64, batch.limbs() as u64, elements, bits)
        };
        let single = |field, batch, bits| shape(field, batch, 1, bits);
        let batch = |field, batch| shape(field, batch, self.elements, self.modulus_bits);
        let exponents = |field, batch, bits: u32| {
            bounded("bits", bits.into(), 1, self.exponent_bits.into())?;
            shape(field, batch, self.elements, bits)
        };
        bounded("slot", instruction.slot().0.into(), 0, u64::from(self.slots).saturating_sub(1))?;
        match instruction {
            Instruction::SetKey { n, blinding_base, .. } => {
                single("n", n, self.modulus_bits / 2)?;
                blinding_base.iter().try_for_each(|base| single("blinding base", base, self.modulus_bits))
            }
            Instruction::SetModulus { modulus, .. } => single("modulus", modulus, self.modulus_bits),
            Instruction::Encrypt { plaintexts, .. } => batch("plaintexts", plaintexts),
            Instruction::Add { left, right, .. } | Instruction::ModMul { left, right, .. } => {
                batch("left", left)?;
                batch("right", right)
            }
            Instruction::ScalarMultiply { ciphertexts, scalars, bits, .. } => {
                batch("ciphertexts", ciphertexts)?;
                exponents("scalars", scalars, *bits)
            }
            Instruction::ModExp { bases, exponents: given, bits, .. } => {
                batch("bases", bases)?;
                exponents("exponents", given, *bits)
            }
        }
    }
}
