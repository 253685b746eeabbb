//! The compiler: turns a transform, a product of polynomials or a key switch into a program for each core of an array.
//!
//! Polynomials are in the scratchpad in natural order, with consecutive vectors at consecutive cores; [`Polynomial`]
//! lists the content of every vector. `plan` divides the levels into phases, `graph` lists the operations and their
//! dependencies, `schedule` orders them, and `emit` generates the instructions.
//!
//! The examples share a hidden start: the `target` of 16 cores with 32 lanes each, the prime `modulus` 2^31 − 2^27 + 1, the
//! `ring` modulo X^N + 1, and the forward `transform` of 1,024 values there.

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
    /// C\[X\]/(X^N − 1) in binary32: the FFT. A number occupies two vectors, one for real and one for imaginary parts.
    Complex,
}

/// The direction of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From coefficients to values.
    Forward,
    /// From values to coefficients, scaled by 1/N (not in the complex ring).
    Inverse,
}

/// A transform.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let inverse = Transform { polynomial_size: 4096, direction: Direction::Inverse, ..transform };
/// let compiled = compile(&target, &Task::Transform(inverse), 1)?;
/// assert_eq!(compiled.butterflies, 4096 / 2 * 12);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transform {
    /// N: a power of two.
    pub polynomial_size: usize,
    /// m, a prime below 2^31; ignored in the complex ring.
    pub modulus: Modulus,
    /// The ring.
    pub ring: Ring,
    /// The direction.
    pub direction: Direction,
}

/// The task for each of the inputs in flight.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let operand: Arc<[u32]> = (0..4096).collect();
/// let product = Task::Product { polynomial_size: 4096, modulus, ring, operand: operand.clone() };
/// assert_eq!(compile(&target, &product, 1)?.outputs.len(), 1);
/// // The key of one digit is two polynomials.
/// let key = vec![[operand.clone(), operand]];
/// let switch = Task::KeySwitch { polynomial_size: 4096, modulus, key };
/// assert_eq!(compile(&target, &switch, 1)?.outputs.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// A transform. Coefficients are in natural order. Points of a spectrum are in the order of the lanes:
    /// [`Polynomial::order`].
    Transform(Transform),
    /// The product with a fixed polynomial: forward transform, pointwise product, inverse transform, all on the chip.
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
    /// The inner loop of a key switch. Digits d_0 … d_(D−1) are transformed, multiplied with a key and summed, and the
    /// two sums are transformed back: Σ d_i·k_(i,0) and Σ d_i·k_(i,1) modulo X^N + 1.
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
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let compiled = compile(&target, &Task::Transform(transform), 2)?;
/// let [first, second] = &compiled.inputs[..] else { panic!("two in flight have two inputs") };
/// assert!(first.order.iter().copied().eq(0..1024));
/// // 1,024 values are 32 vectors of 32 lanes.
/// assert_eq!(second.first_vector - first.first_vector, 32);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Polynomial {
    /// The index of its first vector, relative to the address in `x11`. The imaginary parts of complex numbers follow
    /// the real ones.
    pub first_vector: u32,
    /// The content of each of the N places, vector after vector: the index of the coefficient, or in a spectrum the
    /// bit-reversed index of the point. Point k is the value at ψ^(2k+1) in the negacyclic ring, at ω^k in the cyclic
    /// one, at e^(−2πi·k/N) in the complex one.
    pub order: Arc<[u32]>,
}

/// A compiled task: the programs, inputs and outputs.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let compiled = compile(&target, &Task::Transform(transform), 1)?;
/// assert_eq!(compiled.stores, 32);
/// assert_eq!(compiled.butterflies, 1024 / 2 * 10);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The program and twiddle memory of each core.
    pub cores: Vec<CoreImage>,
    /// The inputs of a run. Their vectors are relative to the scratchpad address in `x11`.
    pub inputs: Vec<Polynomial>,
    /// The outputs of a run.
    pub outputs: Vec<Polynomial>,
    /// Vectors between the scratchpad addresses of consecutive runs.
    pub stride: u32,
    /// Vectors stored in the scratchpad by a run.
    pub stores: u64,
    /// Cycles of a run on the compiler's ideal core.
    pub expected_cycles: u32,
    /// Butterflies of a run, in all lanes of all cores.
    pub butterflies: u64,
    /// Vector computations of a core in a run: butterflies, products and sums.
    pub computations: u64,
}
