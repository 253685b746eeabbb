//! Times the kernels of [`ciphermill_math::products`] on every path of this CPU:
//! `cargo run --release -p ciphermill-evidence --example products-timing [SIZE]`.
//!
//! Prints the least and the median time of one operation in microseconds, on one thread.

use std::hint::black_box;
use std::time::Instant;

use ciphermill_math::modulus::ntt_primes;
use ciphermill_math::ntt::{NttEngine, PrimeNtt};
use ciphermill_math::products::{
    KeyBlock, MatrixBlock, MonomialFft, OrbitOrder, ProductKernels, Rotation, SmallCoefficients, SumBlock, VectorBlock,
};
use ciphermill_math::{Isa, Modulus};

fn time(name: &str, milliseconds: u64, mut run: impl FnMut()) {
    let (begin, mut times) = (Instant::now(), Vec::new());
    while times.len() < 5 || begin.elapsed().as_millis() < u128::from(milliseconds) {
        let start = Instant::now();
        run();
        times.push(start.elapsed().as_nanos());
    }
    times.sort_unstable();
    let [least, median] = [times[0], times[times.len() / 2]].map(|ns| ns as f64 / 1000.0);
    println!("  {name:<44} {least:>10.2} {median:>10.2}");
}

fn residues(seed: u64, len: usize, p: Modulus) -> Vec<u64> {
    let word =
        |i: u64| (i + seed).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (0..len as u64).map(|i| p.reduce(word(i))).collect()
}

fn fill(matrix: &mut MatrixBlock, spectra: &[Vec<u64>]) {
    for position in 0..matrix.rows() * matrix.columns() {
        let spectrum = &spectra[position % spectra.len()];
        matrix.part().set(position, &[(spectrum, Rotation::none(spectrum.len()))]);
    }
}

fn products(isa: Isa, n: usize, bits: u32) {
    let p = ntt_primes(bits, n).next().expect("a prime");
    let kernels = ProductKernels::new(p, isa).expect("an available path");
    println!("{isa}, N = {n}, primes of {bits} bits");
    let spectra: Vec<Vec<u64>> = (0..8).map(|i| residues(i, n, p)).collect();
    let mut out = [vec![0; n], vec![0; n]];
    for digits in [1, 2, 4] {
        let rows: Vec<[&[u64]; 2]> = (0..digits).map(|d| [&spectra[d][..], &spectra[d + 1][..]]).collect();
        // As many keys as the baby steps have, so that they come from where they would.
        let keys: Vec<KeyBlock> = (0..15).map(|_| kernels.key(&rows)).collect();
        let digits: Vec<&[u64]> = spectra[..digits].iter().map(Vec::as_slice).collect();
        let mut vectors = VectorBlock::zeroed(n, 1, 16);
        for (name, rotation) in [
            ("aligned", Rotation { sequence: n, offset: 16, swap: false }),
            ("unaligned", Rotation { sequence: n / 2, offset: 3, swap: true }),
        ] {
            let mut next = 0;
            time(&format!("key products, D = {}, {name}", digits.len()), 100, || {
                let [first, second] = &mut out;
                kernels.key_products(&rotation, &digits, Some((&spectra[7], 3)), &keys[next % 15], [first, second]);
                next += 1;
            });
            time(&format!("key products, D = {}, {name}, to an entry", digits.len()), 100, || {
                let head = Some((&spectra[7][..], 3));
                let entry = next % 15;
                kernels.key_products_entry(&rotation, &digits, head, &keys[entry], &mut vectors, 0, entry);
                next += 1;
            });
        }
    }
    for (rows, columns, vectors, matrices) in [(4, 16, 1, 1), (4, 16, 1, 8), (32, 64, 1, 1), (8, 16, 8, 2)] {
        for packed in [false, true] {
            let name = format!("{rows} × {columns}, {vectors} vectors, {matrices} matrices, packed: {packed}");
            let make =
                |_| if packed { kernels.matrix(n, rows, columns) } else { MatrixBlock::zeroed(n, rows, columns) };
            let mut matrices: Vec<MatrixBlock> = (0..matrices).map(make).collect();
            for matrix in &mut matrices {
                fill(matrix, &spectra);
            }
            let mut x = VectorBlock::zeroed(n, vectors, columns);
            for (v, j) in (0..vectors).flat_map(|v| (0..columns).map(move |j| (v, j))) {
                x.set(v, j, [&spectra[(v + j) % 8], &spectra[(v + j + 1) % 8]]);
            }
            let mut sums = SumBlock::zeroed(n, rows, vectors);
            let mut next = 0;
            time(&name, 300, || {
                kernels.multiply(&matrices[next % matrices.len()], &x, &mut sums.part(), false);
                next += 1;
            });
            black_box(&sums);
        }
    }
    both(&kernels, n, &spectra);
}

/// Key products and a product with them, in windows of several sizes.
fn both(kernels: &ProductKernels, n: usize, spectra: &[Vec<u64>]) {
    let (rows, columns) = (4, 16);
    let key_rows: Vec<[&[u64]; 2]> = (0..2).map(|d| [&spectra[d][..], &spectra[d + 1][..]]).collect();
    let keys: Vec<KeyBlock> = (0..columns).map(|_| kernels.key(&key_rows)).collect();
    let digits: Vec<&[u64]> = spectra[..2].iter().map(Vec::as_slice).collect();
    let mut matrix = kernels.matrix(n, rows, columns);
    fill(&mut matrix, spectra);
    let mut sums = SumBlock::zeroed(n, rows, 1);
    for size in [256, 512, 1024, 2048, 4096].into_iter().filter(|&size| size <= n) {
        let mut vectors = VectorBlock::window(n, size, 1, columns);
        time(&format!("16 key products and 4 × 16, windows of {size}"), 200, || {
            for start in (0..n).step_by(size) {
                vectors.move_to(start);
                for (j, key) in keys.iter().enumerate() {
                    let rotation = Rotation { sequence: n, offset: 16 * j, swap: false };
                    kernels.key_products_entry(&rotation, &digits, Some((&spectra[7], 3)), key, &mut vectors, 0, j);
                }
                kernels.multiply(&matrix, &vectors, &mut sums.part(), false);
            }
        });
    }
}

fn encoding(isa: Isa, n: usize, bits: u32) {
    let p = ntt_primes(bits, n).next().expect("a prime");
    let engine = PrimeNtt::new(n, p.value(), isa).expect("an offered size on an available path");
    println!("{isa}, N = {n}, primes of {bits} bits: encoding");
    let (mut spectrum, mut orbit) = (residues(1, n, p), vec![0; n]);
    for c in [2, 32] {
        let order = OrbitOrder::new(&engine, c);
        time(&format!("to orbit order, c = {c}"), 100, || order.to_orbit(&spectrum, &mut orbit));
        let back = order.from_orbit_automorphism(2 * n - c + 1).expect("an automorphism");
        time(&format!("from orbit order, c = {c}"), 100, || back.apply(&orbit, &mut spectrum));
        time(&format!("from orbit order, added, c = {c}"), 100, || back.accumulate(&orbit, &mut spectrum));
    }
    let small: Vec<i16> = (0..n as i32).map(|i| (i * 77 % 20000 - 10000) as i16).collect();
    time("forward, in place", 100, || engine.forward_in_place(&mut spectrum));
    let source = SmallCoefficients::new(&small, 333, p).on(isa);
    time("forward from small coefficients", 100, || engine.forward(&source, &mut spectrum));
    for (rows, columns, run) in [(4, 16, 1), (4, 16, 16), (32, 64, 1), (32, 64, 16)] {
        let mut matrix = ProductKernels::new(p, isa).expect("an available path").matrix(n, rows, columns);
        let rotation = Rotation { sequence: n, offset: 16, swap: false };
        let spectra: Vec<Vec<u64>> = (0..run).map(|i| residues(i, n, p)).collect();
        let run: Vec<(&[u64], Rotation)> = spectra.iter().map(|spectrum| (&spectrum[..], rotation)).collect();
        let mut position = 0;
        time(&format!("{} spectra to {rows} × {columns}", run.len()), 300, || {
            matrix.part().set(position, &run);
            position = (position + run.len()) % (rows * columns);
        });
    }
}

fn monomial(isa: Isa, n: usize) {
    println!("{isa}, N = {n}: monomial transforms");
    for points in [16, 64, 256] {
        let fft = MonomialFft::new(n, points, isa);
        let mut polynomials = vec![1i16; n * points];
        time(&format!("P = {points}, i16"), 200, || fft.forward(&mut polynomials));
    }
    for points in [64, 256, n] {
        let fft = MonomialFft::new(n, points, isa);
        let mut polynomials = vec![1i32; n * points];
        time(&format!("P = {points}, i32"), 200, || fft.forward(&mut polynomials));
    }
}

fn main() {
    let n = std::env::args().nth(1).map_or(4096, |size| size.parse().expect("a polynomial size"));
    println!("  {:<44} {:>10} {:>10}", "µs", "least", "median");
    for isa in Isa::available().collect::<Vec<_>>().into_iter().rev() {
        for bits in [46, 50, 60] {
            products(isa, n, bits);
        }
        encoding(isa, n, 46);
        monomial(isa, n);
    }
}
