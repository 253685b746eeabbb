//! Packed spectra: products within the stated error of those of plain spectra, at every size and on every path.

use ciphermill_math::fft::{FftEngine, PackedWord, TorusFft};

use crate::fft_support::{Random, paths, sizes};

/// Σ_r lhs_r ∘ rhs_(r,c) per column, by the plain kernel.
fn plain(fft: &TorusFft, lhs: &[f64], rhs: &[f64], columns: usize) -> Vec<f64> {
    let n = fft.polynomial_size();
    let mut sums = vec![0.0; columns * n];
    for (c, sum) in sums.chunks_exact_mut(n).enumerate() {
        for (lhs, row) in lhs.chunks_exact(n).zip(rhs.chunks_exact(columns * n)) {
            fft.multiply_accumulate(sum, lhs, &row[c * n..][..n]);
        }
    }
    sums
}

fn spectra(fft: &TorusFft, random: &mut Random, count: usize, bits: u32) -> Vec<f64> {
    let n = fft.polynomial_size();
    let mut out = vec![0.0; count * n];
    out.chunks_exact_mut(n).for_each(|s| fft.forward(&random.digits(n, bits), s));
    out
}

fn packed(fft: &TorusFft, word: PackedWord, spectra: &[f64]) -> Vec<u8> {
    let mut out = vec![0xa5; word.packed_len(spectra.len() / fft.polynomial_size(), fft.polynomial_size())];
    fft.pack(word, spectra, &mut out);
    out
}

fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |l, x| x.abs().max(l))
}

#[test]
fn products_with_packed_rows_err_by_no_more_than_stated() {
    let mut random = Random::fresh();
    for n in sizes() {
        for isa in paths() {
            let fft = TorusFft::new(n, isa).unwrap();
            // Five columns run through the kernels for two at a time and for three.
            for (rows, columns) in [(1, 1), (5, 2), (2, 3), (3, 5)] {
                if n > 16384 && columns != 2 {
                    continue;
                }
                let lhs = spectra(&fft, &mut random, rows, 8);
                let rhs = spectra(&fft, &mut random, rows * columns, 63);
                let expected = plain(&fft, &lhs, &rhs, columns);
                for word in [PackedWord::Fixed48, PackedWord::Float64] {
                    let packed = packed(&fft, word, &rhs);
                    let mut sums = vec![f64::NAN; columns * n];
                    fft.multiply_packed(word, &mut [&mut sums], &[&lhs], &packed, false);
                    // Per row: half a unit of both parts times both parts of the operand, and roundings of 2^-53.
                    let unit = match word {
                        PackedWord::Fixed48 => largest(&rhs) / (2f64.powi(47) - 1.0),
                        PackedWord::Float64 => 0.0,
                    };
                    let rounding = 8.0 * rows as f64 * f64::EPSILON * largest(&lhs) * largest(&rhs);
                    let bound = rows as f64 * largest(&lhs) * unit + rounding;
                    let error = sums.iter().zip(&expected).map(|(s, e)| s - e).collect::<Vec<_>>();
                    assert!(largest(&error) <= bound, "{isa} N = {n}, {rows} x {columns}, {word:?}");
                    if word == PackedWord::Fixed48 && n >= 1024 {
                        // Each of the two products in a part of the sum errs by u/√12 times a part of the operand.
                        let lhs2 = lhs.iter().map(|x| x * x).sum::<f64>() / (n / 2) as f64;
                        let expected = unit * unit / 12.0 * lhs2;
                        let measured = error.iter().map(|x| x * x).sum::<f64>() / error.len() as f64;
                        let ratio = measured / expected;
                        assert!((0.8..1.25).contains(&ratio), "{isa} N = {n}, {rows} x {columns}: {ratio}");
                    }
                    // Operands do not see each other.
                    let other = spectra(&fft, &mut random, rows, 8);
                    let mut three = [(); 3].map(|()| vec![f64::NAN; columns * n]);
                    let [a, b, c] = &mut three;
                    fft.multiply_packed(word, &mut [a, b, c], &[&lhs, &other, &lhs], &packed, false);
                    assert!(three[0] == sums && three[2] == sums && three[1] != sums, "{isa} N = {n}: operands");
                    let mut twice = sums.clone();
                    fft.multiply_packed(word, &mut [&mut twice], &[&lhs], &packed, true);
                    assert!(twice.iter().zip(&sums).all(|(t, s)| *t == s + s), "{isa} N = {n}: accumulated");
                }
            }
        }
    }
}

#[test]
fn packed_zeros_and_single_values() {
    let mut random = Random::fixed();
    for n in sizes().filter(|n| *n <= 4096) {
        for isa in paths() {
            let fft = TorusFft::new(n, isa).unwrap();
            let mut one = vec![0i64; n];
            one[0] = 1;
            let any = spectra(&fft, &mut random, 1, 63);
            let (mut lhs, mut minimum) = (vec![0.0; n], vec![0.0; n]);
            fft.forward(&one, &mut lhs);
            // A constant polynomial: every real part is the peak, and comes back to the last bit but one.
            one[0] = i64::MIN;
            fft.forward(&one, &mut minimum);
            for word in [PackedWord::Fixed48, PackedWord::Float64] {
                let mut sums = vec![f64::NAN; n];
                fft.multiply_packed(word, &mut [&mut sums], &[&any], &packed(&fft, word, &vec![0.0; n]), false);
                assert!(sums.iter().all(|s| *s == 0.0), "{isa} N = {n}: {word:?}");
                // Too little for a unit: as good as zeros.
                let tiny = packed(&fft, word, &vec![1e-300; n]);
                fft.multiply_packed(word, &mut [&mut sums], &[&any], &tiny, false);
                assert!(largest(&sums) < 1e-270, "{isa} N = {n}: {word:?}");
                assert!(sums.iter().all(|s| s.is_finite()), "{isa} N = {n}: {word:?}");
                fft.multiply_packed(word, &mut [&mut sums], &[&lhs], &packed(&fft, word, &minimum), false);
                let error = sums.iter().zip(&minimum).map(|(s, m)| s - m).collect::<Vec<_>>();
                assert!(largest(&error) <= 2f64.powi(63 - 52), "{isa} N = {n}: {word:?}");
            }
        }
    }
}

#[test]
#[should_panic(expected = "bytes of the packed spectra")]
fn packed_rows_of_another_length() {
    let fft = TorusFft::new(64, ciphermill_math::Isa::Portable).unwrap();
    fft.multiply_packed(PackedWord::Fixed48, &mut [&mut [0.0; 64]], &[&[0.0; 64]], &[0; 64 * 6], false);
}
