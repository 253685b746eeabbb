//! Key products, matrix products, and the conversion of matrices into their form, against the definitions.

use ciphermill_math::modulus::ntt_primes;
use ciphermill_math::products::{
    KeyBlock, MatrixBlock, MonomialFft, ProductKernels, Rotation, SmallCoefficients, SmallInteger, SumBlock,
    VectorBlock, reference,
};
use ciphermill_math::{CoefficientSource, Isa, Modulus};
use ciphermill_testing::available;

struct Random(u64);

impl Random {
    fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
        (self.0 ^ self.0 >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    fn below(&mut self, p: u64) -> u64 {
        ((u128::from(self.word()) * u128::from(p)) >> 64) as u64
    }

    /// Residues, all p − 1 if `extreme`.
    fn spectrum(&mut self, n: usize, p: u64, extreme: bool) -> Vec<u64> {
        (0..n).map(|_| if extreme { p - 1 } else { self.below(p) }).collect()
    }
}

fn paths() -> Vec<Isa> {
    available(Isa::ALL, |isa| isa.is_available())
}

/// Moduli at the ends of the ranges of the kernels.
fn moduli() -> Vec<Modulus> {
    let of_length = |bits| ntt_primes(bits, 16).next().expect("a prime");
    [62, 61, 52, 51, 50, 49, 46, 40, 30, 20, 8].map(of_length).to_vec()
}

fn check_key(p: Modulus, isa: Isa, n: usize, digits: usize, rotation: Rotation, extreme: bool) {
    let name = format!("{isa}, p = {p}, N = {n}, {digits} digits, {rotation:?}, extreme: {extreme}");
    let kernels = ProductKernels::new(p, isa).expect("kernels");
    let mut random = Random(digits as u64);
    let mut spectra =
        |count: usize| -> Vec<Vec<u64>> { (0..count).map(|_| random.spectrum(n, p.value(), extreme)).collect() };
    let (rows, digits, others) = (spectra(2 * digits), spectra(digits), spectra(3));
    let pairs: Vec<[&[u64]; 2]> = rows.chunks_exact(2).map(|row| [&row[0][..], &row[1][..]]).collect();
    let key = KeyBlock::pack(&pairs);
    assert_eq!((key.digits(), key.polynomial_size()), (digits.len(), n));
    let rotated: Vec<Vec<u64>> = digits.iter().map(|digit| reference::rotated(&rotation, digit)).collect();
    let sum = |k: usize| {
        let pairs = rotated.iter().zip(&pairs).map(|(digit, row)| (&digit[..], row[k]));
        reference::inner_product(p, n, pairs)
    };
    let add = |x: &[u64], y: &[u64]| -> Vec<u64> { x.iter().zip(y).map(|(&x, &y)| p.add(x, y)).collect() };
    let (sums, digits) = ([sum(0), sum(1)], digits.iter().map(Vec::as_slice).collect::<Vec<_>>());

    let mut out = [vec![7; n], vec![7; n]];
    let [first, second] = &mut out;
    kernels.key_products(&rotation, &digits, None, &key, [first, second]);
    assert!(out == sums, "sums, {name}");

    let key = kernels.key(&pairs);
    assert_eq!(key.width(), p.bits().div_ceil(8) as usize);
    let mut acc = [others[0].clone(), others[1].clone()];
    let [first, second] = &mut acc;
    kernels.add_key_products(&rotation, &digits, None, &key, [first, second]);
    assert!(acc == [add(&others[0], &sums[0]), add(&others[1], &sums[1])], "added, {name}");

    for factor in [0, 1, p.value() / 3, p.value() - 1] {
        let head: Vec<u64> = reference::rotated(&rotation, &others[2]).iter().map(|&x| p.mul(x, factor)).collect();
        let expected = [add(&head, &sums[0]), sums[1].clone()];
        // An identity matrix reveals the entries, and that the others are untouched.
        let one = vec![1; n];
        let matrix = MatrixBlock::pack(n, 3, 3, |row, column| if row == column { one.clone() } else { vec![0; n] });
        let mut sums = SumBlock::zeroed(n, 3, 2);
        let mut vectors = VectorBlock::window(n, if factor == 1 { 8 } else { n }, 2, 3);
        for start in (0..n).step_by(vectors.words().len()) {
            vectors.move_to(start);
            kernels.key_products_entry(&rotation, &digits, Some((&others[2], factor)), &key, &mut vectors, 1, 1);
            kernels.multiply(&matrix, &vectors, &mut sums.part(), false);
        }
        for (row, vector) in (0..3).flat_map(|row| (0..2).map(move |vector| (row, vector))) {
            let expected = if (row, vector) == (1, 1) { expected.clone() } else { [vec![0; n], vec![0; n]] };
            assert!(sums.get(row, vector) == [&expected[0][..], &expected[1]], "entry ({row}, {vector}), {name}");
        }
    }
}

#[test]
fn key_products_are_the_definition_for_every_modulus() {
    for isa in paths() {
        for p in moduli() {
            for extreme in [false, true] {
                let rotation = Rotation { sequence: 32, offset: 5, swap: true };
                check_key(p, isa, 64, 2, rotation, extreme);
                check_key(p, isa, 16, 5, Rotation::none(16), extreme);
            }
        }
    }
}

#[test]
fn key_products_are_the_definition_for_every_rotation() {
    for isa in paths() {
        for bits in [60, 50, 46] {
            let p = ntt_primes(bits, 64).next().expect("a prime");
            for offset in 0..32 {
                check_key(p, isa, 32, 3, Rotation { sequence: 32, offset, swap: false }, false);
            }
            for (offset, swap) in (0..8).flat_map(|offset| [(offset, false), (offset, true)]) {
                check_key(p, isa, 16, 1, Rotation { sequence: 8, offset, swap }, false);
            }
        }
    }
}

/// One digit less and one more than sums hold without a reduction, and many.
#[test]
fn key_products_hold_for_any_number_of_digits() {
    for isa in paths() {
        for p in moduli() {
            for digits in [1, 14, 15, 16, 17, 31, 33, 70] {
                check_key(p, isa, 16, digits, Rotation { sequence: 8, offset: 3, swap: false }, true);
            }
        }
    }
}

#[test]
fn key_products_are_the_definition_for_n_4096() {
    for isa in paths() {
        for bits in [60, 50, 46] {
            let p = ntt_primes(bits, 4096).next().expect("a prime");
            for rotation in [
                Rotation::none(4096),
                Rotation { sequence: 4096, offset: 112, swap: false },
                Rotation { sequence: 2048, offset: 2047, swap: true },
            ] {
                check_key(p, isa, 4096, 2, rotation, false);
            }
        }
    }
}

fn check_matrix(p: Modulus, isa: Isa, n: usize, [rows, columns, vectors]: [usize; 3], extreme: bool) {
    let name = format!("{isa}, p = {p}, N = {n}, {rows} × {columns}, {vectors} vectors, extreme: {extreme}");
    let kernels = ProductKernels::new(p, isa).expect("kernels");
    let mut random = Random((rows * columns + vectors) as u64);
    let mut spectra =
        |count: usize| -> Vec<Vec<u64>> { (0..count).map(|_| random.spectrum(n, p.value(), extreme)).collect() };
    let (entries, parts) = (spectra(rows * columns), spectra(vectors * columns * 2));
    let matrix = MatrixBlock::pack(n, rows, columns, |row, column| &entries[row * columns + column]);
    let mut packed = kernels.matrix(n, rows, columns);
    assert_eq!(packed.width(), p.bits().div_ceil(8) as usize);
    for position in 0..rows * columns {
        let (row, column) = packed.entry(position);
        packed.part().set(position, &[(&entries[row * columns + column], Rotation::none(n))]);
    }
    let mut x = VectorBlock::zeroed(n, vectors, columns);
    for (i, pair) in parts.chunks_exact(2).enumerate() {
        x.set(i / columns, i % columns, [&pair[0], &pair[1]]);
    }
    let mut sums = SumBlock::zeroed(n, rows, vectors);
    // Twice: the second time added, packed, row by row of groups and window by window, by vectors that were joined.
    kernels.multiply(&matrix, &x, &mut sums.part(), false);
    let once = sums.clone();
    let size = (n / 4).max(8);
    let single = |v: usize, start: usize| {
        let mut block = VectorBlock::window(n, size, 1, columns);
        block.move_to(start);
        for (j, pair) in parts[v * columns * 2..][..columns * 2].chunks_exact(2).enumerate() {
            block.set(0, j, [&pair[0], &pair[1]]);
        }
        block
    };
    for start in (0..n).step_by(size) {
        let singles: Vec<VectorBlock> = (0..vectors).map(|v| single(v, start)).collect();
        let window = VectorBlock::join(&singles.iter().collect::<Vec<_>>());
        assert_eq!(window.words(), start..start + size);
        let parts_of_sums = sums.parts(3);
        assert!(parts_of_sums.len() <= 3);
        for mut part in parts_of_sums {
            kernels.multiply(&packed, &window, &mut part, true);
        }
    }
    for (row, v) in (0..rows).flat_map(|row| (0..vectors).map(move |v| (row, v))) {
        for k in 0..2 {
            let pairs = (0..columns).map(|j| (&entries[row * columns + j][..], &parts[(v * columns + j) * 2 + k][..]));
            let expected = reference::inner_product(p, n, pairs);
            assert!(once.get(row, v)[k] == expected, "row {row}, vector {v}, part {k}, {name}");
            let twice: Vec<u64> = expected.iter().map(|&x| p.add(x, x)).collect();
            assert!(sums.get(row, v)[k] == twice, "added, row {row}, vector {v}, part {k}, {name}");
        }
    }
}

#[test]
fn matrix_products_are_the_definition_for_every_modulus_and_shape() {
    for isa in paths() {
        for p in moduli() {
            for shape in [[1, 1, 1], [2, 3, 2], [4, 16, 1], [3, 17, 2], [5, 33, 1], [8, 8, 3]] {
                check_matrix(p, isa, 16, shape, false);
                check_matrix(p, isa, 16, shape, true);
            }
        }
    }
}

/// As many columns as any sum of lower halves holds, one more, and many more, with the greatest values.
#[test]
fn matrix_products_hold_for_any_number_of_columns() {
    for isa in paths() {
        for p in moduli() {
            for columns in [15, 16, 64, 255, 256, 257, 4094, 4095, 4096, 9000] {
                check_matrix(p, isa, 8, [2, columns, 1], true);
            }
        }
    }
}

#[test]
fn matrix_products_are_the_definition_for_n_4096() {
    for isa in paths() {
        for bits in [60, 50, 46] {
            let p = ntt_primes(bits, 4096).next().expect("a prime");
            check_matrix(p, isa, 4096, [4, 16, 1], false);
        }
    }
}

/// The first rows of a matrix are multiplied alone if they are whole groups. Nothing is written behind the sums.
#[test]
fn sums_end_with_a_group_of_rows() {
    let (n, rows, columns) = (16, 7, 3);
    let p = ntt_primes(50, 64).next().expect("a prime");
    let mut random = Random(1);
    let entries: Vec<Vec<u64>> = (0..rows * columns).map(|_| random.spectrum(n, p.value(), false)).collect();
    let matrix = MatrixBlock::pack(n, rows, columns, |row, column| &entries[row * columns + column]);
    let mut x = VectorBlock::zeroed(n, 1, columns);
    (0..columns).for_each(|j| x.set(0, j, [&entries[j], &entries[columns + j]]));
    for isa in paths() {
        let kernels = ProductKernels::new(p, isa).expect("kernels");
        let multiply = |count: usize| {
            let mut sums = SumBlock::zeroed(n, count, 1);
            kernels.multiply(&matrix, &x, &mut sums.part(), false);
            sums
        };
        let (all, first) = (multiply(rows), multiply(4));
        assert!((0..4).all(|row| all.get(row, 0) == first.get(row, 0)), "{isa}");
        for count in [1, 2, 3, 5, 6, 8] {
            let refused = std::panic::catch_unwind(|| multiply(count));
            assert!(refused.is_err(), "{isa}, sums of {count} rows");
        }
    }
}

#[test]
fn positions_are_entries_and_parts_are_the_whole() {
    for (rows, columns) in [(1, 1), (1, 5), (3, 4), (4, 4), (6, 3), (8, 2)] {
        let n = 32;
        let mut random = Random(1);
        let spectra: Vec<Vec<u64>> = (0..rows * columns).map(|_| random.spectrum(n, 97, false)).collect();
        let rotations: Vec<Rotation> =
            (0..rows * columns).map(|i| Rotation { sequence: 16, offset: 3 * i % 16, swap: i % 2 == 1 }).collect();
        let mut matrix = MatrixBlock::zeroed(n, rows, columns);
        let mut seen: Vec<(usize, usize)> = (0..rows * columns).map(|i| matrix.entry(i)).collect();
        let entries: Vec<(&[u64], Rotation)> =
            seen.iter().map(|(row, j)| (&spectra[row * columns + j][..], rotations[row * columns + j])).collect();
        for mut part in matrix.parts(3) {
            let (first, second) = entries.split_at(entries.len() / 2);
            part.set(0, first);
            part.set(first.len(), second);
        }
        for isa in paths() {
            // Packed, in other parts: the same.
            let kernels = ProductKernels::new(Modulus::new(97).expect("a prime"), isa).expect("kernels");
            let mut packed = kernels.matrix(n, rows, columns);
            packed.parts(2).iter_mut().for_each(|part| part.set(0, &entries));
            let (mut given, mut expected) = (SumBlock::zeroed(n, rows, 1), SumBlock::zeroed(n, rows, 1));
            let mut x = VectorBlock::zeroed(n, 1, columns);
            (0..columns).for_each(|j| x.set(0, j, [&spectra[j], &spectra[0]]));
            kernels.multiply(&packed, &x, &mut given.part(), false);
            kernels.multiply(&matrix, &x, &mut expected.part(), false);
            for row in 0..rows {
                assert_eq!(given.get(row, 0), expected.get(row, 0), "{isa}, row {row} of {rows} × {columns}");
            }
        }
        seen.sort_unstable();
        let all: Vec<(usize, usize)> = (0..rows).flat_map(|row| (0..columns).map(move |j| (row, j))).collect();
        assert_eq!(seen, all);

        let kernels = ProductKernels::new(Modulus::new(97).expect("a prime"), Isa::Portable).expect("kernels");
        for column in 0..columns {
            let mut x = VectorBlock::zeroed(n, 1, columns);
            x.set(0, column, [&vec![1; n], &vec![0; n]]);
            let mut sums = SumBlock::zeroed(n, rows, 1);
            kernels.multiply(&matrix, &x, &mut sums.part(), false);
            for row in 0..rows {
                let i = row * columns + column;
                assert_eq!(sums.get(row, 0)[0], reference::rotated(&rotations[i], &spectra[i]), "{rows} × {columns}");
            }
        }
    }
}

fn check_monomial<T: SmallInteger + TryFrom<i64> + Into<i64>>(isa: Isa, n: usize, points: usize, bound: i64) {
    let mut random = Random((n + points) as u64);
    let values: Vec<i64> = match random.word() % 4 {
        0 => vec![bound - 1; n * points],
        _ => (0..n * points).map(|_| random.below(2 * bound as u64) as i64 - bound).collect(),
    };
    let narrow = |x: &i64| T::try_from(*x).unwrap_or_else(|_| panic!("{x} does not fit"));
    let mut given: Vec<T> = values.iter().map(narrow).collect();
    let fft = MonomialFft::new(n, points, isa);
    assert_eq!(fft.points(), points);
    fft.forward(&mut given);
    for (t, expected) in reference::monomial_transform(n, &values).into_iter().enumerate() {
        let result: Vec<i64> = given[fft.position(t) * n..][..n].iter().map(|&x| x.into()).collect();
        assert!(reference::shifted(fft.shift(t), &result) == expected, "{isa}, N = {n}, P = {points}, t = {t}");
    }
}

#[test]
fn monomial_transforms_are_the_definition() {
    for isa in paths() {
        for n in [1usize, 2, 8, 32, 128] {
            for points in (0..=(2 * n).ilog2()).map(|log| 1 << log) {
                check_monomial::<i16>(isa, n, points, (1 << 15) / points as i64);
                check_monomial::<i32>(isa, n, points, (1 << 31) / points as i64);
            }
        }
        check_monomial::<i16>(isa, 4096, 16, 128);
        check_monomial::<i32>(isa, 4096, 8, 1 << 20);
        // More than a cache holds: in several passes.
        check_monomial::<i16>(isa, 4096, 64, 512);
        check_monomial::<i32>(isa, 4096, 32, 1 << 20);
        check_monomial::<i32>(isa, 65536, 8, 1 << 20);
    }
}

#[test]
fn small_coefficients_are_lifted_and_shifted() {
    let p = ntt_primes(20, 64).next().expect("a prime");
    let mut random = Random(3);
    let a: Vec<i16> = (0..64).map(|_| random.word() as i16).collect();
    let wide: Vec<i64> = a.iter().map(|&x| x.into()).collect();
    for (isa, shift) in paths().into_iter().flat_map(|isa| (0..130).map(move |shift| (isa, shift))) {
        let expected: Vec<u64> = reference::shifted(shift, &wide).iter().map(|&x| p.reduce_signed(x)).collect();
        let source = SmallCoefficients::new(&a, shift, p).on(isa);
        assert_eq!(source.len(), 64);
        for (start, len) in [(0, 64), (8, 16), (5, 1), (60, 4), (64, 0)] {
            let mut out = vec![1; len];
            source.read(start, &mut out);
            assert_eq!(out, expected[start..start + len], "{isa}, shift {shift}, {len} from {start}");
        }
    }
    let a32: Vec<i32> = a.iter().map(|&x| x.into()).collect();
    let (mut narrow, mut wide) = (vec![0; 64], vec![0; 64]);
    SmallCoefficients::new(&a, 77, p).read(0, &mut narrow);
    SmallCoefficients::new(&a32, 77, p).read(0, &mut wide);
    assert_eq!(narrow, wide);
}
