//! Rows and vectors as spectra, and the product of one row: stages 1 to 4 of the paper.
//!
//! Of the product with c_0 only the constant coefficient is needed. It is the mean of the values at the roots of X^N + 1,
//! so it takes no transform: the sum of the products of spectra, with 1/N multiplied into those of the vector.

use ciphermill_lattice::PolynomialSize;
use ciphermill_lattice::rns::{ModDown, RnsBasis};
use rayon::prelude::*;

use crate::ciphertext::Ciphertext;
use crate::context::Context;
use crate::error::BfvError;
use crate::hmvp::RowReader;
use crate::lwe::{Node, Workspace};

/// Words of partial sums of a sum over a spectrum.
const SUMS: usize = 512;

/// The rows of a tile over the whole chain.
#[derive(Debug)]
pub(super) struct Rows {
    /// By row, limb, column tile.
    words: Vec<u64>,
    row_len: usize,
}

impl Rows {
    /// Rows `first`, `first` + 1, … `first` + `count` − 1 of a matrix of `cols` columns.
    pub(super) fn prepare(context: &Context, first: usize, count: usize, cols: usize, read: &RowReader<'_>) -> Self {
        let (n, chain) = (context.n(), context.chain());
        let tiles = cols.div_ceil(n);
        let row_len = chain.len() * tiles * n;
        let mut words = vec![0; count * row_len];
        words.par_chunks_exact_mut(row_len).enumerate().for_each_init(
            || (vec![0; cols], vec![0; n]),
            |(row, coefficients), (i, words)| {
                read(first + i, row);
                for (tile, columns) in row.chunks(n).enumerate() {
                    // a_0 − Σ_(j>0) a_j·X^(N−j): `Context::encode_reversed` before it is reduced modulo t.
                    coefficients.fill(0);
                    coefficients[0] = columns[0];
                    for (out, &entry) in coefficients.iter_mut().rev().zip(&columns[1..]) {
                        *out = -entry;
                    }
                    let spectrum = chain.forward(chain.from_signed(coefficients));
                    for (limb, spectrum) in spectrum.limbs().enumerate() {
                        words[(limb * tiles + tile) * n..][..n].copy_from_slice(spectrum);
                    }
                }
            },
        );
        Self { words, row_len }
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        self.words.len() / self.row_len
    }

    pub(super) fn row(&self, i: usize) -> &[u64] {
        &self.words[i * self.row_len..][..self.row_len]
    }
}

/// The ciphertexts of a vector over the whole chain, by part, limb, column tile; the first part times 1/N.
#[derive(Debug)]
pub(super) struct Vector {
    parts: [Vec<u64>; 2],
}

impl Vector {
    pub(super) fn prepare(context: &Context, ciphertexts: &[Ciphertext]) -> Self {
        let (n, chain, tiles) = (context.n(), context.chain(), ciphertexts.len());
        let mut parts = [0, 1].map(|_| vec![0; chain.len() * tiles * n]);
        for (tile, ciphertext) in ciphertexts.iter().enumerate() {
            for (words, part) in parts.iter_mut().zip(&ciphertext.parts) {
                let spectrum = chain.forward(part.clone());
                for (limb, spectrum) in spectrum.limbs().enumerate() {
                    words[(limb * tiles + tile) * n..][..n].copy_from_slice(spectrum);
                }
            }
        }
        for (limb, words) in chain.limbs().iter().zip(parts[0].chunks_exact_mut(tiles * n)) {
            let p = limb.modulus();
            limb.kernels().multiply_scalar(words, p.inverse(p.reduce(n as u64)).expect("N is a power of two"));
        }
        Self { parts }
    }
}

/// What turns a row into an LWE ciphertext, as the RLWE ciphertext that it embeds into.
#[derive(Debug)]
pub(super) struct RowProduct {
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
        Ok(Self { constants, size: size.get() })
    }

    /// Row times vector, divided by the special primes, the constant coefficient extracted, times 2^-l (`inverses` modulo
    /// each prime), and embedded again: extraction of the constant coefficient and embedding leave c_1 as it is, and only
    /// the constant of c_0.
    pub(super) fn leaf(
        &self,
        context: &Context,
        row: &[u64],
        vector: &Vector,
        inverses: &[u64],
        space: &mut Workspace,
    ) -> Node {
        let (n, chain, top) = (context.n(), context.chain(), context.top());
        let per_limb = row.len() / chain.len();
        let [v0, v1] = &vector.parts;
        let mut c1 = space.polynomial(chain.len() * n);
        let mut constants = vec![0; chain.len() * self.size];
        for (i, limb) in chain.limbs().iter().enumerate() {
            let words = i * per_limb..(i + 1) * per_limb;
            let row = &row[words.clone()];
            let mut sums = [0; SUMS];
            let sums = &mut sums[..SUMS.min(n)];
            limb.kernels().multiply_accumulate(sums, row, &v0[words.clone()]);
            constants[i * self.size] = limb.modulus().reduce_u128(sums.iter().map(|&sum| u128::from(sum)).sum());
            let product = &mut c1[i * n..][..n];
            product.fill(0);
            limb.engine().multiply_accumulate(product, row, &v1[words]);
            limb.engine().inverse_in_place(product);
        }
        let (keep, drop) = c1.split_at_mut(top * n);
        context.mod_down(top).apply_words(keep, drop);
        c1.truncate(top * n);
        let (keep, drop) = constants.split_at_mut(top * self.size);
        self.constants.apply_words(keep, drop);
        let mut c0 = space.polynomial(top * n);
        c0.fill(0);
        for (i, (limb, &inverse)) in context.basis(top).limbs().iter().zip(inverses).enumerate() {
            limb.kernels().multiply_scalar(&mut c1[i * n..][..n], inverse);
            c0[i * n] = limb.modulus().mul(keep[i * self.size], inverse);
        }
        Node::new(c0, c1)
    }
}
