//! Workloads of an array, by name and numbers.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use ciphermill_math::Modulus;
use ciphermill_rvfhe::compiler::{CompileError, Direction, Ring, Task, Transform, compile};

use super::error::ReportError;
use crate::array::{ExperimentError, Machine};

/// 2^31 − 2^27 + 1: the largest prime below 2^31 with roots of unity of order 2^27.
pub const DEFAULT_MODULUS: u64 = 2_013_265_921;
/// The largest polynomial size that is considered. It exceeds the limit of every machine and bounds the operands.
pub const MAX_POLYNOMIAL_SIZE: usize = 1 << 20;
/// The maximum number of digits of a key switch.
const MAX_DIGITS: usize = 16;

/// The operation on each input.
///
/// # Example
/// ```
/// use ciphermill_arch::report::Operation;
///
/// assert_eq!("key-switch".parse(), Ok(Operation::KeySwitch));
/// assert!("dct".parse::<Operation>().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// The forward transform modulo a prime.
    Ntt,
    /// The inverse transform modulo a prime.
    Intt,
    /// The forward transform of complex numbers.
    Fft,
    /// The inverse transform of complex numbers, not scaled.
    Ifft,
    /// The product with a fixed polynomial.
    Product,
    /// The inner loop of a key switch.
    KeySwitch,
}

impl Operation {
    /// All operations.
    pub const ALL: [Self; 6] = [Self::Ntt, Self::Intt, Self::Fft, Self::Ifft, Self::Product, Self::KeySwitch];

    /// The name in commands and cases.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ntt => "ntt",
            Self::Intt => "intt",
            Self::Fft => "fft",
            Self::Ifft => "ifft",
            Self::Product => "product",
            Self::KeySwitch => "key-switch",
        }
    }

    /// Whether the operation uses complex numbers. Modulus and ring are then ignored.
    pub const fn is_complex(self) -> bool {
        matches!(self, Self::Fft | Self::Ifft)
    }
}

impl FromStr for Operation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names = || Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|one| one.name() == text)
            .ok_or_else(|| format!("`{text}` is unknown; use one of {}", names()))
    }
}

/// A task described by a few numbers.
///
/// # Example
/// ```
/// use ciphermill_arch::report::{Operation, Workload};
///
/// let workload = Workload { operation: Operation::Product, ..Workload::ntt(4096) };
/// assert_eq!(workload.to_string(), "product of 2^12");
/// assert!(workload.task().is_ok());
/// assert!(Workload { modulus: 0, ..workload }.task().is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Workload {
    /// The operation.
    pub operation: Operation,
    /// N: a power of two.
    pub polynomial_size: usize,
    /// m, a prime below 2^31 that is 1 modulo 2N (modulo N in the cyclic ring).
    pub modulus: u64,
    /// Whether the ring is Z_m\[X\]/(X^N − 1) instead of X^N + 1. Key switches are always negacyclic.
    pub cyclic: bool,
    /// Digits of a key switch, 1 to 16.
    pub digits: usize,
    /// The seed of the fixed polynomials.
    pub seed: u64,
}

impl Workload {
    /// The forward negacyclic transform modulo [`DEFAULT_MODULUS`].
    pub const fn ntt(polynomial_size: usize) -> Self {
        let (operation, modulus) = (Operation::Ntt, DEFAULT_MODULUS);
        Self { operation, polynomial_size, modulus, cyclic: false, digits: 3, seed: 1 }
    }

    /// The ring.
    pub const fn ring(&self) -> Ring {
        match (self.operation, self.cyclic) {
            (Operation::Fft | Operation::Ifft, _) => Ring::Complex,
            (Operation::KeySwitch, _) | (_, false) => Ring::Negacyclic,
            (_, true) => Ring::Cyclic,
        }
    }

    /// The compiler's task.
    ///
    /// # Errors
    /// If the modulus or the number of digits is out of range. The compiler checks N for each machine.
    pub fn task(&self) -> Result<Task, ReportError> {
        if self.operation == Operation::KeySwitch && !(1..=MAX_DIGITS).contains(&self.digits) {
            return Err(ReportError::Digits { given: self.digits, max: MAX_DIGITS });
        }
        let modulus = Modulus::new(self.modulus)?;
        let (polynomial_size, ring) = (self.polynomial_size, self.ring());
        let transform = |direction| Task::Transform(Transform { polynomial_size, modulus, ring, direction });
        Ok(match self.operation {
            Operation::Ntt | Operation::Fft => transform(Direction::Forward),
            Operation::Intt | Operation::Ifft => transform(Direction::Inverse),
            Operation::Product => Task::Product { polynomial_size, modulus, ring, operand: self.polynomial(0) },
            Operation::KeySwitch => {
                let pair = |digit| [self.polynomial(2 * digit), self.polynomial(2 * digit + 1)];
                Task::KeySwitch { polynomial_size, modulus, key: (0..self.digits as u64).map(pair).collect() }
            }
        })
    }

    /// A fixed polynomial: SplitMix64's finaliser of the polynomial's number and the coefficients' indices.
    pub(super) fn polynomial(&self, number: u64) -> Arc<[u32]> {
        // The compiler rejects a size beyond all machines before it reads operands.
        if self.polynomial_size > MAX_POLYNOMIAL_SIZE {
            return Arc::new([]);
        }
        let value = |i: u64| {
            let z = (self.seed ^ number << 32 ^ i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            ((z ^ (z >> 27)) >> 16) % self.modulus
        };
        (0..self.polynomial_size as u64).map(|i| value(i) as u32).collect()
    }

    /// The largest polynomial size of this task that fits a machine with `in_flight` inputs in flight.
    pub fn largest_polynomial_size(&self, machine: &Machine, in_flight: usize) -> Option<usize> {
        let target = machine.target();
        let fits = |polynomial_size: &usize| {
            let task = Self { polynomial_size: *polynomial_size, ..*self }.task();
            task.is_ok_and(|task| compile(&target, &task, in_flight).is_ok())
        };
        // In ascending order, because larger programs take longer to compile and only few sizes are too small.
        let sizes = (1..=MAX_POLYNOMIAL_SIZE.ilog2()).map(|log| 1 << log);
        sizes.skip_while(|size| !fits(size)).take_while(fits).last()
    }

    /// The report's error for a failed experiment. If the size is the cause, it includes the sizes that fit.
    pub(super) fn explain(&self, machine: &Machine, in_flight: usize, error: ExperimentError) -> ReportError {
        use CompileError as C;
        match error {
            ExperimentError::Compile(
                source @ (C::PolynomialSize { .. }
                | C::Scratchpad { .. }
                | C::DataRows { .. }
                | C::TwiddleRows { .. }
                | C::Instructions { .. }
                | C::InFlight { .. }),
            ) => ReportError::DoesNotFit { machine: machine.name.clone(), task: self.to_string(), in_flight, source },
            error => ReportError::Experiment(error),
        }
    }
}

impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, size) = (self.operation.name(), self.polynomial_size);
        if size.is_power_of_two() { write!(f, "{name} of 2^{}", size.ilog2()) } else { write!(f, "{name} of {size}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::{CIPHERMILL, PAPER};

    #[test]
    fn names_are_read() {
        for operation in Operation::ALL {
            assert_eq!(operation.name().parse(), Ok(operation));
        }
        assert!("dct".parse::<Operation>().unwrap_err().contains("ntt, intt, fft, ifft, product, key-switch"));
    }

    #[test]
    fn tasks_have_what_they_need() {
        for operation in Operation::ALL {
            let workload = Workload { operation, ..Workload::ntt(4096) };
            match workload.task().expect("a task") {
                Task::Transform(transform) => {
                    assert_eq!(transform.polynomial_size, 4096);
                    assert_eq!(transform.ring == Ring::Complex, operation.is_complex());
                }
                Task::Product { operand, .. } => {
                    assert_eq!(operand.len(), 4096);
                    assert!(operand.iter().all(|value| u64::from(*value) < DEFAULT_MODULUS));
                    assert!(operand.iter().any(|value| *value != operand[0]));
                }
                Task::KeySwitch { key, .. } => {
                    assert_eq!(key.len(), 3);
                    assert_ne!(key[0][0], key[0][1]);
                    assert_ne!(key[0][0], key[1][0]);
                }
            }
        }
    }

    #[test]
    fn the_largest_that_fits_is_found() {
        let (ours, paper) = (Machine::from_toml(CIPHERMILL).unwrap(), Machine::from_toml(PAPER).unwrap());
        assert_eq!(Workload::ntt(4096).largest_polynomial_size(&ours, 1), Some(1 << 16));
        assert_eq!(Workload::ntt(4096).largest_polynomial_size(&paper, 1), Some(1 << 16));
        assert!(
            Workload::ntt(4096)
                .largest_polynomial_size(&ours, 4)
                .is_some_and(|size| (1 << 13..1 << 16).contains(&size))
        );
        // A prime whose roots of unity suffice for 2^10 at most.
        let small = Workload { modulus: 12289, ..Workload::ntt(4096) };
        assert!(small.largest_polynomial_size(&ours, 1).is_none_or(|size| size <= 1 << 11));
        assert_eq!(Workload { modulus: 4, ..Workload::ntt(4096) }.largest_polynomial_size(&ours, 1), None);
    }

    /// With two inputs in flight, or large digits, each may need resources that only the other frees. The compiler
    /// finds an order or reports an error; the program never deadlocks.
    #[test]
    fn key_switches_end_one_way_or_the_other() {
        let ours = Machine::from_toml(CIPHERMILL).unwrap();
        for (log, in_flight) in [(12, 2), (12, 3), (13, 2), (13, 3), (14, 1), (15, 1), (16, 1)] {
            let workload = Workload { operation: Operation::KeySwitch, ..Workload::ntt(1 << log) };
            match compile(&ours.target(), &workload.task().unwrap(), in_flight) {
                Ok(compiled) => assert!(compiled.expected_cycles > 0),
                Err(error) => println!("2^{log}, {in_flight} in flight: {error}"),
            }
        }
    }

    #[test]
    fn what_is_no_workload_is_named() {
        let digits = Workload { operation: Operation::KeySwitch, digits: 17, ..Workload::ntt(4096) };
        assert!(digits.task().unwrap_err().to_string().contains("17 digits: use 1 to 16"));
        for modulus in [0, 1, u64::MAX] {
            let error = Workload { modulus, ..Workload::ntt(4096) }.task().unwrap_err();
            assert!(matches!(error, ReportError::Modulus(_)), "{error}");
        }
    }
}
