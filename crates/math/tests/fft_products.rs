//! Products by the transform against exact schoolbook products, within the stated error.

use ciphermill_math::fft::{FftEngine, SpectrumBuffer, TorusFft, reference};

#[path = "fft_support/mod.rs"]
mod support;
use support::{Random, paths, sizes};

fn product(fft: &TorusFft, pairs: &[(Vec<i64>, Vec<i64>)], out: &mut [u64]) {
    let n = fft.polynomial_size();
    let (mut lhs, mut rhs) = (vec![0.0; n * pairs.len()], vec![0.0; n * pairs.len()]);
    for (row, (l, r)) in pairs.iter().enumerate() {
        fft.forward(l, &mut lhs[row * n..][..n]);
        fft.forward(r, &mut rhs[row * n..][..n]);
    }
    let mut acc = SpectrumBuffer::zeroed(n);
    fft.multiply_accumulate(&mut acc, &lhs, &rhs);
    fft.inverse_add_u64(&mut acc, out);
}

#[test]
fn small_products_are_exact() {
    let mut random = Random::fixed();
    for isa in paths() {
        for n in sizes().filter(|n| *n <= 4096) {
            let fft = TorusFft::new(n, isa).unwrap();
            let pairs: Vec<_> = (0..3).map(|_| (random.digits(n, 8), random.digits(n, 16))).collect();
            let start: Vec<u64> = (0..n).map(|_| random.word()).collect();
            let mut out = start.clone();
            product(&fft, &pairs, &mut out);
            let mut expected = start;
            for (l, r) in &pairs {
                for (e, p) in expected.iter_mut().zip(reference::negacyclic_product(l, r)) {
                    *e = e.wrapping_add(p);
                }
            }
            assert_eq!(out, expected, "{isa} N = {n}");
        }
    }
}
