//! The suite for exact transforms.

use std::fmt::Debug;

use super::{ConformanceError, Words};
use crate::goldilocks::MODULUS as GOLDILOCKS;
use crate::modulus::Modulus;
use crate::ntt::{NttEngine, NttWord, reference};
use crate::{CoefficientSource, SourceView};

/// A source that only [`CoefficientSource::read`] can read.
struct Opaque<W>(Vec<W>);

impl<W: NttWord> CoefficientSource<W> for Opaque<W> {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn read(&self, start: usize, out: &mut [W]) {
        self.0.as_slice().read(start, out);
    }

    fn view(&self) -> SourceView<'_, W> {
        SourceView::Opaque
    }
}

/// The numbers of rows for which sums of products are checked.
const ROWS: [usize; 4] = [0, 1, 2, 7];

/// Checks every method of an exact transform, bit for bit, against [`mod@reference`].
///
/// The suite covers the order of the spectrum, both directions in place and out of place, batches, products, sums of
/// products, and rows of an external product. Spectra over primes below 2^62 must be canonical. `seed` selects the
/// polynomials.
///
/// # Errors
/// The first rule that the engine breaks.
///
/// # Example
/// ```
/// use ciphermill_math::ntt::Prime32Ntt;
/// use ciphermill_math::{Isa, conformance};
///
/// conformance::ntt(&Prime32Ntt::new(256, 7681, Isa::current())?, 1)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn ntt<W>(engine: &dyn NttEngine<W>, seed: u64) -> Result<(), ConformanceError>
where
    W: NttWord + TryFrom<u64, Error: Debug> + Into<u64>,
{
    let (n, p) = (engine.polynomial_size(), engine.modulus());
    let rule = |holds: bool, check: &str| {
        let error = || ConformanceError {
            engine: engine.info().to_string(),
            polynomial_size: n,
            check: format!("{check}, p = {p}, seed {seed}"),
        };
        if holds { Ok(()) } else { Err(error()) }
    };
    rule(n.is_power_of_two(), "N is a power of two")?;
    let field = if p == GOLDILOCKS { None } else { Some(Modulus::new(p)) };
    let field = match field {
        None => None,
        Some(Ok(modulus)) => Some(modulus),
        Some(Err(_)) => return rule(false, "the modulus is a prime"),
    };
    let exponents: Vec<usize> = (0..n).map(|position| engine.exponent(position)).collect();
    let mut seen = vec![false; n];
    for &e in &exponents {
        rule(e % 2 == 1 && e < 2 * n && !std::mem::replace(&mut seen[e / 2], true), "each odd exponent occurs once")?;
    }

    let narrow = |values: &[u64]| -> Vec<W> {
        values.iter().map(|&x| W::try_from(x).expect("a residue fits the engine's word")).collect()
    };
    let wide = |words: &[W]| -> Vec<u64> { words.iter().map(|&x| x.into()).collect() };
    // Over Goldilocks a word represents its residue; elsewhere it is the residue.
    let residues = |words: &[W]| -> Vec<u64> {
        wide(words).into_iter().map(|x| if field.is_none() { x % p } else { x }).collect()
    };
    let spectrum_of = |polynomial: &[u64]| -> Vec<u64> {
        let mut values = polynomial.to_vec();
        match field {
            None => reference::forward(&mut values),
            Some(modulus) => reference::prime::forward(modulus, &mut values),
        }
        exponents.iter().map(|e| values[reference::bit_reverse(e / 2, n.trailing_zeros())]).collect()
    };
    let mul = |a: u64, b: u64| (u128::from(a) * u128::from(b) % u128::from(p)) as u64;
    let add = |a: u64, b: u64| ((u128::from(a) + u128::from(b)) % u128::from(p)) as u64;

    let mut words = Words(seed);
    let unit = |index: usize, value: u64| {
        let mut polynomial = vec![0; n];
        polynomial[index] = value;
        polynomial
    };
    let polynomials =
        [words.residues(n, p), words.residues(n, p), vec![0; n], vec![p - 1; n], unit(0, 1), unit(n - 1, p - 1)];
    for polynomial in &polynomials {
        let (given, expected) = (narrow(polynomial), spectrum_of(polynomial));
        let mut spectrum = vec![W::default(); n];
        engine.forward(&given, &mut spectrum);
        rule(residues(&spectrum) == expected, "forward gives the values at the odd powers of psi")?;
        engine.forward(&Opaque(given.clone()), &mut spectrum);
        rule(residues(&spectrum) == expected, "forward reads an opaque source")?;
        let mut values = given.clone();
        engine.forward_in_place(&mut values);
        rule(residues(&values) == expected, "forward in place")?;
        engine.inverse_in_place(&mut values);
        rule(values == given, "inverse in place")?;
        let mut back = vec![W::default(); n];
        engine.inverse(&mut spectrum, &mut back);
        rule(back == given, "inverse")?;
    }

    let sources: Vec<Vec<W>> = polynomials.iter().map(|polynomial| narrow(polynomial)).collect();
    let sources: Vec<&dyn CoefficientSource<W>> = sources.iter().map(|source| source as _).collect();
    let mut spectra = vec![W::default(); sources.len() * n];
    engine.forward_batch(&sources, &mut spectra);
    let expected: Vec<u64> = polynomials.iter().flat_map(|polynomial| spectrum_of(polynomial)).collect();
    rule(residues(&spectra) == expected, "a batch is the transforms of its sources")?;

    let (mut product, factor) = (narrow(&words.residues(n, p)), narrow(&words.residues(n, p)));
    let expected: Vec<u64> = wide(&product).into_iter().zip(wide(&factor)).map(|(x, y)| mul(x, y)).collect();
    engine.multiply(&mut product, &factor);
    rule(wide(&product) == expected, "a product of spectra is canonical and pointwise")?;

    let sum = |acc: &[u64], lhs: &[u64], rhs: &[u64]| -> Vec<u64> {
        let mut acc = acc.to_vec();
        for (lhs, rhs) in lhs.chunks_exact(n).zip(rhs.chunks_exact(n)) {
            acc.iter_mut().zip(lhs.iter().zip(rhs)).for_each(|(s, (&x, &y))| *s = add(*s, mul(x, y)));
        }
        acc
    };
    for rows in ROWS {
        for extreme in [false, true] {
            let mut any = |count| if extreme { vec![p - 1; count] } else { words.residues(count, p) };
            let (acc, lhs, rhs) = (any(n), any(rows * n), any(rows * n));
            let mut given = narrow(&acc);
            engine.multiply_accumulate(&mut given, &narrow(&lhs), &narrow(&rhs));
            rule(wide(&given) == sum(&acc, &lhs, &rhs), "a sum of products of spectra is canonical and exact")?;
        }
    }

    let columns: Vec<Vec<u64>> = (0..2).map(|_| words.residues(sources.len() * n, p)).collect();
    let narrowed: Vec<Vec<W>> = columns.iter().map(|column| narrow(column)).collect();
    let acc = words.residues(2 * n, p);
    let mut given = narrow(&acc);
    let mut scratch = vec![W::default(); sources.len() * n];
    let slices: Vec<&[W]> = narrowed.iter().map(|column| column.as_slice()).collect();
    engine.forward_multiply_accumulate(&sources, &slices, &mut given, &mut scratch);
    let lhs: Vec<u64> = polynomials.iter().flat_map(|polynomial| spectrum_of(polynomial)).collect();
    let expected: Vec<u64> =
        acc.chunks_exact(n).zip(&columns).flat_map(|(acc, column)| sum(acc, &lhs, column)).collect();
    rule(residues(&given) == expected, "a row of an external product")
}
