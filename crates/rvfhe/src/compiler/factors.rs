//! The factors of butterflies and scalings: powers of a root of unity for each value, in a ring of integers modulo a prime or in complex
//! numbers.

use std::f64::consts::PI;

use ciphermill_math::Modulus;

use super::layout::IndexBit;
use super::{CompileError, Direction, Ring, Transform};

/// The two halves of a twiddle register for one lane: w and Shoup's companion ⌊w·2^32/m⌋, or the bits of the real and the imaginary part.
pub(crate) type Factor = (u32, u32);

/// What a factor multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Role {
    /// The second operand of the butterflies that pair this bit of the index.
    Level(IndexBit),
    /// The values at the end of an inverse transform.
    Scale,
}

/// All factors of one transform.
#[derive(Debug)]
pub(crate) struct Factors {
    log_size: u32,
    ring: Ring,
    direction: Direction,
    /// The powers of a primitive 2N-th root of unity ψ; in a cyclic ring of ψ².
    powers: Vec<Factor>,
    /// ψ^-i/N, or 1/N, for each index; empty where results are not scaled.
    scale: Vec<Factor>,
}

/// Shoup's companion of a factor: V. Shoup's NTL; D. Harvey, "Faster arithmetic for number-theoretic transforms" (2014).
pub(crate) fn with_companion(factor: u64, modulus: Modulus) -> Factor {
    (factor as u32, modulus.shoup_quotient_32(factor))
}

impl Factors {
    pub(crate) fn new(transform: &Transform) -> Result<Self, CompileError> {
        let log_size = transform.polynomial_size.ilog2();
        let size = transform.polynomial_size;
        let (powers, scale) = match transform.ring {
            Ring::Complex => (complex_powers(size), Vec::new()),
            Ring::Cyclic | Ring::Negacyclic => {
                let modulus = transform.modulus;
                let no_root = CompileError::NoRoot { modulus: modulus.value(), polynomial_size: size };
                let order = if transform.ring == Ring::Cyclic { log_size } else { log_size + 1 };
                let root = modulus.root_of_unity(order).ok_or(no_root)?;
                let powers = successive(modulus, 1, root).take(1 << order).collect::<Vec<_>>();
                let scale = match transform.direction {
                    Direction::Forward => Vec::new(),
                    Direction::Inverse => {
                        let inverse = modulus.inverse(size as u64).expect("a prime above N");
                        let step = if transform.ring == Ring::Cyclic { 1 } else { u64::from(powers[2 * size - 1].0) };
                        successive(modulus, inverse, step).take(size).collect()
                    }
                };
                (powers, scale)
            }
        };
        Ok(Self { log_size, ring: transform.ring, direction: transform.direction, powers, scale })
    }

    /// Whether results are multiplied at the end.
    pub(crate) fn scales(&self) -> bool {
        !self.scale.is_empty()
    }

    /// The factor at an index: for a level that of the operand whose bit is not set.
    pub(crate) fn at(&self, role: Role, index: u32) -> Factor {
        match role {
            Role::Scale => self.scale[index as usize],
            Role::Level(bit) => self.powers[self.exponent(bit, index) as usize >> u32::from(self.ring == Ring::Cyclic)],
        }
    }

    /// The bits of the index on which the factor of a level depends.
    pub(crate) fn depends_on(&self, role: Role) -> u32 {
        let all = (1 << self.log_size) - 1;
        match (role, self.direction) {
            (Role::Scale, _) => all,
            (Role::Level(bit), Direction::Forward) => all & !((2 << bit) - 1),
            (Role::Level(bit), Direction::Inverse) => (1 << bit) - 1,
        }
    }

    /// The power of ψ; in a cyclic ring it is even.
    fn exponent(&self, bit: IndexBit, index: u32) -> u32 {
        let size = 1_u32 << self.log_size;
        match self.direction {
            // The values of a block are those of a polynomial modulo X^2h − ψ^e, which the butterflies split into X^h ∓ ψ^(e/2).
            Direction::Forward => {
                let root = if self.ring == Ring::Negacyclic { size } else { 0 };
                let e = (u32::from(bit) + 1..self.log_size)
                    .rev()
                    .fold(root, |e, above| e / 2 + if index >> above & 1 == 1 { size } else { 0 });
                e / 2
            }
            // Blocks of 2^bit values, their transforms, become transforms of twice the length.
            Direction::Inverse => {
                let place = index & ((1 << bit) - 1);
                (2 * size - place * (size >> bit)) % (2 * size)
            }
        }
    }
}

fn successive(modulus: Modulus, first: u64, step: u64) -> impl Iterator<Item = Factor> {
    std::iter::successors(Some(first), move |power| Some(modulus.mul(*power, step)))
        .map(move |power| with_companion(power, modulus))
}

/// e^(−πi·e/N) for e below 2N, each part rounded from f64.
fn complex_powers(size: usize) -> Vec<Factor> {
    (0..2 * size)
        .map(|e| {
            let (sin, cos) = (-PI * e as f64 / size as f64).sin_cos();
            ((cos as f32).to_bits(), (sin as f32).to_bits())
        })
        .collect()
}
