//! Products of ciphertexts over residues, without multi-precision integers (S. Halevi, Y. Polyakov, V. Shoup, "An
//! improved RNS variant of the BFV homomorphic encryption scheme", CT-RSA 2019).
//!
//! The parts of both operands, integers in (−Q/2, Q/2], are lifted to Q·B for a product B of auxiliary primes, multiplied
//! there as polynomials of integers, scaled by t/Q and rounded modulo B, and taken back to Q. The tables of a level choose
//! B.

use crate::ciphertext::Ciphertext;
use crate::context::Context;
use crate::error::{BfvError, require_length};

impl Context {
    /// lhs·rhs of two parts each: three parts, for [`relinearize`](Self::relinearize).
    ///
    /// # Errors
    /// As [`add`](Self::add), if an operand has three parts, or above L limbs; if the context's provider has no transform
    /// for an auxiliary prime.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[5, 1])?, top, &mut rng)?;
    /// let y = secret.encrypt(&context.encode(&[2])?, top, &mut rng)?;
    /// let product = context.multiply(&x, &y)?;
    /// assert_eq!(product.parts().len(), 3);
    /// assert_eq!(context.decode(&secret.decrypt(&product)?)[..2], [10, 2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn multiply(&self, lhs: &Ciphertext, rhs: &Ciphertext) -> Result<Ciphertext, BfvError> {
        self.require_pair(lhs, rhs)?;
        let limbs = lhs.limb_count();
        self.require_switchable("number of limbs of a factor", limbs)?;
        require_length("number of parts of the left factor", lhs.parts.len(), 2)?;
        require_length("number of parts of the right factor", rhs.parts.len(), 2)?;
        let (n, tables) = (self.n(), self.tables().multiplication(self.bases(), self.t(), limbs)?);
        let (both, own) = (&tables.both, limbs * n);
        let auxiliary = both.len() * n - own;
        let mut scratch = self.tables().scratch(4 * auxiliary + 4 * n + 3 * both.len() * n);
        let (lifted, scratch) = scratch.split_at_mut(4 * auxiliary);
        let (rows, products) = scratch.split_at_mut(4 * n);
        // In this order the two products of the middle part are rows 0 and 1 times rows 2 and 3.
        let parts = [&lhs.parts[0], &lhs.parts[1], &rhs.parts[1], &rhs.parts[0]];
        for (part, lifted) in parts.iter().zip(lifted.chunks_exact_mut(auxiliary)) {
            tables.lift.convert_words(part.words(), lifted);
        }
        // Limb by limb, so that its spectra stay in the cache.
        for (i, limb) in both.limbs().iter().enumerate() {
            let engine = limb.engine();
            for ((row, part), lifted) in rows.chunks_exact_mut(n).zip(parts).zip(lifted.chunks_exact(auxiliary)) {
                row.copy_from_slice(if i < limbs { part.limb(i) } else { &lifted[(i - limbs) * n..][..n] });
                engine.forward_in_place(row);
            }
            let (a, b) = rows.split_at(2 * n);
            let ((a0, a1), (b1, b0)) = (a.split_at(n), b.split_at(n));
            for (k, (lhs, rhs)) in [(a0, b0), (a, b), (a1, b1)].into_iter().enumerate() {
                let product = &mut products[(k * both.len() + i) * n..][..n];
                product.fill(0);
                engine.multiply_accumulate(product, lhs, rhs);
                engine.inverse_in_place(product);
            }
        }
        let parts = products.chunks_exact_mut(both.len() * n).map(|product| {
            let (q, b) = product.split_at_mut(own);
            tables.scale.apply_words(q, b);
            let mut part = self.basis(limbs).zero();
            tables.back.convert_words(b, part.words_mut());
            part
        });
        Ok(Ciphertext { parts: parts.collect(), ..*lhs })
    }
}
