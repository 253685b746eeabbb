//! Every instruction set's transform against the plain definition, at every size.

use ciphermill_math::fft::{FftEngine, FftError, SpectrumBuffer, TorusFft, engine, reference};
use ciphermill_math::{BalancedDigit, CoefficientSource, EngineKind, Isa, SourceView};

use crate::fft_support::{Random, paths, sizes};

#[test]
fn the_textbook_transform_is_the_definition() {
    let mut random = Random::fixed();
    for n in [16, 32, 64, 256, 1024] {
        let a = random.digits(n, 20);
        for (k, (x, y)) in reference::evaluate(&a).into_iter().zip(reference::transform(&a)).enumerate() {
            let error = (x.0 - y.0).hypot(x.1 - y.1);
            assert!(error < 1e-8 * n as f64, "N = {n}, point {k}: {error}");
        }
    }
}

/// Distance from the reference relative to the largest value, where nothing larger than a few rounding errors of each
/// level is due.
fn assert_near(fft: &TorusFft, spectrum: &[f64], expected: &[reference::Point], what: &str) {
    let n = fft.polynomial_size();
    let rms = (expected.iter().map(|z| z.0 * z.0 + z.1 * z.1).sum::<f64>() / expected.len() as f64).sqrt();
    let tolerance = 8.0 * f64::from(n.trailing_zeros()) * f64::EPSILON * rms.max(1.0);
    for (k, expected) in expected.iter().enumerate() {
        let value = fft.value_at(spectrum, k);
        let error = (value.0 - expected.0).hypot(value.1 - expected.1);
        assert!(error <= tolerance, "{} N = {n} {what}: point {k} off by {error}, rms {rms}", fft.info());
    }
}

#[test]
fn forward_gives_the_values_at_the_odd_roots() {
    let mut random = Random::fresh();
    for isa in paths() {
        for n in sizes() {
            let fft = TorusFft::new(n, isa).unwrap();
            for bits in [8, 63] {
                let a = random.digits(n, bits);
                let mut spectrum = SpectrumBuffer::zeroed(n);
                fft.forward(&a, &mut spectrum);
                assert_near(&fft, &spectrum, &reference::transform(&a), "random");
            }
        }
    }
}

#[test]
fn monomials_give_powers_of_the_roots() {
    for isa in paths() {
        for n in sizes() {
            let fft = TorusFft::new(n, isa).unwrap();
            for j in [0, 1, 2, 3, n / 4 + 1, n / 2 - 1, n / 2, n - 1] {
                let mut a = vec![0i64; n];
                a[j] = 1;
                let mut spectrum = vec![0.0; n];
                fft.forward(&a, &mut spectrum);
                let power = |k: usize| {
                    let (sin, cos) = (std::f64::consts::PI * ((4 * k + 1) * j % (2 * n)) as f64 / n as f64).sin_cos();
                    (cos, sin)
                };
                assert_near(&fft, &spectrum, &(0..n / 2).map(power).collect::<Vec<_>>(), "monomial");
            }
        }
    }
}

#[test]
fn the_transform_is_linear() {
    let mut random = Random::fixed();
    for isa in paths() {
        for n in sizes() {
            let fft = TorusFft::new(n, isa).unwrap();
            let (a, b) = (random.digits(n, 20), random.digits(n, 20));
            let sum: Vec<i64> = a.iter().zip(&b).map(|(a, b)| 3 * a - 5 * b).collect();
            let mut spectra = vec![0.0; 2 * n];
            fft.forward_batch(&[&a, &b], &mut spectra);
            let (a, b) = spectra.split_at(n);
            let expected: Vec<reference::Point> = (0..n / 2)
                .map(|k| (fft.value_at(a, k), fft.value_at(b, k)))
                .map(|(a, b)| (3.0 * a.0 - 5.0 * b.0, 3.0 * a.1 - 5.0 * b.1))
                .collect();
            let mut spectrum = vec![0.0; n];
            fft.forward(&sum, &mut spectrum);
            assert_near(&fft, &spectrum, &expected, "3a - 5b");
        }
    }
}

/// Counts how often each coefficient is read.
struct Counting {
    values: Vec<i64>,
    reads: Vec<std::cell::Cell<u32>>,
}

impl CoefficientSource<i64> for Counting {
    fn len(&self) -> usize {
        self.values.len()
    }

    fn read(&self, start: usize, out: &mut [i64]) {
        self.values.as_slice().read(start, out);
        self.reads[start..start + out.len()].iter().for_each(|count| count.set(count.get() + 1));
    }
}

#[test]
fn every_coefficient_is_read_once() {
    for isa in paths() {
        for n in sizes() {
            let source = Counting { values: vec![1; n], reads: vec![std::cell::Cell::new(0); n] };
            TorusFft::new(n, isa).unwrap().forward(&source, &mut vec![0.0; n]);
            assert!(source.reads.iter().all(|count| count.get() == 1), "{isa} N = {n}");
        }
    }
}

/// Coefficients by way of `read`, and the description that must agree with it.
struct Described<'a> {
    values: Vec<i64>,
    view: SourceView<'a, i64>,
}

impl CoefficientSource<i64> for Described<'_> {
    fn len(&self) -> usize {
        self.values.len()
    }

    fn read(&self, start: usize, out: &mut [i64]) {
        self.values.as_slice().read(start, out);
    }

    fn view(&self) -> SourceView<'_, i64> {
        self.view
    }
}

/// Digit `level` of a decomposition in base 2^`base_log`, of words whose lowest `lowest` bits are zero.
fn digit(base_log: u32, level: u32, lowest: u32) -> BalancedDigit {
    let shift = 64 - base_log * level;
    // Half a base at every lower digit's place; at least half a unit of the lowest one for rounding.
    let offset =
        (0..64 - lowest).filter(|bit| *bit == 63 || (63 - bit) % base_log == 0).fold(0u64, |sum, bit| sum | 1 << bit);
    BalancedDigit { offset, shift, mask: u64::MAX >> (64 - base_log), half: 1 << (base_log - 1) }
}

#[test]
fn coefficients_are_the_same_by_description_and_by_reading() {
    let mut random = Random::fresh();
    for isa in paths() {
        for n in sizes() {
            let fft = TorusFft::new(n, isa).unwrap();
            let mut words: Vec<u64> = (0..n).map(|_| random.word()).collect();
            words[..4].copy_from_slice(&[0, u64::MAX, 1 << 63, (1 << 63) - 1]);
            let halves: Vec<u32> = words.iter().map(|word| (word >> 32) as u32).collect();
            let mut spectra = SpectrumBuffer::zeroed(2 * n);
            let (described, opaque) = spectra.split_at_mut(n);
            let mut check = |values: Vec<i64>, view: SourceView<'_, i64>| {
                let source = Described { values, view };
                fft.forward(&source, described);
                fft.forward(&Described { values: source.values, view: SourceView::Opaque }, opaque);
                let same = described.iter().zip(&*opaque).all(|(a, b)| a.to_bits() == b.to_bits());
                assert!(same, "{isa} N = {n}: {:.120}", format!("{view:?}"));
            };
            let integers: Vec<i64> = words.iter().map(|word| *word as i64).collect();
            check(integers.clone(), SourceView::Slice(&integers));
            for (base_log, level) in
                [(9, 1), (9, 2), (9, 5), (1, 64), (23, 1), (8, 8), (32, 2), (52, 1), (53, 1), (63, 1)]
            {
                let digit = digit(base_log, level, 0);
                check(words.iter().map(|word| digit.extract(*word)).collect(), SourceView::Digits(&words, digit));
            }
            for (base_log, level) in [(9, 1), (9, 3), (32, 1), (8, 4), (1, 32), (20, 2)] {
                let digit = digit(base_log, level, 32);
                let wide = |half: &u32| digit.extract(u64::from(*half) << 32);
                check(halves.iter().map(wide).collect(), SourceView::Digits32(&halves, digit));
            }
        }
    }
}

#[test]
fn asking_for_memory_changes_nothing() {
    let mut random = Random::fixed();
    for isa in paths() {
        for n in sizes() {
            let fft = TorusFft::new(n, isa).unwrap();
            let a = random.digits(n, 20);
            let (mut plain, mut prefetching) = (vec![0.0; n], vec![0.0; n]);
            fft.forward(&a, &mut plain);
            for len in [0, 1, 63, 64, 1000, 40 * n] {
                prefetching.fill(0.0);
                fft.forward_prefetching(&a, &mut prefetching, &vec![0; len]);
                assert_eq!(plain, prefetching, "{isa} N = {n}, {len} bytes");
            }
        }
    }
}

#[test]
fn spectra_may_start_anywhere() {
    // Only alignment to 8 bytes is asked of the caller.
    let mut random = Random::fixed();
    for isa in paths() {
        let n = 1024;
        let fft = TorusFft::new(n, isa).unwrap();
        let a = random.digits(n, 8);
        let mut aligned = SpectrumBuffer::zeroed(n);
        fft.forward(&a, &mut aligned);
        assert_eq!(aligned.as_ptr() as usize % 64, 0);
        for offset in 1..8 {
            let mut words = SpectrumBuffer::zeroed(n + 8);
            let spectrum = &mut words[offset..offset + n];
            fft.forward(&a, spectrum);
            assert_eq!(spectrum, &*aligned);
            let mut out = vec![0u64; n + 1];
            fft.inverse_add_u64(spectrum, &mut out[1..]);
            assert!(out[1..].iter().zip(&a).all(|(out, a)| *out == *a as u64), "{isa} offset {offset}");
        }
    }
}

#[test]
fn bad_sizes_are_refused_with_the_bound() {
    for n in [0, 1, 8, 48, (1 << 17) + 1, 1 << 18] {
        let error = TorusFft::new(n, Isa::Portable).unwrap_err();
        assert_eq!(error, FftError::PolynomialSize { given: n, min: 16, max: 131072 });
        assert!(error.to_string().contains("16 to 131072"), "{error}");
        assert_eq!(engine(n, Isa::Portable).unwrap_err(), error);
    }
    for isa in Isa::ALL.into_iter().filter(|isa| !isa.is_available()) {
        let error = TorusFft::new(1024, isa).unwrap_err();
        assert_eq!(error, FftError::IsaUnavailable { asked: isa, best: Isa::best() });
    }
}

#[test]
fn engines_are_made_once() {
    let first = engine(2048, Isa::best()).unwrap();
    let second = engine(2048, Isa::best()).unwrap();
    assert!(std::sync::Arc::ptr_eq(&first, &second));
    assert_eq!((first.polynomial_size(), first.info().kind), (2048, EngineKind::Cpu(Isa::best())));
    assert_eq!(engine(1024, Isa::Portable).unwrap().info().kind, EngineKind::Cpu(Isa::Portable));
}
