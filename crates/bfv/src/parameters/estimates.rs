//! The lattice-estimator's figures for BFV: N and the length of the modulus, with a ternary secret and errors of standard
//! deviation 3.2.

use std::ops::RangeInclusive;

use ciphermill_lattice::SecurityEstimate;

use super::standard::SecurityLevel;

/// The figure of one modulus.
struct Estimate {
    polynomial_size: usize,
    /// log2 of the product of all primes.
    log2_modulus: f64,
    bits: f64,
}

/// A row of the table.
const fn row(polynomial_size: usize, log2_modulus: f64, bits: f64) -> Estimate {
    Estimate { polynomial_size, log2_modulus, bits }
}

const ESTIMATED: &str = "lattice-estimator, cost model MATZOV, cheapest of usvp, bdd and dual hybrid \
                         (crates/bfv/data/security_estimates.csv), for the next larger modulus in the table";

const NONE: &str = "none claimed: the table has N from 1024 to 32768, each up to the modulus of the standard of 2018";

/// The figures of cost model MATZOV in `data/security_estimates.csv`, by N, then by modulus.
const ESTIMATES: &[Estimate] = &[
    row(1024, 13.0, 260.35),
    row(1024, 17.0, 201.00),
    row(1024, 18.0, 189.53),
    row(1024, 22.0, 155.53),
    row(1024, 26.0, 131.09),
    row(1024, 26.5, 128.45),
    row(1024, 27.0, 126.08),
    row(2048, 27.0, 261.68),
    row(2048, 28.0, 251.58),
    row(2048, 36.0, 193.17),
    row(2048, 46.0, 149.17),
    row(2048, 52.0, 131.30),
    row(2048, 53.0, 128.72),
    row(2048, 54.0, 126.21),
    row(4096, 56.0, 257.98),
    row(4096, 57.0, 252.91),
    row(4096, 58.0, 248.46),
    row(4096, 66.0, 215.47),
    row(4096, 72.0, 195.92),
    row(4096, 73.0, 193.19),
    row(4096, 74.0, 190.19),
    row(4096, 75.0, 187.34),
    row(4096, 80.0, 174.83),
    row(4096, 86.0, 161.67),
    row(4096, 92.0, 150.15),
    row(4096, 98.0, 140.27),
    row(4096, 102.0, 134.28),
    row(4096, 104.0, 131.53),
    row(4096, 105.0, 130.25),
    row(4096, 106.0, 128.91),
    row(4096, 106.03, 128.90),
    row(4096, 106.5, 128.27),
    row(4096, 107.0, 127.59),
    row(4096, 108.0, 126.41),
    row(4096, 109.0, 125.10),
    row(8192, 112.0, 261.93),
    row(8192, 114.0, 256.83),
    row(8192, 147.0, 193.30),
    row(8192, 148.0, 191.82),
    row(8192, 180.0, 154.38),
    row(8192, 210.0, 130.76),
    row(8192, 213.0, 128.81),
    row(8192, 214.0, 128.26),
    row(8192, 218.0, 125.75),
    row(16384, 230.0, 256.63),
    row(16384, 296.0, 192.69),
    row(16384, 360.0, 155.26),
    row(16384, 426.0, 129.55),
    row(16384, 430.0, 128.37),
    row(16384, 438.0, 125.92),
    row(32768, 458.0, 259.27),
    row(32768, 464.0, 255.36),
    row(32768, 592.0, 193.67),
    row(32768, 596.0, 192.26),
    row(32768, 720.0, 156.09),
    row(32768, 856.0, 129.76),
    row(32768, 864.0, 128.60),
    row(32768, 881.0, 126.09),
];

/// The rows of all N of the table that are at most `dimension`: a longer secret is at least as hard to find.
fn rows(dimension: usize) -> impl Iterator<Item = &'static Estimate> {
    ESTIMATES.iter().filter(move |e| e.polynomial_size <= dimension)
}

/// The least and the greatest N of the table.
pub(super) fn sizes() -> RangeInclusive<usize> {
    let all = || ESTIMATES.iter().map(|e| e.polynomial_size);
    all().min().unwrap_or(0)..=all().max().unwrap_or(0)
}

/// Security at `dimension` (N, or the dimension of an LWE key) with a modulus of `log2_modulus` bits.
///
/// The figure is the best one of the table's rows whose modulus is at least as large and whose N is at most as large. Between
/// rows it is therefore lower than the true figure: security falls as the modulus grows and rises with the dimension. Beyond
/// the largest modulus, and below the smallest dimension, no security is claimed.
///
/// # Example
/// ```
/// use ciphermill_bfv::parameters::estimate;
///
/// assert!(estimate(4096, 92.0).bits > 128.0);
/// assert!(estimate(4096, 109.0).bits < 128.0);
/// assert_eq!(estimate(512, 20.0).bits, 0.0);
/// ```
pub fn estimate(dimension: usize, log2_modulus: f64) -> SecurityEstimate {
    match rows(dimension).filter(|e| log2_modulus <= e.log2_modulus).map(|e| e.bits).reduce(f64::max) {
        Some(bits) => SecurityEstimate { bits, source: ESTIMATED },
        None => SecurityEstimate { bits: 0.0, source: NONE },
    }
}

/// log2 of the largest modulus in the table that reaches `level` at `dimension`; `None` if none does.
///
/// # Example
/// ```
/// use ciphermill_bfv::SecurityLevel;
/// use ciphermill_bfv::parameters::{largest_modulus_bits, max_modulus_bits};
///
/// // The standard of 2018 allows 109 bits.
/// assert!(largest_modulus_bits(4096, SecurityLevel::Bits128).is_some_and(|bits| bits < 108.0));
/// assert_eq!(largest_modulus_bits(512, SecurityLevel::Bits128), None);
/// ```
pub fn largest_modulus_bits(dimension: usize, level: SecurityLevel) -> Option<f64> {
    rows(dimension).filter(|e| e.bits >= f64::from(level.bits())).map(|e| e.log2_modulus).reduce(f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows on record: N, log2 of the modulus, and the cheapest attack's bits.
    fn record(model: &str) -> Vec<(usize, f64, f64)> {
        let text = include_str!("../../data/security_estimates.csv");
        let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
        let number = |text: &str| text.parse::<f64>().expect("a number");
        let rows = lines.filter_map(|line| {
            let [n, log2_q, of, _, bits] = line.split(',').collect::<Vec<_>>()[..] else { panic!("columns of {line}") };
            (of == model).then(|| (n.parse().expect("a size"), number(log2_q), number(bits)))
        });
        rows.collect()
    }

    #[test]
    fn the_table_is_on_record() {
        let table: Vec<_> = ESTIMATES.iter().map(|e| (e.polynomial_size, e.log2_modulus, e.bits)).collect();
        assert_eq!(table, record("MATZOV"));
        // The other cost model is the more lenient.
        for (n, log2_modulus, bits) in record("BDGL16") {
            assert!(estimate(n, log2_modulus).bits <= bits, "N = {n}, {log2_modulus}");
        }
    }

    /// What the doc of `estimate` relies on.
    #[test]
    fn security_falls_with_the_modulus_and_rises_with_the_dimension() {
        for pair in ESTIMATES.windows(2) {
            let [a, b] = pair else { panic!("two rows") };
            let same = a.polynomial_size == b.polynomial_size;
            assert!(if same {
                a.log2_modulus < b.log2_modulus && a.bits > b.bits
            } else {
                a.polynomial_size < b.polynomial_size
            });
        }
        for (a, b) in ESTIMATES.iter().flat_map(|a| ESTIMATES.iter().map(move |b| (a, b))) {
            // Of two rows, the one with the longer secret and the smaller modulus is the more secure.
            let harder = b.polynomial_size > a.polynomial_size && b.log2_modulus <= a.log2_modulus;
            assert!(!harder || b.bits > a.bits, "N = {}, {}", a.polynomial_size, b.polynomial_size);
        }
    }

    /// No modulus between two rows gets the figure of the smaller one.
    #[test]
    fn between_rows_the_figure_is_the_lower_one() {
        for e in ESTIMATES {
            assert_eq!(estimate(e.polynomial_size, e.log2_modulus).bits, e.bits);
            assert_eq!(estimate(e.polynomial_size, e.log2_modulus - 1e-6).bits, e.bits);
            assert!(estimate(e.polynomial_size, e.log2_modulus + 1e-6).bits < e.bits);
            assert_eq!(estimate(2 * e.polynomial_size - 1, e.log2_modulus).bits, e.bits);
        }
        for level in SecurityLevel::ALL {
            for n in (10..=15).map(|log2| 1 << log2) {
                let max = largest_modulus_bits(n, level).expect("every level is in the table");
                assert!(estimate(n, max).bits >= f64::from(level.bits()));
                assert!(estimate(n, max + 1e-6).bits < f64::from(level.bits()));
            }
        }
        assert_eq!(estimate(1023, 1.0).bits, 0.0);
        assert_eq!(estimate(0, 0.0).bits, 0.0);
        assert_eq!(estimate(4096, f64::NAN).bits, 0.0);
        assert_eq!(largest_modulus_bits(1023, SecurityLevel::Bits128), None);
    }
}
