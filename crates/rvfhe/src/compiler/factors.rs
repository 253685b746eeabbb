//! The factors of butterflies and scalings: powers of a root of unity for each value, modulo a prime or in complex
//! numbers.

use std::cell::OnceCell;

use ciphermill_math::Modulus;
use ciphermill_math::fft::reference32;

use super::layout::IndexBit;
use super::{CompileError, Direction, Ring, Transform};

/// The two halves of a twiddle register for one lane: w and Shoup's companion ⌊w·2^32/m⌋, or the bits of the real and the imaginary part.
pub(crate) type Factor = (u32, u32);

/// The purpose of a factor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Role {
    /// The second operand of the butterflies that pair this bit of the index.
    Level(IndexBit),
    /// Scales a value at the end of an inverse transform.
    Scale,
}

/// All factors of one transform.
#[derive(Debug)]
pub(crate) struct Factors {
    transform: Transform,
    log_size: u32,
    /// A primitive 2N-th root of unity ψ; in a cyclic ring ψ²; unused in the complex ring.
    root: u64,
    /// Computed on first use, because in most cases the fit of a program does not depend on the values.
    values: OnceCell<Values>,
}

#[derive(Debug)]
struct Values {
    /// The powers of the root; for complex numbers the factors of blocks.
    powers: Vec<Factor>,
    /// ψ^-i/N, or 1/N, for each index; empty if results are not scaled.
    scale: Vec<Factor>,
}

/// Shoup's companion of a factor: V. Shoup's NTL; D. Harvey, "Faster arithmetic for number-theoretic transforms" (2014).
pub(crate) fn with_companion(factor: u64, modulus: Modulus) -> Factor {
    (factor as u32, modulus.shoup_quotient_32(factor))
}

impl Factors {
    pub(crate) fn new(transform: &Transform) -> Result<Self, CompileError> {
        let log_size = transform.polynomial_size.ilog2();
        let modulus = transform.modulus;
        let no_root = || CompileError::NoRoot { modulus: modulus.value(), polynomial_size: transform.polynomial_size };
        let root = match transform.ring {
            Ring::Complex => 0,
            Ring::Cyclic => modulus.root_of_unity(log_size).ok_or_else(no_root)?,
            Ring::Negacyclic => modulus.root_of_unity(log_size + 1).ok_or_else(no_root)?,
        };
        Ok(Self { transform: transform.clone(), log_size, root, values: OnceCell::new() })
    }

    fn values(&self) -> &Values {
        self.values.get_or_init(|| {
            let Transform { polynomial_size: size, modulus, ring, direction } = self.transform;
            let order = match ring {
                Ring::Complex => {
                    return Values { powers: complex_factors(size, direction), scale: Vec::new() };
                }
                Ring::Cyclic => size,
                Ring::Negacyclic => 2 * size,
            };
            let powers = successive(modulus, 1, self.root).take(order).collect::<Vec<_>>();
            let scale = if self.scales() {
                let inverse = modulus.inverse(size as u64).expect("a prime above N");
                let step = if ring == Ring::Cyclic { 1 } else { u64::from(powers[order - 1].0) };
                successive(modulus, inverse, step).take(size).collect()
            } else {
                Vec::new()
            };
            Values { powers, scale }
        })
    }

    /// Whether results are scaled at the end.
    pub(crate) fn scales(&self) -> bool {
        self.transform.ring != Ring::Complex && self.transform.direction == Direction::Inverse
    }

    /// The factor at an index. For a level, the index is that of the operand whose bit is 0.
    pub(crate) fn at(&self, role: Role, index: u32) -> Factor {
        match role {
            Role::Scale => self.values().scale[index as usize],
            Role::Level(bit) => {
                self.values().powers[match self.transform.ring {
                    Ring::Complex => self.block(bit, index),
                    Ring::Cyclic => self.exponent(bit, index) / 2,
                    Ring::Negacyclic => self.exponent(bit, index),
                } as usize]
            }
        }
    }

    /// The index bits on which a factor depends.
    pub(crate) fn depends_on(&self, role: Role) -> u32 {
        let all = (1 << self.log_size) - 1;
        match (role, self.transform.direction) {
            (Role::Scale, _) => all,
            (Role::Level(bit), Direction::Forward) => all & !((2 << bit) - 1),
            (Role::Level(bit), Direction::Inverse) => (1 << bit) - 1,
        }
    }

    /// The number of the block in the golden model's order: natural for the forward transform, with renamed places for
    /// the inverse.
    fn block(&self, bit: IndexBit, index: u32) -> u32 {
        match self.transform.direction {
            Direction::Forward => (index >> bit) >> 1,
            Direction::Inverse => {
                (index & ((1 << bit) - 1)).reverse_bits().checked_shr(32 - u32::from(bit)).unwrap_or(0)
            }
        }
    }

    /// The exponent of ψ; even in a cyclic ring.
    fn exponent(&self, bit: IndexBit, index: u32) -> u32 {
        let size = 1_u32 << self.log_size;
        match self.transform.direction {
            // A block holds the values of a polynomial modulo X^2h − ψ^e, which the butterflies split into X^h ∓
            // ψ^(e/2).
            Direction::Forward => {
                let root = if self.transform.ring == Ring::Negacyclic { size } else { 0 };
                let e = (u32::from(bit) + 1..self.log_size)
                    .rev()
                    .fold(root, |e, above| e / 2 + if index >> above & 1 == 1 { size } else { 0 });
                e / 2
            }
            // Blocks of 2^bit values, already transformed, become transforms of twice the length.
            Direction::Inverse => {
                let place = index & ((1 << bit) - 1);
                (2 * size - place * (size >> bit)) % (2 * size)
            }
        }
    }
}

fn successive(modulus: Modulus, first: u64, step: u64) -> impl Iterator<Item = Factor> {
    // Both are below 2^31, so a 64-bit product suffices. It is several times as fast as a 128-bit one.
    std::iter::successors(Some(first), move |power| Some(modulus.reduce(power * step)))
        .map(move |power| with_companion(power, modulus))
}

/// The factors of blocks, as the bits of the real and the imaginary part.
fn complex_factors(size: usize, direction: Direction) -> Vec<Factor> {
    let direction = match direction {
        Direction::Forward => reference32::Direction::Forward,
        Direction::Inverse => reference32::Direction::Inverse,
    };
    reference32::twiddles(size, direction).into_iter().map(|(re, im)| (re.to_bits(), im.to_bits())).collect()
}
