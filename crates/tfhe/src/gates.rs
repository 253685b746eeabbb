//! Boolean gates: gate bootstrapping in its original use.
//!
//! A bit is placed at ±1/8 of the torus. A gate adds and subtracts its operands and a constant so that the sign of the
//! phase is its value. It then bootstraps with the test vector of the sign, which also refreshes the noise (Chillotti,
//! Gama, Georgieva, Izabachène, "TFHE: fast fully homomorphic encryption over the torus", 2020).

use ciphermill_lattice::{Csprng, Torus};

use crate::backend::Backend;
use crate::ciphertext::{Ciphertext, LweElements, TestVector, TestVectorElements};
use crate::client::ClientKey;
use crate::engine::PreparedKey;
use crate::error::TfheError;
use crate::noise;
use crate::parameters::{KeyOrder, ParameterSet, TorusWidth};
use crate::test_vector::sign_test_vector;

/// 1/8 of the torus, left-aligned in 64 bits.
const EIGHTH: u64 = 1 << 61;

/// A two-input gate.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// assert!(Gate::Nand.evaluate(true, false));
/// assert!(Gate::ALL.iter().all(|gate| gate.evaluate(true, false) == gate.evaluate(false, true)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gate {
    /// Both.
    And,
    /// Not both.
    Nand,
    /// At least one.
    Or,
    /// None.
    Nor,
    /// Exactly one.
    Xor,
    /// Both or none.
    Xnor,
}

impl Gate {
    /// Every gate.
    pub const ALL: [Gate; 6] = [Gate::And, Gate::Nand, Gate::Or, Gate::Nor, Gate::Xor, Gate::Xnor];

    /// The gate in the clear.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(Gate::Nand.evaluate(true, false));
    /// assert!(!Gate::Nand.evaluate(true, true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn evaluate(self, lhs: bool, rhs: bool) -> bool {
        match self {
            Gate::And => lhs && rhs,
            Gate::Nand => !(lhs && rhs),
            Gate::Or => lhs || rhs,
            Gate::Nor => !(lhs || rhs),
            Gate::Xor => lhs != rhs,
            Gate::Xnor => lhs == rhs,
        }
    }

    /// The phase is `factor`·(lhs + rhs) + `constant`, the constant in eighths: positive exactly where the gate is true.
    fn combination(self) -> (i32, i64) {
        match self {
            Gate::And => (1, -1),
            Gate::Nand => (-1, 1),
            Gate::Or => (1, 1),
            Gate::Nor => (-1, -1),
            Gate::Xor => (2, 2),
            Gate::Xnor => (-2, -2),
        }
    }
}

impl ClientKey {
    /// Encrypts a bit for gates.
    ///
    /// # Errors
    /// Never for an admissible parameter set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let bit = client.encrypt_bit(true, KeyOrder::Big, &mut rng)?;
    /// assert!(client.decrypt_bit(&bit)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypt_bit(&self, bit: bool, choice: KeyOrder, rng: &mut Csprng) -> Result<Ciphertext, TfheError> {
        // +1/8 or −1/8, chosen without a branch on the bit.
        let message = EIGHTH.wrapping_mul((2 * u64::from(bit)).wrapping_sub(1));
        self.encrypt_phase(message, choice, rng, None)
    }

    /// Decrypts a bit: whether the phase is positive.
    ///
    /// # Errors
    /// If the ciphertext belongs to another key set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let bits = [true, false].map(|bit| client.encrypt_bit(bit, KeyOrder::Small, &mut rng).expect("a test set"));
    /// assert!(client.decrypt_bit(&bits[0])? && !client.decrypt_bit(&bits[1])?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decrypt_bit(&self, ciphertext: &Ciphertext) -> Result<bool, TfheError> {
        Ok(self.decrypt_phase(ciphertext)? >> 63 == 0)
    }
}

/// The negated bit, exactly and without a bootstrap: the negated phase.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let bit = client.encrypt_bit(true, KeyOrder::Big, &mut rng)?;
/// assert!(!client.decrypt_bit(&gates::not(&bit))?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn not(bit: &Ciphertext) -> Ciphertext {
    let mut negated = bit.clone();
    negated.scalar_mul_assign(-1);
    negated
}

/// Evaluates a gate on two encrypted bits of one key choice; one bootstrap.
///
/// # Errors
/// If the operands do not belong to the key, or to one key choice.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
#[doc = include_str!("example_server.txt")]
/// let key = CpuEngine::new(Backend::Fft)
///     .prepare(vec![KeyPart::bootstrap(&bootstrap), KeyPart::keyswitch(&keyswitch)], policy, &mut |_, _| ())?;
/// let one = client.encrypt_bit(true, KeyOrder::Big, &mut rng)?;
/// let zero = client.encrypt_bit(false, KeyOrder::Big, &mut rng)?;
/// let both = gates::evaluate(&*key, Gate::And, &one, &zero)?;
/// assert!(!client.decrypt_bit(&both)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn evaluate(
    key: &dyn PreparedKey,
    gate: Gate,
    lhs: &Ciphertext,
    rhs: &Ciphertext,
) -> Result<Ciphertext, TfheError> {
    let parameters = key.parameters();
    let (factor, eighths) = gate.combination();
    let mut input = lhs.clone();
    input.add_assign(rhs)?;
    input.scalar_mul_assign(factor);
    input.add_constant(EIGHTH.wrapping_mul(eighths as u64));
    let (k, n) = (parameters.glwe_dimension, parameters.polynomial_size);
    let elements = match parameters.torus {
        TorusWidth::U32 => TestVectorElements::U32(sign_test_vector(k, n, u32::from_u64_msb(EIGHTH))?),
        TorusWidth::U64 => TestVectorElements::U64(sign_test_vector(k, n, EIGHTH)?),
    };
    key.bootstrap(&input, &TestVector::new(elements, None))
}

impl ParameterSet {
    /// log2 of the probability that a gate on bootstrapped bits is wrong: XOR and XNOR double their operands and keep a
    /// distance of 1/4 to the sign change, the others 1/8.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(parameters.gate_log2_p_fail(Gate::And, KeyOrder::Big) < -64.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn gate_log2_p_fail(&self, gate: Gate, choice: KeyOrder) -> f64 {
        let factor = f64::from(gate.combination().0.abs());
        let operand = noise::bootstrap_variance(self, choice, Backend::Fft).max(noise::fresh_variance(self, choice));
        let variance = noise::phase_index_variance(self, choice, 2.0 * factor * factor * operand);
        noise::log2_tails(factor / 8.0 - noise::sign_edge(self), variance)
    }
}

impl Ciphertext {
    /// Adds a constant, left-aligned in 64 bits, to the phase.
    fn add_constant(&mut self, constant: u64) {
        match self.elements_mut() {
            LweElements::U32(c) => add_to_body(c.elements_mut(), constant),
            LweElements::U64(c) => add_to_body(c.elements_mut(), constant),
        }
    }
}

fn add_to_body<T: Torus>(elements: &mut [T], constant: u64) {
    if let Some(body) = elements.last_mut() {
        *body = body.wrapping_add(T::from_u64_msb(constant));
    }
}
