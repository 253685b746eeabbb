//! Sums of products of digits and keys.

use ciphermill_lattice::rns::{Coefficients, RnsPoly, Spectrum};

use super::{HoistedDigits, KeySwitchKey};
use crate::context::Context;

impl Context {
    /// Σ_j σ_g(d_j)·K_j in the extended basis of the digits' level: P times the key-switched σ_g(poly), not yet divided
    /// by P. `g` = 1 for none. The key has the digits' gadget.
    ///
    /// # Panics
    /// If the key is of another gadget or parameter set, or g is even.
    pub fn key_switch_extended(&self, digits: &HoistedDigits, key: &KeySwitchKey, g: usize) -> [RnsPoly<Spectrum>; 2] {
        assert_eq!(key.gadget, digits.gadget, "the key has the gadget of the digits");
        assert_eq!(key.parameters, self.parameters().id(), "the key is of this parameter set");
        let extended = self.extended(digits.limbs);
        let mut out = [extended.zero(), extended.zero()];
        let automorphism = (g != 1).then(|| self.tables().automorphism(self, g));
        let mut moved = vec![0; self.n()];
        for (i, limb) in extended.limbs().iter().enumerate() {
            let in_chain = self.chain_limb(digits.limbs, i);
            let automorphism = automorphism.as_ref().map(|limbs| &limbs[in_chain]);
            for (digit, key) in digits.digits.iter().zip(&key.digits) {
                let digit = match automorphism {
                    Some(automorphism) => {
                        automorphism.apply(digit.limb(i), &mut moved);
                        &moved
                    }
                    None => digit.limb(i),
                };
                for (out, key) in out.iter_mut().zip(key) {
                    limb.engine().multiply_accumulate(out.limb_mut(i), digit, key.limb(in_chain));
                }
            }
        }
        out
    }

    /// The pair (u_0, u_1) with u_0 + u_1·s ≈ poly·s′, for a polynomial of 1 to L limbs and the key from s′.
    ///
    /// # Panics
    /// If the key is of another parameter set, or the polynomial of another N or more than L limbs.
    pub fn key_switch(&self, poly: &RnsPoly<Coefficients>, key: &KeySwitchKey) -> [RnsPoly<Coefficients>; 2] {
        let limbs = poly.limb_count();
        let switched = self.key_switch_extended(&self.decompose(poly, key.gadget), key, 1);
        switched.map(|part| self.mod_down(limbs).apply(self.extended(limbs).inverse(part)))
    }

    /// Which limb of the chain limb `i` of the extended basis of `limbs` limbs is.
    fn chain_limb(&self, limbs: usize, i: usize) -> usize {
        if i < limbs { i } else { self.top() + i - limbs }
    }
}
