//! GMP, through `rug`.

use std::ffi::CStr;
use std::sync::LazyLock;

use rug::integer::Order;
use rug::{Assign, Integer};

use crate::{Operands, Work};

/// Of GMP.
pub const LICENCE: &str = "LGPL-3.0-or-later OR GPL-2.0-or-later";

/// Of the GMP that is linked, and of rug.
pub fn version() -> &'static str {
    static VERSION: LazyLock<String> = LazyLock::new(|| {
        // SAFETY: GMP's constant string, terminated by a zero.
        let gmp = unsafe { CStr::from_ptr(gmp_mpfr_sys::gmp::version) };
        format!("{}, rug {}", gmp.to_string_lossy(), env!("VERSION_RUG"))
    });
    &VERSION
}

pub(crate) fn integers(limbs: usize, words: &[u64]) -> Vec<Integer> {
    words.chunks_exact(limbs).map(|row| Integer::from_digits(row, Order::Lsf)).collect()
}

pub(crate) fn words(limbs: usize, integers: &[Integer]) -> Vec<u64> {
    let mut words = vec![0; limbs * integers.len()];
    for (row, integer) in words.chunks_exact_mut(limbs).zip(integers) {
        integer.write_digits(row, Order::Lsf);
    }
    words
}

/// What is done with each pair of operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Function {
    /// `mpz_powm`.
    Pow,
    /// `mpz_powm_sec`, of constant time.
    PowSecure,
    /// `mpz_mul` and `mpz_mod`.
    Multiply,
}

/// One function of GMP on prepared operands.
pub struct Gmp {
    function: Function,
    modulus: Integer,
    bases: Vec<Integer>,
    others: Vec<Integer>,
    out: Vec<Integer>,
    product: Integer,
    limbs: usize,
}

impl Gmp {
    /// Prepares the operands.
    pub fn new(function: Function, operands: &Operands<'_>) -> Self {
        let limbs = operands.limbs();
        Self {
            function,
            modulus: Integer::from_digits(operands.modulus, Order::Lsf),
            bases: integers(limbs, operands.bases),
            others: integers(limbs, operands.others),
            out: vec![Integer::new(); operands.count()],
            product: Integer::new(),
            limbs,
        }
    }
}

impl Work for Gmp {
    fn run(&mut self) {
        for ((out, base), other) in self.out.iter_mut().zip(&self.bases).zip(&self.others) {
            match self.function {
                // An exponent that is not negative has a result.
                Function::Pow => out.assign(base.pow_mod_ref(other, &self.modulus).expect("a power")),
                Function::PowSecure => out.assign(base.secure_pow_mod_ref(other, &self.modulus)),
                Function::Multiply => {
                    self.product.assign(base * other);
                    out.assign(&self.product % &self.modulus);
                }
            }
        }
    }

    fn results(&mut self) -> Vec<u64> {
        words(self.limbs, &self.out)
    }
}

/// GMP as the oracle of the comparisons.
pub fn expected(function: Function, operands: &Operands<'_>) -> Vec<u64> {
    let mut gmp = Gmp::new(function, operands);
    gmp.run();
    gmp.results()
}
