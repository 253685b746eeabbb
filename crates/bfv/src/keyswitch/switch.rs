//! Sums of products of digits and keys.

use ciphermill_lattice::rns::{Coefficients, Limb, RnsPoly, Spectrum};

use super::digits::Cut;
use super::{HoistedDigits, KeySwitchKey};
use crate::context::Context;

/// Words of each row that are multiplied at a time: the rows of all digits stay in the first-level cache.
const BLOCK: usize = 256;

impl Context {
    /// Σ_j σ_g(d_j)·K_j in the extended basis of the digits' level: P times the key-switched σ_g(poly), not yet divided
    /// by P. `g` = 1 for none. The key has the digits' gadget.
    ///
    /// # Panics
    /// If the key is of another gadget or parameter set, or g is even.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let keys = GaloisKeys::generate(&secret, &[GaloisRequest { element: 3, gadget }])?;
    /// let key = keys.get(3).expect("generated");
    /// let x = secret.encrypt(&context.encode(&[5, 1])?, top, &mut rng)?;
    /// let digits = context.decompose(&x.parts()[1], key.gadget());
    /// let [_, sum] = context.key_switch_extended(&digits, key, 1);
    /// // Divided by P it is the key switch.
    /// let quotient = context.mod_down(top).apply(context.extended(top).inverse(sum));
    /// assert!(quotient == context.key_switch(&x.parts()[1], key)[1]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn key_switch_extended(&self, digits: &HoistedDigits, key: &KeySwitchKey, g: usize) -> [RnsPoly<Spectrum>; 2] {
        assert_eq!(key.gadget, digits.gadget, "the key has the gadget of the digits");
        assert_eq!(key.parameters, self.parameters().id(), "the key is of this parameter set");
        let (n, extended) = (self.n(), self.extended(digits.limbs));
        let automorphism = (g != 1).then(|| self.tables().automorphism(self.bases(), g));
        let mut moved = self.tables().scratch(if g == 1 { 0 } else { digits.digits.len() * n });
        let mut sums = [extended.zero(), extended.zero()];
        for (i, limb) in extended.limbs().iter().enumerate() {
            let in_chain = self.chain_limb(digits.limbs, i);
            let digits = digits.digits.iter().map(|digit| digit.limb(i));
            let sums = sums.each_mut().map(|sum| sum.limb_mut(i));
            match &automorphism {
                Some(limbs) => {
                    for (digit, moved) in digits.zip(moved.chunks_exact_mut(n)) {
                        limbs[in_chain].apply(digit, moved);
                    }
                    add_products(limb, &moved.chunks_exact(n).collect::<Vec<_>>(), key, in_chain, sums);
                }
                None => add_products(limb, &digits.collect::<Vec<_>>(), key, in_chain, sums),
            }
        }
        sums
    }

    /// The pair (u_0, u_1) with u_0 + u_1·s ≈ poly·s′, for a polynomial of 1 to L limbs and the key from s′.
    ///
    /// # Panics
    /// If the key is of another parameter set, or the polynomial of another N or more than L limbs.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let keys = GaloisKeys::generate(&secret, &[GaloisRequest { element: 3, gadget }])?;
    /// let key = keys.get(3).expect("generated");
    /// let x = secret.encrypt(&context.encode(&[5, 1])?, top, &mut rng)?;
    /// // c_1 of X -> X^3, switched back to the key.
    /// let basis = context.basis(top);
    /// let mut parts = context.key_switch(&basis.automorphism(&x.parts()[1], 3), key);
    /// basis.add_assign(&mut parts[0], &basis.automorphism(&x.parts()[0], 3));
    /// let rotated = Ciphertext::new(x.parameter_id(), x.key_tag(), parts.into());
    /// assert_eq!(rotated, context.automorphism(&x, 3, &keys)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn key_switch(&self, poly: &RnsPoly<Coefficients>, key: &KeySwitchKey) -> [RnsPoly<Coefficients>; 2] {
        assert_eq!(key.parameters, self.parameters().id(), "the key is of this parameter set");
        assert_eq!(poly.polynomial_size(), self.n(), "polynomials of one size");
        let (n, limbs) = (self.n(), poly.limb_count());
        let (cut, extended) = (Cut::new(self, key.gadget, limbs), self.extended(limbs));
        let mut scratch = self.tables().scratch((cut.len() + 2 * extended.len()) * n);
        let (digits, sums) = scratch.split_at_mut(cut.len() * n);
        let (sum0, sum1) = sums.split_at_mut(extended.len() * n);
        // Limb by limb, so that its digits stay in the cache.
        let sums = sum0.chunks_exact_mut(n).zip(sum1.chunks_exact_mut(n));
        for (i, (limb, (sum0, sum1))) in extended.limbs().iter().zip(sums).enumerate() {
            for (j, digit) in digits.chunks_exact_mut(n).enumerate() {
                cut.residues(poly, j, i, digit);
                limb.engine().forward_in_place(digit);
            }
            let digits: Vec<&[u64]> = digits.chunks_exact(n).collect();
            sum0.fill(0);
            sum1.fill(0);
            add_products(limb, &digits, key, self.chain_limb(limbs, i), [&mut *sum0, &mut *sum1]);
            limb.engine().inverse_in_place(sum0);
            limb.engine().inverse_in_place(sum1);
        }
        [sum0, sum1].map(|sum| {
            let (keep, drop) = sum.split_at_mut(limbs * n);
            self.mod_down(limbs).apply_words(keep, drop);
            RnsPoly::from_words(extended.polynomial_size(), keep.to_vec())
        })
    }

    /// Which limb of the chain limb `i` of the extended basis of `limbs` limbs is.
    fn chain_limb(&self, limbs: usize, i: usize) -> usize {
        if i < limbs { i } else { self.top() + i - limbs }
    }
}

/// sum_k ← sum_k + Σ_j digit_j·key_(j,k), modulo one limb, which is limb `in_chain` of the key.
fn add_products(limb: &Limb, digits: &[&[u64]], key: &KeySwitchKey, in_chain: usize, mut sums: [&mut [u64]; 2]) {
    let (n, rows) = (sums[0].len(), digits.len());
    let block = BLOCK.min(n);
    // Sums of products that are reduced once want their rows side by side.
    let mut gathered = vec![0; 2 * rows * block];
    let (lhs, rhs) = gathered.split_at_mut(rows * block);
    for start in (0..n).step_by(block) {
        for (row, digit) in lhs.chunks_exact_mut(block).zip(digits) {
            row.copy_from_slice(&digit[start..][..block]);
        }
        for (k, sum) in sums.iter_mut().enumerate() {
            for (row, key) in rhs.chunks_exact_mut(block).zip(&key.digits) {
                row.copy_from_slice(&key[k].limb(in_chain)[start..][..block]);
            }
            limb.kernels().multiply_accumulate(&mut sum[start..][..block], lhs, rhs);
        }
    }
}
