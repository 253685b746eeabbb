//! The matrix: from its rows to the spectra that multiply.
//!
//! Plaintext i < P of a column tile holds rows i·r … i·r + r − 1, entry (i·r + k, j) at X^(k·span − j): times the vector
//! Σ v_j·X^j it has the tile's share of product i·r + k at X^(k·span). Packing applies automorphisms σ_g for P exponents g
//! and adds up Σ_i X^(i·span/P)·σ_g(p_i) = σ_g(R_g), where for g^-1 = 1 + c·t
//!
//! R_g = Σ_i ω^(i·t)·X^(i·span/P)·p_i, ω = X^(2N/P):
//!
//! a Fourier transform whose roots are monomials, of small integers. For g = g_1·g_2 the matrix has σ_(g_1)(R_g) in row
//! g_2 and column g_1, as automorphisms commute.

use ciphermill_math::memory::advise_huge_pages;
use ciphermill_math::multiversion;
use ciphermill_math::products::{MatrixBlock, MonomialFft, SmallCoefficients, SmallInteger};

use super::layout::{Layout, Tile};
use super::recycle::Lease;
use super::tables::{LimbTables, Tables, for_each};
use crate::RowReader;
use ciphermill_bfv::context::Context;
use ciphermill_bfv::error::{BfvError, require_range};

/// A row tile of a matrix: for each prime of the chain a matrix of spectra in orbit order, giant steps by baby steps of
/// all column tiles.
#[derive(Debug)]
pub(super) struct PreparedTile {
    pub(super) limbs: Lease<Vec<MatrixBlock>>,
}

/// Larger tiles give their memory back.
const MAX_RECYCLED_BYTES: usize = 32 << 20;

/// Spectra that are written together.
const TOGETHER: usize = 8;

/// Integers in which the transform over the rows is computed.
trait Entry: SmallInteger {
    /// The greatest magnitude of a sum.
    const MAX: i64;
    /// to_(last − j) = scale·from_j; the products are at most [`MAX`](Self::MAX).
    fn fill_reversed(isa: ciphermill_math::Isa, scale: i64, from: &[i64], to: &mut [Self]);
}

macro_rules! entry {
    ($word:ty, $fill:ident) => {
        multiversion! {
            fn $fill(isa, scale: i64, from: &[i64], to: &mut [$word]) {
                for (to, from) in to.iter_mut().rev().zip(from) {
                    *to = (*from * scale) as $word;
                }
            }
        }

        impl Entry for $word {
            const MAX: i64 = <$word>::MAX as i64;

            fn fill_reversed(isa: ciphermill_math::Isa, scale: i64, from: &[i64], to: &mut [Self]) {
                $fill(isa, scale, from, to);
            }
        }
    };
}

entry!(i16, fill16);
entry!(i32, fill32);

multiversion! {
    /// The greatest magnitude.
    fn magnitude(isa, values: &[i64]) -> u64 {
        values.iter().map(|x| x.unsigned_abs()).max().unwrap_or(0)
    }
}

/// An entry, by its magnitude, that the integers of a transform have no room for.
struct TooLarge(u64);

impl PreparedTile {
    /// Prepares one row tile.
    ///
    /// # Errors
    /// If an entry is so large that sums of P of them do not fit 32 bits or the least prime.
    pub(super) fn new(
        context: &Context,
        layout: &Layout,
        tables: &Tables,
        tile: &Tile,
        read: &RowReader<'_>,
    ) -> Result<Self, BfvError> {
        let columns = layout.column_tiles() * layout.babies();
        let make = || -> Vec<MatrixBlock> {
            let matrix = |limb: &LimbTables| limb.kernels.matrix(layout.polynomial_size, tile.giants, columns);
            tables.limbs.iter().map(matrix).collect()
        };
        let bytes = 8 * layout.polynomial_size * tile.giants * columns * tables.limbs.len();
        let mut limbs = if bytes <= MAX_RECYCLED_BYTES {
            let fits = |limbs: &Vec<MatrixBlock>| (limbs[0].rows(), limbs[0].columns()) == (tile.giants, columns);
            tables.matrices.lease(fits, make)
        } else {
            Lease::once(make())
        };
        let mut encoder = Encoder { context, layout, tables, tile, read, limbs: &mut limbs };
        // Half as many bytes where the entries turn out to be small enough.
        if encoder.encode::<i16>().is_err() {
            encoder.encode::<i32>().or_else(|TooLarge(given)| {
                require_range("magnitude of a matrix entry", given, 0, encoder.limit::<i32>())
            })?;
        }
        Ok(Self { limbs })
    }
}

/// The greatest magnitude of an entry, if sums of P of them must fit `max` and each prime of the chain.
pub(super) fn max_entry(primes: impl Iterator<Item = u64>, layout: &Layout, max: u64) -> u64 {
    primes.map(|p| p - 1).fold(max, u64::min) / layout.divisor() as u64
}

struct Encoder<'a> {
    context: &'a Context,
    layout: &'a Layout,
    tables: &'a Tables,
    tile: &'a Tile,
    read: &'a RowReader<'a>,
    limbs: &'a mut [MatrixBlock],
}

impl Encoder<'_> {
    /// The greatest magnitude of an entry.
    fn limit<T: Entry>(&self) -> u64 {
        max_entry(self.context.chain().moduli().map(|p| p.value()), self.layout, T::MAX as u64)
    }

    fn encode<T: Entry>(&mut self) -> Result<(), TooLarge> {
        let (n, points) = (self.layout.polynomial_size, self.tile.plaintexts);
        let transform = MonomialFft::new(n, points, self.context.isa());
        let mut polynomials = vec![T::default(); points * n];
        advise_huge_pages(&mut polynomials);
        for column_tile in 0..self.layout.column_tiles() {
            if column_tile > 0 {
                polynomials.fill(T::default());
            }
            self.fill(column_tile, &mut polynomials)?;
            transform.forward(&mut polynomials);
            self.transform(column_tile, &transform, &polynomials);
        }
        Ok(())
    }

    /// X^(i·span/P)·p_i for all i.
    fn fill<T: Entry>(&self, column_tile: usize, polynomials: &mut [T]) -> Result<(), TooLarge> {
        let (layout, tile, isa) = (self.layout, self.tile, self.context.isa());
        let (n, columns) = (layout.polynomial_size, layout.columns(column_tile));
        let (limit, scale) = (self.limit::<T>(), tile.scale as i64);
        let mut row = vec![0; layout.cols];
        for index in 0..tile.rows.len() {
            (self.read)(tile.rows.start + index, &mut row);
            let entries = &mut row[columns.clone()];
            let magnitude = magnitude(isa, entries);
            if magnitude > limit {
                return Err(TooLarge(magnitude));
            }
            let polynomial = &mut polynomials[index / layout.rows_per_plaintext() * n..][..n];
            let end = layout.place(tile, index) + 1;
            let (high, low) = entries.split_at(end.min(entries.len()));
            T::fill_reversed(isa, scale, high, &mut polynomial[end - high.len()..end]);
            // X^-j is −X^(N−j).
            T::fill_reversed(isa, -scale, low, &mut polynomial[n - low.len()..]);
        }
        Ok(())
    }

    /// From the transform's results to the columns of a column tile, for all primes.
    fn transform<T: Entry>(&mut self, column_tile: usize, transform: &MonomialFft, polynomials: &[T]) {
        let (layout, tile, context) = (self.layout, self.tile, self.context);
        let threads = rayon::current_num_threads();
        let columns = column_tile * layout.babies()..(column_tile + 1) * layout.babies();
        let limbs = context.chain().limbs().iter().zip(&self.tables.limbs).zip(self.limbs.iter_mut());
        let inner = if threads == 1 { 1 } else { threads.div_ceil(self.tables.limbs.len()) };
        for_each(threads, limbs, |((limb, LimbTables { order, .. }), matrix)| {
            let n = layout.polynomial_size;
            let positions: Vec<usize> = (0..matrix.rows() * matrix.columns())
                .filter(|&position| columns.contains(&matrix.entry(position).1))
                .collect();
            let mut spectra = vec![0; TOGETHER * inner * 2 * n];
            let rotations: Vec<_> = (0..layout.babies()).map(|i| order.rotation(layout.baby(i))).collect();
            let runs = positions.chunk_by(|a, b| a + 1 == *b).flat_map(|run| run.chunks(TOGETHER * inner));
            for run in runs {
                let entries = run.iter().map(|&position| {
                    let (giant, column) = matrix.entry(position);
                    (giant, column - columns.start)
                });
                let entries: Vec<(usize, usize)> = entries.collect();
                for_each(inner, entries.iter().zip(spectra.chunks_exact_mut(2 * n)), |(&(giant, baby), out)| {
                    let t = layout.frequency(tile, baby, giant);
                    let small = &polynomials[transform.position(t) * n..][..n];
                    let (spectrum, out) = out.split_at_mut(n);
                    limb.engine().forward(
                        &SmallCoefficients::new(small, transform.shift(t), limb.modulus()).on(context.isa()),
                        spectrum,
                    );
                    order.to_orbit(spectrum, out);
                });
                let rotated: Vec<_> = entries
                    .iter()
                    .zip(spectra.chunks_exact(2 * n))
                    .map(|(&(_, baby), spectrum)| (&spectrum[n..], rotations[baby]))
                    .collect();
                for_each(inner, matrix.parts(inner), |mut part| part.set(run[0], &rotated));
            }
        });
    }
}
