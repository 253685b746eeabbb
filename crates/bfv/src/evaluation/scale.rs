//! From a plaintext to its place at the top of a ciphertext.

use ciphermill_lattice::rns::{Coefficients, RnsPoly};
use ciphermill_math::multiversion;
use num_bigint::BigInt;
use zeroize::Zeroizing;

use crate::ciphertext::Plaintext;
use crate::context::Context;

impl Context {
    /// The coefficients as ⌊Q·m/t⌉ modulo each prime of `limbs` limbs: −[Q·m]_t·t^-1, with [·]_t in (−t/2, t/2]. This,
    /// not ⌊Q/t⌋·m, keeps the error of the encoding below 1 for every t.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let message = context.scale_up(&context.encode(&[7])?, top);
    /// assert_eq!(context.scale_and_round(top).apply(&message)[0], 7);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scale_up(&self, plaintext: &Plaintext, limbs: usize) -> RnsPoly<Coefficients> {
        let (basis, t) = (self.basis(limbs), self.t());
        let q =
            basis.moduli().fold(1, |product, q| ((u128::from(product) * u128::from(q.value())) % u128::from(t)) as u64);
        let mut rest = Zeroizing::new(vec![0; self.n()]);
        let companion = ((u128::from(q) << 64) / u128::from(t)) as u64;
        centred_products(self.isa(), &plaintext.coefficients, q, companion, t, &mut rest);
        let mut out = basis.from_signed(&rest);
        let inverse = basis.inverse_residues(&-BigInt::from(t)).expect("t is coprime to the primes");
        basis.multiply_scalar(&mut out, &inverse);
        out
    }
}

multiversion! {
    /// factor·x modulo t in (−t/2, t/2], for x < t < 2^59 and `companion` = ⌊factor·2^64/t⌋ (V. Shoup's method). No branch
    /// depends on x, and there is no division.
    fn centred_products(isa, values: &[u64], factor: u64, companion: u64, t: u64, out: &mut [i64]) {
        for (out, &x) in out.iter_mut().zip(values) {
            let quotient = ((u128::from(companion) * u128::from(x)) >> 64) as u64;
            let rest = factor.wrapping_mul(x).wrapping_sub(quotient.wrapping_mul(t));
            let rest = rest.min(rest.wrapping_sub(t));
            let above = ((t / 2).wrapping_sub(rest) as i64) >> 63;
            *out = (rest as i64).wrapping_sub(t as i64 & above);
        }
    }
}
