//! The compiler: from a transform, a product of polynomials or a key switch to a program for each core of an array.
//!
//! A polynomial lies in natural order in the scratchpad, consecutive vectors at consecutive cores; [`Polynomial`] says for every vector
//! what it holds. `plan` cuts the levels into phases, `graph` lists what has to be done, `schedule` orders it, `emit` writes it down.

mod emit;
mod error;
mod factors;
mod graph;
mod layout;
mod plan;
mod schedule;
mod target;
mod task;

use std::sync::Arc;

use ciphermill_math::Modulus;

pub use emit::CoreImage;
use error::Refusal;
pub use error::{CompileError, Fitting, Lack};
pub use target::{Butterfly, Target};
pub use task::compile;

/// The ring of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ring {
    /// Z_m\[X\]/(X^N − 1).
    Cyclic,
    /// Z_m\[X\]/(X^N + 1).
    Negacyclic,
    /// C\[X\]/(X^N − 1) in binary32: the FFT. A number takes two vectors, the real parts and the imaginary ones.
    Complex,
}

/// The way of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From coefficients to values.
    Forward,
    /// Back, scaled by 1/N (not in the complex ring).
    Inverse,
}

/// A transform.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transform {
    /// N: a power of two.
    pub polynomial_size: usize,
    /// m, a prime below 2^31; in the complex ring it is ignored.
    pub modulus: Modulus,
    /// The ring.
    pub ring: Ring,
    /// The way.
    pub direction: Direction,
}

/// What a program does, for each of the inputs in flight.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// A transform. Coefficients are in natural order; points of a spectrum are in the order in which the lanes have them:
    /// [`Polynomial::order`].
    Transform(Transform),
    /// The product with one polynomial, whose coefficients these are: forward, point by point, inverse, on the chip all the time.
    Product {
        /// N.
        polynomial_size: usize,
        /// m.
        modulus: Modulus,
        /// Cyclic or negacyclic.
        ring: Ring,
        /// The coefficients of the other factor, N of them below m.
        operand: Arc<[u32]>,
    },
    /// The inner loop of a key switch: digits d_0 … d_(D−1) are transformed, multiplied with a key and summed, and the two sums are
    /// transformed back: Σ d_i·k_(i,0) and Σ d_i·k_(i,1) modulo X^N + 1.
    KeySwitch {
        /// N.
        polynomial_size: usize,
        /// m.
        modulus: Modulus,
        /// The coefficients of k_(i,0) and k_(i,1), for each digit.
        key: Vec<[Arc<[u32]>; 2]>,
    },
}

/// A polynomial in the scratchpad.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polynomial {
    /// The number of its first vector, from the address in `x11` on. The imaginary parts of complex numbers follow the real ones.
    pub first_vector: u32,
    /// What is in each place, N of them, vector after vector: the number of the coefficient; in a spectrum the number of the point with
    /// its bits reversed. Point k is the value at ψ^(2k+1) in the negacyclic ring, at ω^k in the cyclic one, at e^(−2πi·k/N).
    pub order: Arc<[u32]>,
}

/// A program and what it works on.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// Each core's.
    pub cores: Vec<CoreImage>,
    /// What a run reads. In `x11` is the scratchpad address from which their vectors are counted.
    pub inputs: Vec<Polynomial>,
    /// What a run writes.
    pub outputs: Vec<Polynomial>,
    /// Vectors from a run's scratchpad address to the next one's.
    pub stride: u32,
    /// Vectors that a run stores in the scratchpad.
    pub stores: u64,
    /// Cycles of a run on the ideal core that the compiler had in mind.
    pub expected_cycles: u32,
    /// Butterflies of a run, in all lanes of all cores.
    pub butterflies: u64,
    /// How many instructions of computations a core has in a run: butterflies, products and sums of vectors.
    pub computations: u64,
}
