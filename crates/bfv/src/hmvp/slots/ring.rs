//! Spectra in orbit order, and rotations of lifted ciphertexts.

use std::fmt;
use std::sync::{Arc, OnceLock};

use ciphermill_lattice::rns::{Coefficients, RnsPoly, Spectrum};
use ciphermill_math::products::{KeyBlock, OrbitOrder, ProductKernels, VectorBlock};

use super::keys::{SlotKeys, rotation_element};
use super::layout::SumStep;
use crate::ciphertext::Ciphertext;
use crate::context::Context;
use crate::keyswitch::KeySwitchKey;

/// The order that makes a rotation of every automorphism: see [`OrbitOrder`].
const STEP: usize = 2;

/// Tables for spectra in orbit order over the extended basis of the top level.
pub(in crate::hmvp) struct SlotRing {
    pub(in crate::hmvp) context: Context,
    limbs: Vec<SlotLimb>,
}

struct SlotLimb {
    order: OrbitOrder,
    kernels: ProductKernels,
    /// P modulo the prime, 0 for special ones.
    special: u64,
}

/// A polynomial over the extended basis as a spectrum in orbit order, limb after limb.
#[derive(Clone, Debug)]
pub(in crate::hmvp) struct OrbitSpectrum(RnsPoly<Spectrum>);

/// The limbs of an [`OrbitSpectrum`], wherever they are.
pub(in crate::hmvp) type Limbs<'a> = Vec<&'a [u64]>;

impl OrbitSpectrum {
    /// The words of limb `i`.
    pub(in crate::hmvp) fn limb(&self, i: usize) -> &[u64] {
        self.0.limb(i)
    }

    fn limbs(&self) -> Limbs<'_> {
        self.0.limbs().collect()
    }
}

/// P times a ciphertext modulo Q·P.
#[derive(Clone, Debug)]
pub(in crate::hmvp) struct Lifted(pub(in crate::hmvp) [OrbitSpectrum; 2]);

impl Lifted {
    /// The words of limb `i` of both parts.
    pub(in crate::hmvp) fn limb(&self, i: usize) -> [&[u64]; 2] {
        self.0.each_ref().map(|part| part.limb(i))
    }
}

/// The tables of the first context that asked.
#[derive(Default)]
pub(in crate::hmvp) struct RingCache(OnceLock<Arc<SlotRing>>);

impl fmt::Debug for RingCache {
    /// Without the tables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RingCache").finish_non_exhaustive()
    }
}

impl RingCache {
    /// The tables for `context`, of the one parameter set that the owner is for.
    pub(in crate::hmvp) fn get(&self, context: &Context) -> Arc<SlotRing> {
        let ring = self.0.get_or_init(|| Arc::new(SlotRing::new(context)));
        if ring.context.isa() == context.isa() { ring.clone() } else { Arc::new(SlotRing::new(context)) }
    }
}

impl SlotRing {
    fn new(context: &Context) -> Self {
        let top = context.top();
        let basis = context.extended(top);
        let limb = |(i, limb): (usize, &ciphermill_lattice::rns::Limb)| {
            let p = limb.modulus();
            let special = context.parameters().special_moduli.iter();
            SlotLimb {
                order: OrbitOrder::new(limb.engine(), STEP),
                kernels: ProductKernels::new(p, context.isa()).expect("a context has kernels for its primes"),
                special: if i < top { special.fold(1, |product, q| p.mul(product, q % p.value())) } else { 0 },
            }
        };
        let limbs = basis.limbs().iter().enumerate().map(limb).collect();
        Self { context: context.clone(), limbs }
    }

    /// Limbs of the extended basis.
    pub(in crate::hmvp) fn limb_count(&self) -> usize {
        self.limbs.len()
    }

    /// The product kernels of limb `i`.
    pub(in crate::hmvp) fn kernels(&self, i: usize) -> &ProductKernels {
        &self.limbs[i].kernels
    }

    fn zero(&self) -> OrbitSpectrum {
        OrbitSpectrum(self.context.extended(self.context.top()).zero())
    }

    /// The lifted ciphertext (0, 0).
    pub(in crate::hmvp) fn zero_lifted(&self) -> Lifted {
        Lifted([self.zero(), self.zero()])
    }

    /// To orbit order, for a spectrum of as many limbs as it has.
    fn to_orbit(&self, spectrum: &RnsPoly<Spectrum>) -> OrbitSpectrum {
        let mut out = self.zero();
        for ((limb, words), out) in self.limbs.iter().zip(spectrum.limbs()).zip(out.0.limbs_mut()) {
            limb.order.to_orbit(words, out);
        }
        out
    }

    /// Back from orbit order, to coefficients.
    fn coefficients(&self, spectrum: &[&[u64]]) -> RnsPoly<Coefficients> {
        let basis = self.context.extended(self.context.top());
        let mut out = basis.zero();
        for ((limb, words), out) in self.limbs.iter().zip(spectrum).zip(out.limbs_mut()) {
            limb.order.from_orbit(words, out);
        }
        basis.inverse(out)
    }

    /// The spectrum of a plaintext over the first `limbs` primes, its coefficients those of smallest magnitude.
    pub(in crate::hmvp) fn plaintext(&self, coefficients: &[i64], limbs: usize) -> OrbitSpectrum {
        let basis = self.context.extended(self.context.top());
        let basis = if limbs < basis.len() { self.context.basis(limbs) } else { basis };
        self.to_orbit(&basis.forward(basis.from_signed(coefficients)))
    }

    /// Ciphertext parts, not lifted: limbs of special primes are 0.
    pub(in crate::hmvp) fn ciphertext(&self, ciphertext: &Ciphertext) -> [OrbitSpectrum; 2] {
        let basis = self.context.basis(self.context.top());
        [0, 1].map(|k| self.to_orbit(&basis.forward(ciphertext.parts[k].clone())))
    }

    /// P times the parts of a ciphertext.
    pub(in crate::hmvp) fn lift(&self, mut parts: [OrbitSpectrum; 2]) -> Lifted {
        for part in &mut parts {
            for (limb, words) in self.limbs.iter().zip(part.0.limbs_mut()) {
                limb.kernels.pointwise().multiply_scalar(words, limb.special);
            }
        }
        Lifted(parts)
    }

    /// The lifted ciphertext with the limbs `parts`, further ones 0.
    pub(in crate::hmvp) fn lifted(&self, parts: &[Limbs<'_>; 2]) -> Lifted {
        let mut lifted = self.zero_lifted();
        for (part, limbs) in lifted.0.iter_mut().zip(parts) {
            part.0.limbs_mut().zip(limbs).for_each(|(out, limb)| out.copy_from_slice(limb));
        }
        lifted
    }

    /// A key in the form in which it multiplies, by limb.
    pub(super) fn key_blocks(&self, key: &KeySwitchKey) -> Vec<KeyBlock> {
        let digits: Vec<[OrbitSpectrum; 2]> =
            key.digits().iter().map(|parts| parts.each_ref().map(|part| self.to_orbit(part))).collect();
        let block = |i| {
            let rows: Vec<[&[u64]; 2]> = digits.iter().map(|parts| parts.each_ref().map(|part| part.limb(i))).collect();
            KeyBlock::pack(&rows)
        };
        (0..self.limb_count()).map(block).collect()
    }

    /// The digits of a polynomial modulo Q.
    pub(in crate::hmvp) fn digits(&self, poly: &RnsPoly<Coefficients>) -> Vec<OrbitSpectrum> {
        let hoisted = self.context.decompose(poly, self.context.parameters().gadget);
        hoisted.digits.iter().map(|digit| self.to_orbit(digit)).collect()
    }

    /// The digits of part 1 of a ciphertext that is lifted: of ⌊part/P⌉.
    fn lifted_digits(&self, part: &[&[u64]]) -> Vec<OrbitSpectrum> {
        self.digits(&self.context.mod_down(self.context.top()).apply(self.coefficients(part)))
    }

    /// Entry `steps` of vector 0 of `vectors`, the block of limb `limb`, becomes the lifted rotation by `steps` of the
    /// ciphertext with part 0 `head`, not lifted, and the `digits` of part 1.
    pub(in crate::hmvp) fn rotate_to_entry(
        &self,
        keys: &SlotKeys,
        steps: usize,
        digits: &[OrbitSpectrum],
        head: &OrbitSpectrum,
        limb: usize,
        vectors: &mut VectorBlock,
    ) {
        let SlotLimb { order, kernels, special } = &self.limbs[limb];
        let rotation = order.rotation(rotation_element(self.context.n(), steps));
        let digits: Vec<&[u64]> = digits.iter().map(|digit| digit.limb(limb)).collect();
        let head = (*special != 0).then(|| (head.limb(limb), *special));
        kernels.key_products_entry(&rotation, &digits, head, &keys.get(steps)[limb], vectors, 0, steps);
    }

    /// acc += the rotation by `steps` of the lifted ciphertext with part 0 `head` and the `digits` of part 1.
    fn add_rotated(&self, keys: &SlotKeys, steps: usize, digits: &[OrbitSpectrum], head: &[&[u64]], acc: &mut Lifted) {
        let element = rotation_element(self.context.n(), steps);
        let [acc0, acc1] = &mut acc.0;
        let parts = acc0.0.limbs_mut().zip(acc1.0.limbs_mut());
        for (i, ((limb, key), (acc0, acc1))) in self.limbs.iter().zip(keys.get(steps)).zip(parts).enumerate() {
            let rotation = limb.order.rotation(element);
            let digits: Vec<&[u64]> = digits.iter().map(|digit| digit.limb(i)).collect();
            limb.kernels.add_key_products(&rotation, &digits, Some((head[i], 1)), key, [acc0, acc1]);
        }
    }

    /// acc += the lifted ciphertext with these parts, rotated by `steps`.
    pub(in crate::hmvp) fn add_switched(
        &self,
        keys: &SlotKeys,
        steps: usize,
        [head, part]: &[Limbs<'_>; 2],
        acc: &mut Lifted,
    ) {
        if steps > 0 {
            return self.add_rotated(keys, steps, &self.lifted_digits(part), head, acc);
        }
        for (acc, term) in acc.0.iter_mut().zip([head, part]) {
            for ((limb, acc), term) in self.limbs.iter().zip(acc.0.limbs_mut()).zip(term) {
                limb.kernels.pointwise().add(acc, term);
            }
        }
    }

    /// acc += `term`.
    pub(in crate::hmvp) fn add(&self, acc: &mut Lifted, term: &Lifted) {
        let basis = self.context.extended(self.context.top());
        for (acc, term) in acc.0.iter_mut().zip(&term.0) {
            basis.add_assign(&mut acc.0, &term.0);
        }
    }

    /// Adds the rotations of each step to the ciphertext, step after step.
    pub(in crate::hmvp) fn sum_slots(&self, keys: &SlotKeys, steps: &[SumStep], mut ciphertext: Lifted) -> Lifted {
        for step in steps {
            let digits = self.lifted_digits(&ciphertext.0[1].limbs());
            let head = ciphertext.0[0].clone();
            for rotation in step.rotations() {
                self.add_rotated(keys, rotation, &digits, &head.limbs(), &mut ciphertext);
            }
        }
        ciphertext
    }

    /// The ciphertext modulo Q.
    pub(in crate::hmvp) fn finish(&self, keys: &SlotKeys, ciphertext: &Lifted) -> Ciphertext {
        let divide =
            |part: &OrbitSpectrum| self.context.mod_down(self.context.top()).apply(self.coefficients(&part.limbs()));
        let parts = ciphertext.0.iter().map(divide).collect();
        Ciphertext { parameters: self.context.parameters().id(), tag: keys.tag, parts }
    }
}
