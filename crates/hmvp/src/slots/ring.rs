//! Spectra in orbit order, and rotations of lifted ciphertexts.

use std::fmt;
use std::sync::{Arc, OnceLock};

use ciphermill_lattice::rns::RnsPoly;
use ciphermill_math::ntt::NttEngine;
use ciphermill_math::products::{KeyBlock, OrbitOrder, ProductKernels, SumBlock, VectorBlock};

use super::keys::{SlotKeys, rotation_element};
use super::layout::SumStep;
use crate::row_packed::digits::Digits;
use crate::row_packed::recycle::{Lease, Recycler};
use ciphermill_bfv::ciphertext::Ciphertext;
use ciphermill_bfv::context::Context;
use ciphermill_bfv::keyswitch::KeySwitchKey;

/// The order that makes a rotation of every automorphism: see [`OrbitOrder`].
const STEP: usize = 2;

/// How many unused objects of a kind are kept.
const MAX_IDLE: usize = 16;

/// Tables for spectra in orbit order over the extended basis of the top level, which is the whole chain.
pub(crate) struct SlotRing {
    pub(crate) context: Context,
    limbs: Vec<SlotLimb>,
    digits: Digits,
    /// Words of polynomials, and of all digits of polynomials.
    words: Arc<Recycler<Vec<u64>>>,
    signed: Arc<Recycler<Vec<i64>>>,
    pub(super) columns: Arc<Recycler<VectorBlock>>,
    pub(super) sums: Arc<Recycler<SumBlock>>,
}

struct SlotLimb {
    order: OrbitOrder,
    kernels: ProductKernels,
    /// P modulo the prime, 0 for special ones.
    special: u64,
}

/// Spectra over the chain in orbit order, limb after limb.
#[derive(Debug)]
pub(crate) struct OrbitSpectra {
    words: Lease<Vec<u64>>,
    /// N.
    size: usize,
}

/// The limbs of a spectrum, wherever they are.
pub(crate) type Limbs<'a> = Vec<&'a [u64]>;

impl OrbitSpectra {
    /// The words of limb `i`, counted on through all spectra.
    pub(crate) fn limb(&self, i: usize) -> &[u64] {
        &self.words[i * self.size..][..self.size]
    }

    fn limbs(&self) -> Limbs<'_> {
        self.words.chunks_exact(self.size).collect()
    }
}

/// P times a ciphertext modulo Q·P.
#[derive(Debug)]
pub(crate) struct Lifted([OrbitSpectra; 2]);

impl Lifted {
    /// The words of limb `i` of both parts.
    pub(crate) fn limb(&self, i: usize) -> [&[u64]; 2] {
        self.0.each_ref().map(|part| part.limb(i))
    }
}

/// The tables of the first context that asked.
#[derive(Default)]
pub(crate) struct RingCache(OnceLock<Arc<SlotRing>>);

impl fmt::Debug for RingCache {
    /// Without the tables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RingCache").finish_non_exhaustive()
    }
}

impl RingCache {
    /// The tables for `context`, of the one parameter set that the owner is for.
    pub(crate) fn get(&self, context: &Context) -> Arc<SlotRing> {
        let ring = self.0.get_or_init(|| Arc::new(SlotRing::new(context)));
        if ring.context.same_engines(context) { ring.clone() } else { Arc::new(SlotRing::new(context)) }
    }
}

impl SlotRing {
    fn new(context: &Context) -> Self {
        let top = context.top();
        let limb = |(i, limb): (usize, &ciphermill_lattice::rns::Limb)| {
            let p = limb.modulus();
            let special = context.parameters().special_moduli.iter();
            SlotLimb {
                order: OrbitOrder::new(limb.engine(), STEP),
                kernels: ProductKernels::new(p, context.isa()).expect("a context has kernels for its primes"),
                special: if i < top { special.fold(1, |product, q| p.mul(product, q % p.value())) } else { 0 },
            }
        };
        Self {
            context: context.clone(),
            limbs: context.chain().limbs().iter().enumerate().map(limb).collect(),
            digits: Digits::new(context, context.parameters().gadget).expect("a set's gadget fits it"),
            words: Recycler::new(MAX_IDLE),
            signed: Recycler::new(MAX_IDLE),
            columns: Recycler::new(MAX_IDLE),
            sums: Recycler::new(MAX_IDLE),
        }
    }

    /// Limbs of the chain.
    pub(crate) fn limb_count(&self) -> usize {
        self.limbs.len()
    }

    /// The product kernels of limb `i`.
    pub(crate) fn kernels(&self, i: usize) -> &ProductKernels {
        &self.limbs[i].kernels
    }

    fn engine(&self, i: usize) -> &dyn NttEngine {
        self.context.chain().limbs()[i].engine()
    }

    /// Room for `count` polynomials, with anything in it.
    fn room(&self, count: usize) -> OrbitSpectra {
        let (size, limbs) = (self.context.n(), self.limb_count());
        let len = count * limbs * size;
        OrbitSpectra { words: self.words.lease(|words| words.len() == len, || vec![0; len]), size }
    }

    /// The lifted ciphertext with the limbs `parts`, further ones 0.
    pub(crate) fn lifted(&self, parts: &[Limbs<'_>; 2]) -> Lifted {
        Lifted(parts.each_ref().map(|limbs| {
            let mut part = self.room(1);
            let (filled, rest) = part.words.split_at_mut(limbs.len() * self.context.n());
            filled.chunks_exact_mut(self.context.n()).zip(limbs).for_each(|(out, limb)| out.copy_from_slice(limb));
            rest.fill(0);
            part
        }))
    }

    /// The lifted ciphertext (0, 0).
    pub(crate) fn zero(&self) -> Lifted {
        self.lifted(&[Vec::new(), Vec::new()])
    }

    /// The spectrum of a plaintext over the first `limbs` primes, its coefficients those of smallest magnitude; other limbs
    /// hold anything.
    pub(crate) fn plaintext(&self, coefficients: &[i64], limbs: usize) -> OrbitSpectra {
        let basis = self.context.basis(limbs);
        let spectrum = basis.forward(basis.from_signed(coefficients));
        let mut out = self.room(1);
        for ((limb, words), out) in
            self.limbs.iter().zip(spectrum.limbs()).zip(out.words.chunks_exact_mut(self.context.n()))
        {
            limb.order.to_orbit(words, out);
        }
        out
    }

    /// P times a ciphertext.
    pub(crate) fn lift(&self, ciphertext: &Ciphertext) -> Lifted {
        let n = self.context.n();
        let mut scratch = vec![0; n];
        let mut lift = |part: &RnsPoly<ciphermill_lattice::rns::Coefficients>| {
            let mut out = self.room(1);
            for (i, (limb, out)) in self.limbs.iter().zip(out.words.chunks_exact_mut(n)).enumerate() {
                if limb.special == 0 {
                    out.fill(0);
                    continue;
                }
                scratch.copy_from_slice(part.limb(i));
                limb.kernels.pointwise().multiply_scalar(&mut scratch, limb.special);
                self.engine(i).forward_in_place(&mut scratch);
                limb.order.to_orbit(&scratch, out);
            }
            out
        };
        Lifted([lift(&ciphertext.parts()[0]), lift(&ciphertext.parts()[1])])
    }

    /// A key in the form in which it multiplies, by limb.
    pub(super) fn key_blocks(&self, key: &KeySwitchKey) -> Vec<KeyBlock> {
        let block = |(i, limb): (usize, &SlotLimb)| {
            let to_orbit = |part: &RnsPoly<ciphermill_lattice::rns::Spectrum>| {
                let mut out = vec![0; self.context.n()];
                limb.order.to_orbit(part.limb(i), &mut out);
                out
            };
            let digits: Vec<[Vec<u64>; 2]> = key.digits().iter().map(|parts| parts.each_ref().map(to_orbit)).collect();
            let rows: Vec<[&[u64]; 2]> = digits.iter().map(|parts| parts.each_ref().map(|part| &part[..])).collect();
            limb.kernels.key(&rows)
        };
        self.limbs.iter().enumerate().map(block).collect()
    }

    /// The digits of a polynomial modulo Q, one after another.
    pub(crate) fn digits(&self, words: &[u64]) -> OrbitSpectra {
        let (n, count) = (self.context.n(), self.digits.len());
        let mut signed = self.signed.lease(|_| true, || vec![0; n]);
        let (mut digits, mut out) = (self.room(count), self.room(count));
        self.digits.cut(words, &mut signed, &mut digits.words);
        let spectra = digits.words.chunks_exact_mut(n).zip(out.words.chunks_exact_mut(n));
        for (i, (digit, out)) in spectra.enumerate() {
            let limb = i % self.limb_count();
            self.engine(limb).forward_in_place(digit);
            self.limbs[limb].order.to_orbit(digit, out);
        }
        out
    }

    /// The words modulo Q of ⌊part/P⌉ for a part of a lifted ciphertext, in its memory.
    fn divide(&self, part: &[&[u64]]) -> OrbitSpectra {
        let n = self.context.n();
        let mut words = self.room(1);
        for (i, ((limb, part), out)) in self.limbs.iter().zip(part).zip(words.words.chunks_exact_mut(n)).enumerate() {
            limb.order.from_orbit(part, out);
            self.engine(i).inverse_in_place(out);
        }
        let (keep, drop) = words.words.split_at_mut(self.context.top() * n);
        self.context.mod_down(self.context.top()).apply_words(keep, drop);
        words
    }

    /// The digits of ⌊part/P⌉.
    fn lifted_digits(&self, part: &[&[u64]]) -> OrbitSpectra {
        self.digits(&self.divide(part).words[..self.context.top() * self.context.n()])
    }

    /// The digits of [`digits`](Self::digits) for limb `limb`.
    fn digits_of<'a>(&self, digits: &'a OrbitSpectra, limb: usize) -> Limbs<'a> {
        (0..self.digits.len()).map(|digit| digits.limb(digit * self.limb_count() + limb)).collect()
    }

    /// Entry `steps` of vector `vector` of the block becomes the rotation by `steps` of a ciphertext, limb `limb`: of its
    /// lifted form and the digits of its part 1.
    pub(super) fn write_rotation(
        &self,
        keys: &SlotKeys,
        steps: usize,
        (lifted, digits): (&Lifted, Option<&OrbitSpectra>),
        limb: usize,
        (block, vector): (&mut VectorBlock, usize),
    ) {
        let Some(digits) = digits.filter(|_| steps > 0) else {
            return block.set(vector, steps, lifted.limb(limb));
        };
        let SlotLimb { order, kernels, special } = &self.limbs[limb];
        let rotation = order.rotation(rotation_element(self.context.n(), steps));
        let head = (*special != 0).then(|| (lifted.0[0].limb(limb), 1));
        let (digits, key) = (self.digits_of(digits, limb), &keys.get(steps)[limb]);
        kernels.key_products_entry(&rotation, &digits, head, key, block, vector, steps);
    }

    /// acc += the rotation by `steps` of the lifted ciphertext with part 0 `head` and the `digits` of part 1.
    fn add_rotated(&self, keys: &SlotKeys, steps: usize, digits: &OrbitSpectra, head: &[&[u64]], acc: &mut Lifted) {
        let n = self.context.n();
        let element = rotation_element(n, steps);
        let [acc0, acc1] = &mut acc.0;
        let parts = acc0.words.chunks_exact_mut(n).zip(acc1.words.chunks_exact_mut(n));
        for (i, ((limb, key), (acc0, acc1))) in self.limbs.iter().zip(keys.get(steps)).zip(parts).enumerate() {
            let (rotation, digits) = (limb.order.rotation(element), self.digits_of(digits, i));
            limb.kernels.add_key_products(&rotation, &digits, Some((head[i], 1)), key, [acc0, acc1]);
        }
    }

    /// acc += the lifted ciphertext with these parts, rotated by `steps`.
    pub(crate) fn add_switched(&self, keys: &SlotKeys, steps: usize, [head, part]: &[Limbs<'_>; 2], acc: &mut Lifted) {
        if steps > 0 {
            self.add_rotated(keys, steps, &self.lifted_digits(part), head, acc);
        } else {
            self.add_limbs(acc, [head, part]);
        }
    }

    /// acc += `term`.
    pub(crate) fn add(&self, acc: &mut Lifted, term: &Lifted) {
        let [head, part] = term.0.each_ref().map(OrbitSpectra::limbs);
        self.add_limbs(acc, [&head, &part]);
    }

    fn add_limbs(&self, acc: &mut Lifted, term: [&[&[u64]]; 2]) {
        for (acc, term) in acc.0.iter_mut().zip(term) {
            for ((limb, acc), term) in self.limbs.iter().zip(acc.words.chunks_exact_mut(self.context.n())).zip(term) {
                limb.kernels.pointwise().add(acc, term);
            }
        }
    }

    /// Adds the rotations of each step to the ciphertext, step after step.
    pub(crate) fn sum_slots(&self, keys: &SlotKeys, steps: &[SumStep], mut ciphertext: Lifted) -> Lifted {
        for step in steps {
            let digits = self.lifted_digits(&ciphertext.0[1].limbs());
            let mut head = self.room(1);
            head.words.copy_from_slice(&ciphertext.0[0].words);
            for rotation in step.rotations() {
                self.add_rotated(keys, rotation, &digits, &head.limbs(), &mut ciphertext);
            }
        }
        ciphertext
    }

    /// The ciphertext modulo Q.
    pub(crate) fn finish(&self, keys: &SlotKeys, ciphertext: &Lifted) -> Ciphertext {
        let parameters = self.context.parameters();
        let part = |part: &OrbitSpectra| {
            let words = self.divide(&part.limbs()).words[..self.context.top() * self.context.n()].to_vec();
            RnsPoly::from_words(parameters.polynomial_size, words)
        };
        Ciphertext::new(parameters.id(), keys.tag, ciphertext.0.iter().map(part).collect())
    }
}
