//! The binary tree of a packing, from which PackLWEs takes its speed.
//!
//! A merge at level j takes, for l limbs of ciphertext, K special primes and d digits,
//!
//! * a butterfly and an automorphism of each of the 2·l limbs of coefficients,
//! * d·(l + K) transforms of digits and 2·d·(l + K) products of spectra,
//! * 2·(l + K) inverse transforms and the division of two polynomials by the special primes.
//!
//! The tree is walked depth first, so that two nodes are merged as soon as both exist: of a subtree with 2^j leaves at
//! most j + 1 nodes live at a time. Leaves of one half differ from those of the other in the highest bit that is left
//! of their index, so they are visited in bit-reversed order. Subtrees of 2^`SEQUENTIAL` leaves are the tasks of the
//! thread pool.

use std::ops::RangeInclusive;
use std::sync::{Mutex, PoisonError};

use ciphermill_lattice::rns::{BaseConverter, Coefficients, RnsBasis, RnsPoly};
use ciphermill_math::automorphism::Automorphism;
use ciphermill_math::multiversion;
use ciphermill_math::products::{KeyBlock, ProductKernels, Rotation};

use crate::context::Context;
use crate::error::BfvError;
use crate::gadget::Gadget;
use crate::keys::GaloisKeys;
use crate::keyswitch::KeySwitchKey;

/// log2 of the leaves of subtrees that one thread packs by itself.
const SEQUENTIAL: u32 = 4;

/// g of level j.
pub fn element(level: u32) -> usize {
    (1 << level) + 1
}

/// An RLWE ciphertext in coefficient form, limb after limb.
#[derive(Clone, Debug)]
pub struct Node {
    c0: First,
    c1: Vec<u64>,
}

/// The first part of a node.
#[derive(Clone, Debug)]
enum First {
    /// Only a constant coefficient, a residue for each limb: that of an embedded LWE ciphertext.
    Constant(Vec<u64>),
    /// All coefficients.
    Polynomial(Vec<u64>),
}

impl Node {
    /// An LWE ciphertext that is embedded: b, and the polynomial of a.
    pub fn embedded(body: Vec<u64>, c1: Vec<u64>) -> Self {
        Self { c0: First::Constant(body), c1 }
    }

    /// Any ciphertext.
    pub fn new(c0: Vec<u64>, c1: Vec<u64>) -> Self {
        Self { c0: First::Polynomial(c0), c1 }
    }

    /// c_0 and c_1, all coefficients of both.
    pub fn into_parts(self) -> [Vec<u64>; 2] {
        let c0 = match self.c0 {
            First::Polynomial(c0) => c0,
            First::Constant(body) => {
                let n = self.c1.len() / body.len();
                body.into_iter().flat_map(|b| std::iter::once(b).chain(std::iter::repeat_n(0, n - 1))).collect()
            }
        };
        [c0, self.c1]
    }
}

/// Buffers of one thread.
#[derive(Debug, Default)]
pub struct Workspace {
    /// σ(even − X^k·odd) of both parts.
    rotated: [Vec<u64>; 2],
    /// The digits of one limb, transformed; and whatever is short-lived.
    digits: Vec<u64>,
    /// The result of a key switch, by part: l limbs, then the special ones.
    sums: [Vec<u64>; 2],
    /// Polynomials of nodes that are no more.
    spare: Vec<Vec<u64>>,
}

/// The first `len` words of a buffer. The caller overwrites their content.
fn words(buffer: &mut Vec<u64>, len: usize) -> &mut [u64] {
    if buffer.len() < len {
        buffer.resize(len, 0);
    }
    &mut buffer[..len]
}

impl Workspace {
    /// A polynomial of `len` words. The caller overwrites its content.
    pub fn polynomial(&mut self, len: usize) -> Vec<u64> {
        let mut polynomial = self.spare.pop().unwrap_or_default();
        polynomial.resize(len, 0);
        polynomial
    }

    /// `len` words. The caller overwrites their content, and the next merge uses the place again.
    pub fn scratch(&mut self, len: usize) -> &mut [u64] {
        words(&mut self.digits, len)
    }

    fn reuse(&mut self, node: Node) {
        self.spare.push(node.c1);
        if let First::Polynomial(c0) = node.c0 {
            self.spare.push(c0);
        }
    }
}

/// Workspaces that tasks take turns with, so that there are as many as threads.
#[derive(Debug, Default)]
pub struct Workspaces {
    idle: Mutex<Vec<Workspace>>,
}

impl Workspaces {
    /// Lends one to `f`.
    pub fn with<T>(&self, f: impl FnOnce(&mut Workspace) -> T) -> T {
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
    gadget: Gadget,
    /// For each limb of the extended basis.
    blocks: Vec<KeyBlock>,
}

/// Galois keys for the levels of packings at one number of limbs.
#[derive(Debug)]
pub struct PackingKeys {
    context: Context,
    limbs: usize,
    /// Of each limb of the extended basis.
    kernels: Vec<ProductKernels>,
    /// From each limb of the ciphertext to each limb of the extended basis.
    lifts: Vec<Vec<BaseConverter>>,
    first_level: u32,
    levels: Vec<LevelKey>,
}

impl PackingKeys {
    /// For ciphertexts of `limbs` limbs, from 1 to L.
    ///
    /// # Errors
    /// If a key of `levels` is missing, or the parameter set switches no keys.
    pub fn new(
        context: &Context,
        keys: &GaloisKeys,
        limbs: usize,
        levels: RangeInclusive<u32>,
    ) -> Result<Self, BfvError> {
        keys.require(levels.clone().map(element))?;
        let first_level = *levels.start();
        let context = context.clone();
        if levels.is_empty() {
            let (kernels, lifts, levels) = (Vec::new(), Vec::new(), Vec::new());
            return Ok(Self { context, limbs, kernels, lifts, first_level, levels });
        }
        let extended = context.extended(limbs);
        let single = |basis: &RnsBasis| -> Vec<RnsBasis> { (0..basis.len()).map(|i| basis.slice(i..i + 1)).collect() };
        let targets = single(extended);
        let lift = |from: &RnsBasis| targets.iter().map(|to| BaseConverter::new(from, to)).collect();
        let lifts = single(context.basis(limbs)).iter().map(lift).collect();
        let kernel = |modulus| ProductKernels::new(modulus, context.isa()).expect("the context's instruction set");
        let kernels = extended.moduli().map(kernel).collect();
        let levels = levels
            .map(|level| LevelKey::new(&context, keys.get(element(level)).expect("checked above"), limbs, level))
            .collect::<Result<_, _>>()?;
        Ok(Self { context, limbs, kernels, lifts, first_level, levels })
    }

    /// PackTwoLWEs: even ← (even + X^k·odd) + σ(even − X^k·odd) with k = N/2^`level`; a missing `odd` is 0.
    pub fn merge(&self, level: u32, even: &mut Node, odd: Option<Node>, space: &mut Workspace) {
        let key = &self.levels[(level - self.first_level) as usize];
        let (n, basis) = (self.context.n(), self.context.basis(self.limbs));
        let (isa, k) = (basis.isa(), self.context.n() >> level);
        self.split(key, k, &mut even.c1, odd.as_ref().map(|odd| &odd.c1[..]), space, 1);
        if let First::Polynomial(even) = &mut even.c0 {
            let odd = odd.as_ref().map(|odd| match &odd.c0 {
                First::Polynomial(odd) => &odd[..],
                First::Constant(_) => unreachable!("nodes of one level are of one kind"),
            });
            self.split(key, k, even, odd, space, 0);
        }
        self.switch(key, space);
        for (i, limb) in basis.limbs().iter().enumerate() {
            let at = i * n..(i + 1) * n;
            let p = limb.modulus();
            limb.kernels().add(&mut even.c1[at.clone()], &space.sums[1][at.clone()]);
            match &mut even.c0 {
                First::Polynomial(even) => {
                    add_both(isa, p.value(), &mut even[at.clone()], &space.rotated[0][at.clone()], &space.sums[0][at]);
                }
                // σ keeps b and turns X^k to −X^k: what is left of both parts is 2b and 2b′·X^k.
                First::Constant(even) => {
                    let sums = &mut space.sums[0][at];
                    sums[0] = p.add(sums[0], p.add(even[i], even[i]));
                    if let Some(Node { c0: First::Constant(odd), .. }) = &odd {
                        sums[k] = p.add(sums[k], p.add(odd[i], odd[i]));
                    }
                }
            }
        }
        if let First::Constant(_) = even.c0 {
            let mut c0 = space.polynomial(self.limbs * n);
            c0.copy_from_slice(&space.sums[0][..self.limbs * n]);
            even.c0 = First::Polynomial(c0);
        }
        odd.into_iter().for_each(|odd| space.reuse(odd));
    }

    /// even ← even + X^k·odd, and σ(even − X^k·odd) to part `part` of `space.rotated`, limb by limb.
    fn split(
        &self,
        key: &LevelKey,
        k: usize,
        even: &mut [u64],
        odd: Option<&[u64]>,
        space: &mut Workspace,
        part: usize,
    ) {
        let (n, basis) = (self.context.n(), self.context.basis(self.limbs));
        let (rotated, difference) = (words(&mut space.rotated[part], even.len()), words(&mut space.digits, n));
        for (i, (limb, (even, rotated))) in
            basis.limbs().iter().zip(even.chunks_exact_mut(n).zip(rotated.chunks_exact_mut(n))).enumerate()
        {
            let (isa, p) = (basis.isa(), limb.modulus().value());
            if let Some(odd) = odd {
                butterfly(isa, p, k, even, &odd[i * n..][..n], difference);
                key.automorphism.apply_modular(isa, p, difference, rotated);
            } else {
                key.automorphism.apply_modular(isa, p, even, rotated);
            }
        }
    }

    /// The key switch of `space.rotated[1]`, to the first limbs of `space.sums`.
    fn switch(&self, key: &LevelKey, space: &mut Workspace) {
        let (n, extended) = (self.context.n(), self.context.extended(self.limbs));
        let input = &space.rotated[1][..self.limbs * n];
        // Other digits than limbs are all made at once, in memory of their own.
        let made = (key.gadget != LIMBS).then(|| {
            let poly = RnsPoly::<Coefficients>::from_words(extended.polynomial_size(), input.to_vec());
            self.context.decompose(&poly, key.gadget)
        });
        let [sums_0, sums_1] = &mut space.sums;
        let (sums_0, sums_1) = (words(sums_0, extended.len() * n), words(sums_1, extended.len() * n));
        for (i, (limb, sums)) in
            extended.limbs().iter().zip(sums_0.chunks_exact_mut(n).zip(sums_1.chunks_exact_mut(n))).enumerate()
        {
            let digits: Vec<&[u64]> = match &made {
                Some(made) => made.digits.iter().map(|digit| digit.limb(i)).collect(),
                None => {
                    let digits = words(&mut space.digits, self.limbs * n).chunks_exact_mut(n);
                    let transform = |(digit, (input, lifts)): (&'_ mut [u64], (&[u64], &Vec<BaseConverter>))| {
                        lifts[i].convert_words(input, digit);
                        limb.engine().forward_in_place(digit);
                    };
                    digits.zip(input.chunks_exact(n).zip(&self.lifts)).for_each(transform);
                    space.digits[..self.limbs * n].chunks_exact(n).collect()
                }
            };
            self.kernels[i].key_products(
                &Rotation::none(n),
                &digits,
                None,
                &key.blocks[i],
                [&mut *sums.0, &mut *sums.1],
            );
            limb.engine().inverse_in_place(sums.0);
            limb.engine().inverse_in_place(sums.1);
        }
        for sums in [sums_0, sums_1] {
            let (keep, drop) = sums.split_at_mut(self.limbs * n);
            self.context.mod_down(self.limbs).apply_words(keep, drop);
        }
    }
}

/// A digit for each limb.
const LIMBS: Gadget = Gadget::Limbs { limbs_per_digit: 1 };

impl LevelKey {
    fn new(context: &Context, key: &KeySwitchKey, limbs: usize, level: u32) -> Result<Self, BfvError> {
        let automorphism = Automorphism::new(context.n(), element(level)).expect("an odd element");
        let digits = &key.digits()[..context.digit_count(key.gadget(), limbs)?];
        let block = |limb: usize| {
            let rows: Vec<[&[u64]; 2]> = digits.iter().map(|[b, a]| [b.limb(limb), a.limb(limb)]).collect();
            KeyBlock::pack(&rows)
        };
        let blocks = (0..limbs).chain(context.top()..context.chain().len()).map(block).collect();
        Ok(Self { automorphism, gadget: key.gadget(), blocks })
    }
}

/// PackLWEs of `count` leaves at 2^`levels` places: `leaf` makes the nodes of leaf i, of several packings that have the
/// same keys, and the result has the roots of them all.
pub fn pack<L>(keys: &PackingKeys, spaces: &Workspaces, count: usize, levels: u32, leaf: &L) -> Vec<Node>
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

multiversion! {
    /// x ← x + y + z.
    fn add_both(isa, p: u64, x: &mut [u64], y: &[u64], z: &[u64]) {
        for ((x, &y), &z) in x.iter_mut().zip(y).zip(z) {
            let sum = *x + y;
            let sum = sum.min(sum.wrapping_sub(p)) + z;
            *x = sum.min(sum.wrapping_sub(p));
        }
    }
}
