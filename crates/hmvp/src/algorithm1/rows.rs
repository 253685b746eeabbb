//! Rows, vectors and the product of one row: stages 1 to 4 of the paper.
//!
//! Of the product with c_0 only the constant coefficient is needed. It is the mean of the values at the roots of X^N + 1,
//! so it takes no transform: the sum of the products of spectra, with 1/N multiplied into those of the vector.

use ciphermill_lattice::PolynomialSize;
use ciphermill_lattice::rns::{Limb, ModDown, RnsBasis, RnsPoly, Spectrum};
use ciphermill_math::products::{KeyBlock, ProductKernels, Rotation};
use ciphermill_math::{CoefficientSource, Modulus};
use rayon::prelude::*;

use crate::RowReader;
use ciphermill_bfv::ciphertext::Ciphertext;
use ciphermill_bfv::context::Context;
use ciphermill_bfv::error::{BfvError, require_range};
use ciphermill_bfv::lwe::tree::{Node, Workspace};

/// The rows of a tile: their entries, from which spectra are made when they are multiplied.
#[derive(Debug)]
pub(super) struct Rows {
    entries: Vec<i32>,
    cols: usize,
}

impl Rows {
    /// Rows `first`, `first` + 1, … `first` + `count` − 1 of a matrix of `cols` columns.
    ///
    /// # Errors
    /// If an entry has more than 32 bits.
    pub(super) fn read(first: usize, count: usize, cols: usize, read: &RowReader<'_>) -> Result<Self, BfvError> {
        let mut entries = vec![0; count * cols];
        entries.par_chunks_exact_mut(cols).enumerate().try_for_each_init(
            || vec![0; cols],
            |row, (i, entries)| {
                read(first + i, row);
                entries.iter_mut().zip(row).try_for_each(|(entry, &mut given)| {
                    require_range("entry of a matrix part", given, i32::MIN, i32::MAX)?;
                    *entry = given as i32;
                    Ok::<(), BfvError>(())
                })
            },
        )?;
        Ok(Self { entries, cols })
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.entries.len() / self.cols
    }

    pub(super) fn row(&self, i: usize) -> &[i32] {
        &self.entries[i * self.cols..][..self.cols]
    }
}

/// a_0 − Σ_(j>0) a_j·X^(N−j) modulo p for at most N entries a_j: what [`Context::encode_reversed`] makes of them, without a
/// reduction modulo t.
struct Reversed<'a> {
    entries: &'a [i32],
    n: usize,
    p: Modulus,
}

impl Reversed<'_> {
    fn residue(&self, entry: i64) -> u64 {
        let p = self.p.value() as i64;
        // Entries are shorter than nearly all primes.
        if -p < entry && entry < p { (entry + (entry >> 63 & p)) as u64 } else { entry.rem_euclid(p) as u64 }
    }
}

impl CoefficientSource<u64> for Reversed<'_> {
    fn len(&self) -> usize {
        self.n
    }

    fn read(&self, start: usize, out: &mut [u64]) {
        // The places of a_(n−1), …, a_1.
        let used = (self.n + 1 - self.entries.len()).max(start)..self.n.min(start + out.len());
        out.fill(0);
        if !used.is_empty() {
            let entries = self.entries[self.n + 1 - used.end..=self.n - used.start].iter().rev();
            for (out, &entry) in out[used.start - start..].iter_mut().zip(entries) {
                *out = self.residue(-i64::from(entry));
            }
        }
        if start == 0 {
            out[0] = self.residue(i64::from(self.entries[0]));
        }
    }
}

/// The ciphertexts of a vector over the whole chain: for each limb, as the rows of a key, of which those of a matrix are the
/// digits; the first part times 1/N.
#[derive(Debug)]
pub(super) struct Vector {
    blocks: Vec<KeyBlock>,
}

impl Vector {
    pub(super) fn prepare(context: &Context, ciphertexts: &[Ciphertext]) -> Self {
        let chain = context.chain();
        let spectra: Vec<[RnsPoly<Spectrum>; 2]> = ciphertexts
            .iter()
            .map(|ciphertext| {
                let mut parts = [0, 1].map(|part| chain.forward(ciphertext.parts()[part].clone()));
                for (limb, words) in chain.limbs().iter().zip(parts[0].limbs_mut()) {
                    let p = limb.modulus();
                    let inverse = p.inverse(p.reduce(context.n() as u64)).expect("N is a power of two");
                    limb.kernels().multiply_scalar(words, inverse);
                }
                parts
            })
            .collect();
        let block = |limb: usize| {
            let rows: Vec<[&[u64]; 2]> = spectra.iter().map(|[c0, c1]| [c0.limb(limb), c1.limb(limb)]).collect();
            KeyBlock::pack(&rows)
        };
        Self { blocks: (0..chain.len()).map(block).collect() }
    }
}

/// What turns a row into an LWE ciphertext, as the RLWE ciphertext that it embeds into.
#[derive(Debug)]
pub(super) struct RowProduct {
    /// Of each limb of the chain.
    kernels: Vec<ProductKernels>,
    /// The division of constants: of polynomials of the least size, of which only one coefficient is used.
    constants: ModDown,
    /// The coefficients of those.
    size: usize,
}

impl RowProduct {
    pub(super) fn new(context: &Context) -> Result<Self, BfvError> {
        let size = PolynomialSize::new(1 << PolynomialSize::MIN_LOG2).expect("the least size");
        let moduli: Vec<u64> = context.parameters().chain().collect();
        let chain = RnsBasis::new(size, &moduli, context.isa())?;
        let top = context.top();
        let constants = ModDown::new(&chain.slice(0..top), &chain.slice(top..chain.len()));
        let kernel = |modulus| ProductKernels::new(modulus, context.isa()).expect("the context's instruction set");
        Ok(Self { kernels: chain.moduli().map(kernel).collect(), constants, size: size.get() })
    }

    /// Row times vector, divided by the special primes, the constant coefficient extracted, times 2^-l (`inverses` modulo
    /// each prime), and embedded again: extraction of the constant coefficient and embedding leave c_1 as it is, and only
    /// the constant of c_0.
    pub(super) fn leaf(
        &self,
        context: &Context,
        row: &[i32],
        vector: &Vector,
        inverses: &[u64],
        space: &mut Workspace,
    ) -> Node {
        let (n, chain, top) = (context.n(), context.chain(), context.top());
        let mut c1 = space.polynomial(chain.len() * n);
        let mut constants = vec![0; chain.len() * self.size];
        let tiles = row.len().div_ceil(n);
        let (first, spectra) = space.scratch((tiles + 1) * n).split_at_mut(n);
        for (i, limb) in chain.limbs().iter().enumerate() {
            for (spectrum, entries) in spectra.chunks_exact_mut(n).zip(row.chunks(n)) {
                limb.engine().forward(&Reversed { entries, n, p: limb.modulus() }, spectrum);
            }
            let spectra: Vec<&[u64]> = spectra.chunks_exact(n).collect();
            let product = &mut c1[i * n..][..n];
            self.kernels[i].key_products(
                &Rotation::none(n),
                &spectra,
                None,
                &vector.blocks[i],
                [&mut *first, &mut *product],
            );
            constants[i * self.size] = sum(limb, first);
            limb.engine().inverse_in_place(product);
        }
        let (keep, drop) = c1.split_at_mut(top * n);
        context.mod_down(top).apply_words(keep, drop);
        c1.truncate(top * n);
        let (keep, drop) = constants.split_at_mut(top * self.size);
        self.constants.apply_words(keep, drop);
        let mut body = Vec::with_capacity(top);
        for (i, (limb, &inverse)) in context.basis(top).limbs().iter().zip(inverses).enumerate() {
            limb.kernels().multiply_scalar(&mut c1[i * n..][..n], inverse);
            body.push(limb.modulus().mul(keep[i * self.size], inverse));
        }
        Node::embedded(body, c1)
    }
}

/// The sum of all words, whose places are used for parts of it.
fn sum(limb: &Limb, words: &mut [u64]) -> u64 {
    let mut len = words.len();
    while len > 8 {
        len /= 2;
        let (lower, upper) = words[..2 * len].split_at_mut(len);
        limb.kernels().add(lower, upper);
    }
    words[..len].iter().fold(0, |sum, &word| limb.modulus().add(sum, word))
}
