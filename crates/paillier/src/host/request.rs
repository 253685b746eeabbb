//! The requests to the host.

use std::fmt;

use ciphermill_bigint::IntegerBatch;
use ciphermill_wire::{Encoder, Kind, seal};
use zeroize::Zeroizing;

use crate::blinding::Blinding;

/// The envelope's kind of a stream of instructions.
pub const REQUEST: Kind = Kind(0x0405);
/// The version of both streams' layout.
pub const STREAM_VERSION: u16 = 1;

/// Where the host keeps a key or a modulus with its constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(pub u8);

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One instruction. Integers are unsigned; elements of a batch are worked on side by side.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let n = IntegerBatch::from_words(8, key.n().to_vec());
/// let set_key = Instruction::SetKey { slot: Slot(0), n, blinding_base: None };
/// // The sums of two ciphertexts each, under the key in slot 0.
/// let add = Instruction::Add { slot: Slot(0), left: x.to_integers(), right: x.to_integers() };
/// assert_eq!(add.operation().name(), "add");
/// let config = HostConfig { policy: SizePolicy::InsecureBench, ..HostConfig::default() };
/// let mut host = Host::new(TrustedEngine::cpu(), config)?;
/// let outcomes = host.execute(&Request { instructions: vec![set_key, add] }).outcomes;
/// let Outcome::Integers(sums) = &outcomes[1] else { panic!("{:?}", outcomes[1]) };
/// let sums = CiphertextVector::from_integers(key, sums)?;
/// assert_eq!(owner.decrypt(&sums)?.to_i64()?, [6, -10]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instruction {
    /// Puts a public key into a slot and computes its constants. Gives no integers. If the key is refused, the slot is
    /// empty afterwards: nothing later in the stream may meet the key that was there before.
    SetKey {
        /// Where to.
        slot: Slot,
        /// The modulus n: one integer.
        n: IntegerBatch,
        /// h_s for DJN blinding: one integer modulo n².
        blinding_base: Option<IntegerBatch>,
    },
    /// Puts an odd modulus into a slot and computes its constants, for the raw instructions. Otherwise as
    /// [`SetKey`](Instruction::SetKey).
    SetModulus {
        /// Where to.
        slot: Slot,
        /// The modulus N: one integer.
        modulus: IntegerBatch,
    },
    /// Encrypts integers below n: (1 + m·n) times a blinding factor, modulo n².
    Encrypt {
        /// The key.
        slot: Slot,
        /// How to blind; [`Blinding::Djn`] takes a key that brings h_s.
        blinding: Blinding,
        /// The plaintexts, below n.
        plaintexts: IntegerBatch,
    },
    /// Adds what two ciphertexts hold: their product modulo n².
    Add {
        /// The key.
        slot: Slot,
        /// Ciphertexts.
        left: IntegerBatch,
        /// As many, or one.
        right: IntegerBatch,
    },
    /// Multiplies what ciphertexts hold: their powers modulo n². A factor −k is n − k.
    ScalarMultiply {
        /// The key.
        slot: Slot,
        /// Ciphertexts.
        ciphertexts: IntegerBatch,
        /// Factors below n and 2^`bits`: as many, or one.
        scalars: IntegerBatch,
        /// The time depends on it, not on the factors.
        bits: u32,
    },
    /// Modular products, modulo the slot's modulus (n² of a key).
    ModMul {
        /// The modulus.
        slot: Slot,
        /// Factors, below the modulus.
        left: IntegerBatch,
        /// As many, or one.
        right: IntegerBatch,
    },
    /// Modular powers, modulo the slot's modulus (n² of a key).
    ModExp {
        /// The modulus.
        slot: Slot,
        /// Bases, below the modulus.
        bases: IntegerBatch,
        /// Exponents below 2^`bits`: as many, or one.
        exponents: IntegerBatch,
        /// The time depends on it, not on the exponents.
        bits: u32,
    },
}

/// The kinds of instructions, by which they are counted.
///
/// # Example
/// ```
/// use ciphermill_paillier::host::Operation;
///
/// assert_eq!(Operation::ALL.map(Operation::name)[3..5], ["add", "scalar_multiply"]);
/// assert_eq!(Operation::from_code(4), Some(Operation::Add));
/// assert_eq!(Operation::from_code(0), None, "codes start at 1");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Operation {
    /// [`Instruction::SetKey`].
    SetKey = 1,
    /// [`Instruction::SetModulus`].
    SetModulus = 2,
    /// [`Instruction::Encrypt`].
    Encrypt = 3,
    /// [`Instruction::Add`].
    Add = 4,
    /// [`Instruction::ScalarMultiply`].
    ScalarMultiply = 5,
    /// [`Instruction::ModMul`].
    ModMul = 6,
    /// [`Instruction::ModExp`].
    ModExp = 7,
}

impl Operation {
    /// Every kind, in the order of the codes on the wire, which start at 1.
    pub const ALL: [Operation; 7] = [
        Operation::SetKey,
        Operation::SetModulus,
        Operation::Encrypt,
        Operation::Add,
        Operation::ScalarMultiply,
        Operation::ModMul,
        Operation::ModExp,
    ];

    /// The kind of that code.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code).checked_sub(1)?).copied()
    }

    /// The name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Operation::SetKey => "set_key",
            Operation::SetModulus => "set_modulus",
            Operation::Encrypt => "encrypt",
            Operation::Add => "add",
            Operation::ScalarMultiply => "scalar_multiply",
            Operation::ModMul => "mod_mul",
            Operation::ModExp => "mod_exp",
        }
    }
}

impl Instruction {
    /// Its kind.
    pub fn operation(&self) -> Operation {
        match self {
            Self::SetKey { .. } => Operation::SetKey,
            Self::SetModulus { .. } => Operation::SetModulus,
            Self::Encrypt { .. } => Operation::Encrypt,
            Self::Add { .. } => Operation::Add,
            Self::ScalarMultiply { .. } => Operation::ScalarMultiply,
            Self::ModMul { .. } => Operation::ModMul,
            Self::ModExp { .. } => Operation::ModExp,
        }
    }

    /// The slot that it uses or fills.
    pub(super) fn slot(&self) -> Slot {
        match self {
            Self::SetKey { slot, .. }
            | Self::SetModulus { slot, .. }
            | Self::Encrypt { slot, .. }
            | Self::Add { slot, .. }
            | Self::ScalarMultiply { slot, .. }
            | Self::ModMul { slot, .. }
            | Self::ModExp { slot, .. } => *slot,
        }
    }

    /// Whether it fills its slot.
    pub(super) fn sets(&self) -> bool {
        matches!(self, Self::SetKey { .. } | Self::SetModulus { .. })
    }

    /// Its integers.
    fn operands(&self) -> [Option<&IntegerBatch>; 2] {
        match self {
            Self::SetKey { n, blinding_base, .. } => [Some(n), blinding_base.as_ref()],
            Self::SetModulus { modulus, .. } => [Some(modulus), None],
            Self::Encrypt { plaintexts, .. } => [Some(plaintexts), None],
            Self::Add { left, right, .. } | Self::ModMul { left, right, .. } => [Some(left), Some(right)],
            Self::ScalarMultiply { ciphertexts: bases, scalars: exponents, .. }
            | Self::ModExp { bases, exponents, .. } => [Some(bases), Some(exponents)],
        }
    }

    /// The fields on the wire, as `decode` reads them.
    fn payload(&self) -> Vec<u8> {
        // Growing would leave copies of plaintexts behind.
        let mut out =
            Encoder::with_capacity(FIELDS + self.operands().into_iter().flatten().map(put_len).sum::<usize>());
        match self {
            Self::SetKey { slot, n, blinding_base } => {
                out.u8(slot.0).u8(blinding_base.is_some().into());
                put(&mut out, n);
                blinding_base.iter().for_each(|base| put(&mut out, base));
            }
            Self::SetModulus { slot, modulus } => {
                out.u8(slot.0);
                put(&mut out, modulus);
            }
            Self::Encrypt { slot, blinding, plaintexts } => {
                out.u8(slot.0).u8(blinding_code(*blinding));
                put(&mut out, plaintexts);
            }
            Self::Add { slot, left, right } | Self::ModMul { slot, left, right } => {
                out.u8(slot.0);
                put(&mut out, left);
                put(&mut out, right);
            }
            Self::ScalarMultiply { slot, ciphertexts: bases, scalars: exponents, bits }
            | Self::ModExp { slot, bases, exponents, bits } => {
                out.u8(slot.0).u32(*bits);
                put(&mut out, bases);
                put(&mut out, exponents);
            }
        }
        out.into_vec()
    }
}

/// The blinding on the wire.
fn blinding_code(blinding: Blinding) -> u8 {
    match blinding {
        Blinding::Strict => 0,
        Blinding::Djn => 1,
    }
}

/// Bytes of the fields before an instruction's integers at most: the slot and the bits of an exponent.
const FIELDS: usize = 5;

/// Bytes that [`put`] appends.
fn put_len(batch: &IntegerBatch) -> usize {
    6 + 8 * batch.words().len()
}

/// Count, limbs per integer, limbs.
pub(super) fn put(out: &mut Encoder, batch: &IntegerBatch) {
    out.u32(batch.len() as u32).u16(batch.limbs() as u16).u64s(batch.words());
}

/// A stream of instructions, executed in order.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let n = IntegerBatch::from_words(8, key.n().to_vec());
/// let set_key = Instruction::SetKey { slot: Slot(0), n, blinding_base: None };
/// let request = Request { instructions: vec![set_key] };
/// // The host accepts the request as bytes too, and returns bytes.
/// let config = HostConfig { policy: SizePolicy::InsecureBench, ..HostConfig::default() };
/// let mut host = Host::new(TrustedEngine::cpu(), config)?;
/// let response = Response::decode(&host.serve(&request.encode())?, host.limits())?;
/// assert_eq!(response.outcomes, [Outcome::Done]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Request {
    /// The instructions.
    pub instructions: Vec<Instruction>,
}

impl Request {
    /// The stream in its envelope: the number of instructions (u32), and of each its code (u8), the bytes of its fields
    /// (u32) and its fields. An integer batch is its length (u32), the 64-bit limbs per integer (u16) and the limbs.
    /// Limbs may lead with zeros, and are sent as they are: equal numbers may make different streams.
    pub fn encode(&self) -> Vec<u8> {
        let payloads: Vec<_> = self.instructions.iter().map(|i| (i.operation(), Zeroizing::new(i.payload()))).collect();
        let bytes = 4 + payloads.iter().map(|(_, payload)| 5 + payload.len()).sum::<usize>();
        let mut body = Encoder::with_capacity(bytes);
        body.u32(payloads.len() as u32);
        for (operation, payload) in &payloads {
            body.u8(*operation as u8).u32(payload.len() as u32).bytes(payload);
        }
        seal(REQUEST, STREAM_VERSION, &Zeroizing::new(body.into_vec()))
    }
}
