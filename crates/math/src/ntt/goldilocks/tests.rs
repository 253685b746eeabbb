//! Every kernel against plain definitions, entry by entry. The tests need the private order of spectra and a choice of
//! kernels that the public interface does not offer.

use super::GoldilocksNtt;
use crate::goldilocks::{MODULUS, reduce_u64, reference as field};
use crate::ntt::{NttEngine, reference};
use crate::{BalancedDigit, CoefficientSource, Isa, SourceView};
use ciphermill_testing::{Need, available, not_run};

/// Every kernel that this CPU can run at this N, including AVX-512 without IFMA. The output names the other kernels.
fn engines(n: usize) -> Vec<(String, GoldilocksNtt)> {
    let mut engines = Vec::new();
    for isa in available(Isa::ALL, |isa| isa.is_available()) {
        engines.push((isa.to_string(), GoldilocksNtt::with_kernels(n, isa, false).unwrap()));
        if isa.has_ifma() {
            engines.push((format!("{isa} with IFMA"), GoldilocksNtt::with_kernels(n, isa, true).unwrap()));
        } else if isa == Isa::Avx512 {
            not_run(Need::Cpu, "AVX-512 with IFMA");
        }
    }
    engines
}

fn words(seed: u64, count: usize) -> Vec<u64> {
    // SplitMix64.
    let mut state = seed;
    (0..count)
        .map(|_| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        })
        .collect()
}

fn inputs(n: usize) -> Vec<Vec<u64>> {
    let unit = |j: usize, value: u64| {
        let mut x = vec![0; n];
        x[j] = value;
        x
    };
    let edges = [0, 1, MODULUS - 1, 1 << 32, (1 << 32) - 1, (1 << 32) + 1, MODULUS - (1 << 32)];
    vec![
        words(n as u64, n).into_iter().map(reduce_u64).collect(),
        words(7 * n as u64, n).into_iter().map(|x| edges[(x % 7) as usize]).collect(),
        vec![0; n],
        vec![MODULUS - 1; n],
        unit(0, 1),
        unit(1, 1),
        unit(n / 2, MODULUS - 1),
        unit(n - 1, 1),
    ]
}

#[test]
fn spectra_equal_the_golden_model_and_come_back() {
    for log_n in 4..=17 {
        let n = 1 << log_n;
        let engines = engines(n);
        for input in inputs(n) {
            let mut expected = input.clone();
            reference::forward(&mut expected);
            for (path, engine) in &engines {
                let mut spectrum = vec![0; n];
                engine.forward(&input, &mut spectrum);
                for (place, &value) in spectrum.iter().enumerate() {
                    let entry = reference::bit_reverse(engine.exponent(place) / 2, log_n);
                    assert_eq!(reduce_u64(value), expected[entry], "{path}, N = {n}, entry {entry}");
                }
                let mut in_place = input.clone();
                engine.forward_in_place(&mut in_place);
                assert_eq!(in_place, spectrum, "{path}, N = {n}, in place");
                engine.inverse_in_place(&mut in_place);
                assert_eq!(in_place, input, "{path}, N = {n}, in place");
                let mut coefficients = vec![0; n];
                engine.inverse(&mut spectrum, &mut coefficients);
                assert_eq!(coefficients, input, "{path}, N = {n}");
            }
        }
    }
}

/// A spectrum may hold any words; the inverse must not depend on the representative.
#[test]
fn inverse_accepts_any_words() {
    for log_n in 4..=17 {
        let n = 1 << log_n;
        for (path, engine) in engines(n) {
            // Every third word is not canonical. The second input has the largest word everywhere.
            let mixed: Vec<u64> = words(3, n)
                .into_iter()
                .enumerate()
                .map(|(i, x)| if i % 3 == 0 { MODULUS + (x >> 33) } else { x })
                .collect();
            for mut lazy in [mixed, vec![u64::MAX; n]] {
                let mut expected = vec![0; n];
                for (place, &value) in lazy.iter().enumerate() {
                    expected[reference::bit_reverse(engine.exponent(place) / 2, log_n)] = reduce_u64(value);
                }
                reference::inverse_unnormalised(&mut expected);
                reference::normalise(&mut expected);
                let mut coefficients = vec![0; n];
                engine.inverse(&mut lazy, &mut coefficients);
                assert_eq!(coefficients, expected, "{path}, N = {n}");
            }
        }
    }
}

/// A source that is not a slice and counts the reads of each coefficient.
struct Counting(std::sync::Mutex<Vec<u32>>);

impl CoefficientSource<u64> for Counting {
    fn len(&self) -> usize {
        self.0.lock().unwrap().len()
    }

    fn read(&self, start: usize, out: &mut [u64]) {
        let mut counts = self.0.lock().unwrap();
        for (j, x) in out.iter_mut().enumerate() {
            counts[start + j] += 1;
            *x = (start + j) as u64;
        }
    }
}

#[test]
fn each_coefficient_is_read_once() {
    for log_n in 4..=17 {
        let n = 1 << log_n;
        let polynomial: Vec<u64> = (0..n as u64).collect();
        for (path, engine) in engines(n) {
            let source = Counting(std::sync::Mutex::new(vec![0; n]));
            let (mut spectrum, mut expected) = (vec![0; n], vec![0; n]);
            engine.forward(&source, &mut spectrum);
            assert!(source.0.lock().unwrap().iter().all(|&count| count == 1), "{path}, N = {n}");
            engine.forward(&polynomial, &mut expected);
            assert_eq!(spectrum, expected, "{path}, N = {n}");
        }
    }
}

/// A source that describes itself but whose `read` is wrong.
struct Described<'a>(SourceView<'a, u64>, usize);

impl CoefficientSource<u64> for Described<'_> {
    fn len(&self) -> usize {
        self.1
    }

    fn read(&self, _start: usize, _out: &mut [u64]) {
        unreachable!("it describes itself");
    }

    fn view(&self) -> SourceView<'_, u64> {
        self.0
    }
}

fn residue(digit: i64) -> u64 {
    if digit < 0 { MODULUS - digit.unsigned_abs() } else { digit as u64 }
}

/// Digits computed in registers are those of [`BalancedDigit::extract`].
#[test]
fn digits_are_those_of_their_definition() {
    let gadgets = [(9u32, 5u32), (1, 1), (23, 2), (8, 4), (32, 1), (31, 2)];
    for (log_n, (base_log, levels)) in (4..=17).zip(gadgets.into_iter().cycle()) {
        let n = 1 << log_n;
        let half_step = 1u64 << (63 - base_log * levels);
        let offset = (1..=levels).fold(half_step, |sum, level| sum + (1 << (63 - base_log * (level - 1))));
        let mut x = words(9, n);
        x[..8].copy_from_slice(&[0, 1, u64::MAX, 1 << 63, (1 << 63) - 1, 1 << 32, (1 << 32) - 1, u64::MAX << 32]);
        let x32: Vec<u32> = x.iter().map(|&x| (x >> 32) as u32).collect();
        let residues: Vec<u64> = x.iter().map(|&x| reduce_u64(x)).collect();
        for level in [1, levels] {
            let (mask, half) = ((1 << base_log) - 1, 1 << (base_log - 1));
            let digit = BalancedDigit { offset, shift: 64 - base_log * level, mask, half };
            let cases = [
                (SourceView::Digits(&x, digit), x.iter().map(|&x| digit.extract(x)).collect::<Vec<_>>()),
                (
                    SourceView::Digits32(&x32, digit),
                    x32.iter().map(|&x| digit.extract(u64::from(x) << 32)).collect::<Vec<_>>(),
                ),
                (
                    SourceView::ResidueDigits(&residues, digit),
                    residues
                        .iter()
                        .map(|&x| digit.extract(((u128::from(x) << 64) / u128::from(MODULUS)) as u64))
                        .collect::<Vec<_>>(),
                ),
            ];
            for (view, digits) in cases {
                let expected: Vec<u64> = digits.into_iter().map(residue).collect();
                for (path, engine) in engines(n) {
                    let (mut spectrum, mut of_words) = (vec![0; n], vec![0; n]);
                    engine.forward(&Described(view, n), &mut spectrum);
                    engine.forward(&expected, &mut of_words);
                    assert_eq!(spectrum, of_words, "{path}, N = {n}, base 2^{base_log}, level {level}");
                }
            }
        }
    }
}

#[test]
#[should_panic = "number of coefficients that the source describes"]
fn views_of_another_length_are_refused() {
    let engine = GoldilocksNtt::new(64, Isa::Portable).unwrap();
    engine.forward(&Described(SourceView::Slice(&[0; 63]), 64), &mut [0; 64]);
}

/// A source that reports N coefficients at the first call, and then the number of its view.
struct Fickle(std::cell::Cell<Option<usize>>, [u64; 8]);

impl CoefficientSource<u64> for Fickle {
    fn len(&self) -> usize {
        self.0.take().unwrap_or(self.1.len())
    }

    fn read(&self, _start: usize, _out: &mut [u64]) {
        unreachable!("it describes itself");
    }

    fn view(&self) -> SourceView<'_, u64> {
        SourceView::Slice(&self.1)
    }
}

/// No word past a view is read, even if the source's length agrees with the view when it is compared.
#[test]
fn views_are_compared_with_the_size_of_the_transform() {
    for n in [16, 64, 1 << 15] {
        for (path, engine) in engines(n) {
            let source = Fickle(std::cell::Cell::new(Some(n)), [5; 8]);
            let fused = Fickle(std::cell::Cell::new(Some(n)), [5; 8]);
            let refused = |f: &mut dyn FnMut()| std::panic::catch_unwind(std::panic::AssertUnwindSafe(f)).is_err();
            assert!(refused(&mut || engine.forward(&source, &mut vec![0; n])), "{path}, N = {n}");
            let column = vec![0; n];
            let columns = [&column[..]; 2];
            assert!(
                refused(&mut || {
                    engine.forward_multiply_accumulate(&[&fused], &columns, &mut vec![0; 2 * n], &mut vec![0; n]);
                }),
                "{path}, N = {n}, fused"
            );
        }
    }
}

/// Pointwise operations accept any words. The largest words reveal an overflow over exactly, and over more than, the
/// rows of one lazy sum.
#[test]
fn pointwise_operations_take_any_words() {
    for (n, rows) in [(16, 1024), (64, 1025), (64, 1024), (64, 2050), (128, 1), (256, 0), (1024, 10), (1 << 17, 2)] {
        let count = n * rows;
        let cases = [
            (words(5, 2 * n), words(6, count), words(7, 2 * count)),
            (vec![u64::MAX; 2 * n], vec![u64::MAX; count], vec![u64::MAX; 2 * count]),
            (vec![MODULUS - 1; 2 * n], vec![(1 << 52) - 1; count], vec![(1 << 52) - 1; 2 * count]),
            (vec![0; 2 * n], vec![0; count], vec![0; 2 * count]),
        ];
        for (accs, lhs, rhs) in cases {
            let expected: Vec<u64> = (0..2 * n)
                .map(|i| {
                    let (column, j) = (i / n, i % n);
                    let terms = (0..rows).map(|r| field::mul(lhs[r * n + j], rhs[column * count + r * n + j]));
                    // Without rows the words stay as they are; a sum is canonical.
                    if rows == 0 { accs[i] } else { terms.fold(accs[i] % MODULUS, field::add) }
                })
                .collect();
            for (path, engine) in engines(n) {
                let mut sums = accs.clone();
                for (column, acc) in sums.chunks_exact_mut(n).enumerate() {
                    engine.multiply_accumulate(acc, &lhs, &rhs[column * count..][..count]);
                }
                assert!(sums == expected, "{path}, N = {n}, {rows} rows");
                if rows > 0 {
                    let mut product = lhs[..n].to_vec();
                    engine.multiply(&mut product, &rhs[..n]);
                    assert!((0..n).all(|j| product[j] == field::mul(lhs[j], rhs[j])), "{path}, N = {n}");
                }
            }
        }
    }
}

/// One, two and three columns, because the kernels process them in pairs.
#[test]
fn fused_rows_are_transforms_and_sums() {
    for (n, rows) in [(16, 3), (64, 10), (2048, 5), (16384, 10)] {
        let polynomials: Vec<Vec<u64>> = (0..rows).map(|r| words(r, n).into_iter().map(reduce_u64).collect()).collect();
        let sources: Vec<&dyn CoefficientSource<u64>> = polynomials.iter().map(|p| p as _).collect();
        for (path, engine) in engines(n) {
            for column_count in 0..4 {
                let columns: Vec<Vec<u64>> = (0..column_count).map(|c| words(50 + c, n * sources.len())).collect();
                let columns: Vec<&[u64]> = columns.iter().map(|c| &c[..]).collect();
                let mut expected = words(99, n * columns.len());
                let mut fused = expected.clone();
                let mut spectra = vec![0; n * sources.len()];
                engine.forward_batch(&sources, &mut spectra);
                for (acc, column) in expected.chunks_exact_mut(n).zip(&columns) {
                    engine.multiply_accumulate(acc, &spectra, column);
                }
                let mut scratch = vec![0; n * sources.len()];
                engine.forward_multiply_accumulate(&sources, &columns, &mut fused, &mut scratch);
                assert!(fused == expected, "{path}, N = {n}, {column_count} columns");
            }
        }
    }
}
