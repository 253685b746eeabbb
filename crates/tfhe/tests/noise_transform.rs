//! The error that the f64 transform adds to an external product, measured against exact integer products.

use ciphermill_lattice::gadget::SignedDecomposer;
use ciphermill_lattice::{Csprng, SecretSeed, Torus};
use ciphermill_math::Isa;
use ciphermill_tfhe::Backend;
use ciphermill_tfhe::bootstrap::TransformedGgsw;
use ciphermill_tfhe::dimension::{Decomposition, GlweDimension, PolynomialSize};
use ciphermill_tfhe::ggsw::{GgswCiphertext, GgswShape};
use ciphermill_tfhe::glwe::GlweCiphertext;
use ciphermill_tfhe::noise::{self, FFT_ERROR_FACTOR};

/// Coefficients of each output polynomial that are computed exactly.
const CHECKED: usize = 256;

/// Coefficient `h` of the negacyclic product of digits and a torus polynomial, modulo 2^64.
fn coefficient(digits: &[i64], torus: &[u64], h: usize) -> u64 {
    let n = torus.len();
    let low = digits[..=h].iter().zip(torus[..=h].iter().rev());
    let high = digits[h + 1..].iter().zip(torus[h + 1..].iter().rev());
    debug_assert_eq!(low.len() + high.len(), n);
    let sum = |pairs: u64, (&d, &t): (&i64, &u64)| pairs.wrapping_add((d as u64).wrapping_mul(t));
    low.fold(0u64, sum).wrapping_sub(high.fold(0u64, sum))
}

/// Mean square error, relative to the torus, of the FFT's external product of uniform ciphertexts.
fn measured_variance(isa: Isa, k: usize, size: usize, gadget: Decomposition) -> f64 {
    let shape = GgswShape {
        glwe_dimension: GlweDimension(k),
        polynomial_size: PolynomialSize::new(size).expect("a power of two"),
        decomposition: gadget,
    };
    let mut rng = Csprng::from_secret(&SecretSeed::from_bytes([17; 32]), size as u64);
    let mut rows = vec![0u64; shape.len()];
    let mut glwe = vec![0u64; shape.row_len()];
    u64::fill_random(&mut rng, &mut rows);
    u64::fill_random(&mut rng, &mut glwe);
    let decomposer = SignedDecomposer::<u64>::new(gadget.base_log, gadget.level_count).expect("fits");
    let digits: Vec<Vec<i64>> = glwe
        .chunks_exact(size)
        .flat_map(|p| (1..=gadget.level_count.0).map(move |level| (p, level)))
        .map(|(p, level)| p.iter().map(|&x| decomposer.digit(x, level)).collect())
        .collect();
    let ggsw = GgswCiphertext::from_coefficients(rows.clone(), shape).expect("its shape");
    let glwe = GlweCiphertext::from_coefficients(glwe, shape.polynomial_size).expect("its shape");
    let product = TransformedGgsw::new(&ggsw, Backend::Fft, isa)
        .and_then(|g| g.external_product(&glwe))
        .expect("sizes that the FFT has");
    let mut sum = 0.0;
    for (column, polynomial) in product.coefficients().chunks_exact(size).enumerate() {
        for h in (0..CHECKED).map(|i| i * size / CHECKED + i % (size / CHECKED)) {
            let exact = rows.chunks_exact(shape.row_len()).zip(&digits).fold(0u64, |sum, (row, digits)| {
                sum.wrapping_add(coefficient(digits, &row[column * size..][..size], h))
            });
            let error = polynomial[h].wrapping_sub(exact) as i64 as f64 * (-64f64).exp2();
            sum += error * error;
        }
    }
    sum / ((k + 1) * CHECKED) as f64
}

/// The constant of the noise model bounds the measured error, by no more than a factor of 2, at every size and gadget
/// in use and on every instruction set. With 512 or more samples the root mean square is known to about 3 %.
#[test]
fn fft_error_factor_holds() {
    for (k, size, base_log, levels) in [
        (4, 512, 23, 1),
        (3, 512, 17, 1),
        (1, 512, 9, 5),
        (2, 1024, 16, 2),
        (1, 1024, 9, 5),
        (1, 2048, 23, 1),
        (1, 4096, 22, 1),
        (1, 8192, 15, 2),
        (1, 16384, 9, 5),
        (1, 16384, 14, 3),
        (1, 32768, 11, 3),
    ] {
        let gadget = Decomposition::new(base_log, levels);
        for isa in Isa::available() {
            let measured = measured_variance(isa, k, size, gadget);
            let unit = noise::fft_product_variance(GlweDimension(k), size, gadget, 1.0);
            let factor = (measured / unit).sqrt();
            let case = format!("{isa}, k {k}, N {size}, B 2^{base_log}, l {levels}");
            println!("{case}: sd 2^{:.2}, factor {factor:.3}", 0.5 * measured.log2());
            assert!(factor < FFT_ERROR_FACTOR && factor > FFT_ERROR_FACTOR / 2.0, "{case}: {factor}");
        }
    }
}
