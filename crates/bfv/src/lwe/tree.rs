//! The binary tree of a packing: what is fast about PackLWEs.
//!
//! A merge at level j takes, for l limbs of ciphertext, K special primes and d digits,
//!
//! * a butterfly and an automorphism of each of the 2·l limbs of coefficients,
//! * d·(l + K) transforms of digits and 2·d·(l + K) products of spectra,
//! * 2·(l + K) inverse transforms and the division of two polynomials by the special primes.
//!
//! The tree is walked depth first, so that two nodes are merged as soon as both are there: of a subtree with 2^j leaves at
//! most j + 1 nodes live at a time. Leaves of one half differ from those of the other in the highest bit that is left of
//! their index, so they are visited in bit-reversed order. Subtrees of 2^[`SEQUENTIAL`] leaves are the tasks of the
//! thread pool.

use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};

use ciphermill_lattice::rns::{BaseConverter, Coefficients, ModDown, RnsBasis, RnsPoly};
use ciphermill_math::automorphism::Automorphism;
use ciphermill_math::multiversion;

use crate::context::Context;
use crate::error::BfvError;
use crate::keys::GaloisKeys;
use crate::keyswitch::{Gadget, KeySwitchKey};

/// log2 of the leaves of subtrees that one thread packs by itself.
const SEQUENTIAL: u32 = 4;

/// g of level j.
pub(crate) fn element(level: u32) -> usize {
    (1 << level) + 1
}

/// An RLWE ciphertext in coefficient form, limb after limb.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    parts: [Vec<u64>; 2],
}

impl Node {
    pub(crate) fn new(c0: Vec<u64>, c1: Vec<u64>) -> Self {
        Self { parts: [c0, c1] }
    }

    pub(crate) fn into_parts(self) -> [Vec<u64>; 2] {
        self.parts
    }
}

/// Buffers of one thread.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    /// σ(even − X^k·odd), part by part.
    rotated: [Vec<u64>; 2],
    /// The digits of one limb, transformed.
    digits: Vec<u64>,
    /// What a key switch yields, by part: l limbs, then the special ones.
    sums: [Vec<u64>; 2],
    /// Polynomials of nodes that are no more.
    spare: Vec<Vec<u64>>,
}

impl Workspace {
    /// A polynomial of `words` words, whose content is to be overwritten.
    pub(crate) fn polynomial(&mut self, words: usize) -> Vec<u64> {
        let mut polynomial = self.spare.pop().unwrap_or_default();
        polynomial.resize(words, 0);
        polynomial
    }

    fn reuse(&mut self, node: Node) {
        self.spare.extend(node.parts);
    }
}

/// Workspaces that tasks take turns with, so that there are as many as threads.
#[derive(Debug, Default)]
pub(crate) struct Workspaces {
    idle: Mutex<Vec<Workspace>>,
}

impl Workspaces {
    /// Lends one to `f`.
    pub(crate) fn with<T>(&self, f: impl FnOnce(&mut Workspace) -> T) -> T {
        let lock = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut space = lock().pop().unwrap_or_default();
        let result = f(&mut space);
        lock().push(space);
        result
    }
}

/// The key of one level.
#[derive(Debug)]
struct LevelKey {
    automorphism: Automorphism,
    switch: Switch,
}

#[derive(Debug)]
enum Switch {
    /// A digit per limb: the key's spectra by limb of the extended basis, part, digit.
    Limbs(Vec<u64>),
    /// Any other gadget.
    General(KeySwitchKey),
}

/// Galois keys for the levels of packings at one number of limbs.
#[derive(Debug)]
pub(crate) struct PackingKeys {
    context: Context,
    limbs: usize,
    /// From each limb of the ciphertext to each limb of the extended basis.
    lifts: Vec<Vec<BaseConverter>>,
    first_level: u32,
    levels: Vec<LevelKey>,
}

impl PackingKeys {
    /// For ciphertexts of `limbs` limbs, from 1 to L; `keys` has been checked to have the keys of `levels`.
    ///
    /// # Errors
    /// If a key is missing.
    pub(crate) fn new(
        context: &Context,
        keys: &GaloisKeys,
        limbs: usize,
        levels: RangeInclusive<u32>,
    ) -> Result<Self, BfvError> {
        keys.require(levels.clone().map(element))?;
        let single = |basis: &RnsBasis| -> Vec<RnsBasis> { (0..basis.len()).map(|i| basis.slice(i..i + 1)).collect() };
        let lifts = match levels.is_empty() {
            true => Vec::new(),
            false => {
                let extended = single(context.extended(limbs));
                let lift = |from: &RnsBasis| extended.iter().map(|to| BaseConverter::new(from, to)).collect();
                single(context.basis(limbs)).iter().map(lift).collect()
            }
        };
        let level_key = |level| {
            let key = keys.get(element(level)).expect("checked above");
            let automorphism = Automorphism::new(context.n(), element(level)).expect("an odd element");
            LevelKey { automorphism, switch: Switch::new(context, key, limbs) }
        };
        let first_level = *levels.start();
        Ok(Self { context: context.clone(), limbs, lifts, first_level, levels: levels.map(level_key).collect() })
    }

    /// PackTwoLWEs: even ← (even + X^k·odd) + σ(even − X^k·odd) with k = N/2^`level`; a missing `odd` is 0.
    pub(crate) fn merge(&self, level: u32, even: &mut Node, odd: Option<Node>, space: &mut Workspace) {
        let key = &self.levels[(level - self.first_level) as usize];
        let n = self.context.n();
        let words = self.limbs * n;
        let basis = self.context.basis(self.limbs);
        for (part, even) in even.parts.iter_mut().enumerate() {
            space.rotated[part].resize(words, 0);
            for (i, limb) in basis.limbs().iter().enumerate() {
                let limb_words = i * n..(i + 1) * n;
                let (even, rotated) = (&mut even[limb_words.clone()], &mut space.rotated[part][limb_words.clone()]);
                let (isa, p) = (basis.isa(), limb.modulus().value());
                if let Some(odd) = &odd {
                    space.digits.resize(n.max(space.digits.len()), 0);
                    let difference = &mut space.digits[..n];
                    butterfly(isa, p, n >> level, even, &odd.parts[part][limb_words], difference);
                    key.automorphism.apply_modular(isa, p, difference, rotated);
                } else {
                    key.automorphism.apply_modular(isa, p, even, rotated);
                }
            }
        }
        odd.map(|odd| space.reuse(odd));
        self.switch(key, space);
        for (i, limb) in basis.limbs().iter().enumerate() {
            let limb_words = i * n..(i + 1) * n;
            let kernels = limb.kernels();
            for (even, sums) in even.parts.iter_mut().zip(&space.sums) {
                kernels.add(&mut even[limb_words.clone()], &sums[limb_words.clone()]);
            }
            kernels.add(&mut even.parts[0][limb_words.clone()], &space.rotated[0][limb_words]);
        }
    }

    /// The key switch of `space.rotated[1]`, to the first limbs of `space.sums`.
    fn switch(&self, key: &LevelKey, space: &mut Workspace) {
        let n = self.context.n();
        let words = match &key.switch {
            Switch::Limbs(words) => words,
            Switch::General(key) => {
                let size = self.context.parameters().polynomial_size;
                let input = RnsPoly::<Coefficients>::from_words(size, space.rotated[1].clone());
                space.sums = self.context.key_switch(&input, key).map(RnsPoly::into_words);
                return;
            }
        };
        let (extended, count) = (self.context.extended(self.limbs), self.limbs);
        space.digits.resize((count * n).max(space.digits.len()), 0);
        let digits = &mut space.digits[..count * n];
        for sums in &mut space.sums {
            sums.clear();
            sums.resize(extended.len() * n, 0);
        }
        for ((i, limb), words) in extended.limbs().iter().enumerate().zip(words.chunks_exact(2 * count * n)) {
            for ((input, lifts), digit) in
                space.rotated[1].chunks_exact(n).zip(&self.lifts).zip(digits.chunks_exact_mut(n))
            {
                lifts[i].convert_words(input, digit);
                limb.engine().forward_in_place(digit);
            }
            for (sums, words) in space.sums.iter_mut().zip(words.chunks_exact(count * n)) {
                let sum = &mut sums[i * n..][..n];
                limb.engine().multiply_accumulate(sum, digits, words);
                limb.engine().inverse_in_place(sum);
            }
        }
        let down: &ModDown = self.context.mod_down(self.limbs);
        for sums in &mut space.sums {
            let (keep, drop) = sums.split_at_mut(count * n);
            down.apply_words(keep, drop);
        }
    }
}

impl Switch {
    fn new(context: &Context, key: &KeySwitchKey, limbs: usize) -> Self {
        if key.gadget() != (Gadget::Limbs { limbs_per_digit: 1 }) {
            return Switch::General(key.clone());
        }
        let top = context.top();
        let mut words = Vec::with_capacity(context.extended(limbs).len() * 2 * limbs * context.n());
        for limb in (0..limbs).chain(top..context.chain().len()) {
            for part in 0..2 {
                key.digits()[..limbs].iter().for_each(|digit| words.extend_from_slice(digit[part].limb(limb)));
            }
        }
        Switch::Limbs(words)
    }
}

/// PackLWEs of `count` leaves at 2^`levels` places: `leaf` makes the nodes of leaf i, of several packings that have the
/// same keys, and the result has the roots of them all.
pub(crate) fn pack<L>(keys: &PackingKeys, spaces: &Workspaces, count: usize, levels: u32, leaf: &L) -> Vec<Node>
where
    L: Fn(usize, &mut Workspace) -> Vec<Node> + Sync,
{
    let tree = Tree { keys, spaces, count, leaf };
    tree.parallel(levels, 0, 1).expect("at least one leaf")
}

struct Tree<'a, L> {
    keys: &'a PackingKeys,
    spaces: &'a Workspaces,
    count: usize,
    leaf: &'a L,
}

impl<L: Fn(usize, &mut Workspace) -> Vec<Node> + Sync> Tree<'_, L> {
    /// The node at `level` of the leaves `first`, `first` + `step`, …; `None` if there are none.
    fn parallel(&self, level: u32, first: usize, step: usize) -> Option<Vec<Node>> {
        if level <= SEQUENTIAL || first + step >= self.count {
            return self.spaces.with(|space| self.sequential(level, first, step, space));
        }
        let (even, odd) = rayon::join(
            || self.parallel(level - 1, first, 2 * step),
            || self.parallel(level - 1, first + step, 2 * step),
        );
        self.spaces.with(|space| self.merge(level, even, odd, space))
    }

    fn sequential(&self, level: u32, first: usize, step: usize, space: &mut Workspace) -> Option<Vec<Node>> {
        if first >= self.count {
            return None;
        }
        if level == 0 {
            return Some((self.leaf)(first, space));
        }
        let even = self.sequential(level - 1, first, 2 * step, space);
        let odd = self.sequential(level - 1, first + step, 2 * step, space);
        self.merge(level, even, odd, space)
    }

    /// Merges nodes pair by pair. Nodes that are 0 have no merge: a key switch of 0 is exactly 0.
    fn merge(
        &self,
        level: u32,
        even: Option<Vec<Node>>,
        odd: Option<Vec<Node>>,
        space: &mut Workspace,
    ) -> Option<Vec<Node>> {
        let mut nodes = even?;
        let mut odd = odd.into_iter().flatten();
        nodes.iter_mut().for_each(|even| self.keys.merge(level, even, odd.next(), space));
        Some(nodes)
    }
}

/// even ← even + X^k·odd and difference ← even − X^k·odd modulo p, canonical.
fn butterfly(isa: ciphermill_math::Isa, p: u64, k: usize, even: &mut [u64], odd: &[u64], difference: &mut [u64]) {
    // X^N = −1 makes sums of the differences and differences of the sums for what wraps around.
    let (even_low, even_high) = even.split_at_mut(k);
    let (odd_low, odd_high) = odd.split_at(odd.len() - k);
    let (difference_low, difference_high) = difference.split_at_mut(k);
    sum_and_difference(isa, p, even_high, odd_low, difference_high);
    difference_and_sum(isa, p, even_low, odd_high, difference_low);
}

multiversion! {
    /// x ← x + y, difference ← x − y.
    fn sum_and_difference(isa, p: u64, x: &mut [u64], y: &[u64], difference: &mut [u64]) {
        for ((x, &y), difference) in x.iter_mut().zip(y).zip(difference) {
            let (sum, negative) = (*x + y, x.wrapping_sub(y));
            *x = sum.min(sum.wrapping_sub(p));
            *difference = negative.min(negative.wrapping_add(p));
        }
    }
}

multiversion! {
    /// x ← x − y, sum ← x + y.
    fn difference_and_sum(isa, p: u64, x: &mut [u64], y: &[u64], sum: &mut [u64]) {
        for ((x, &y), out) in x.iter_mut().zip(y).zip(sum) {
            let (sum, negative) = (*x + y, x.wrapping_sub(y));
            *out = sum.min(sum.wrapping_sub(p));
            *x = negative.min(negative.wrapping_add(p));
        }
    }
}
