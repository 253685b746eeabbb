//! The full counts behind the kernels: `make evidence AREA=kernels`.
//!
//! Every transform on every path of this CPU against its plain definition, entry by entry; errors of the f64 transform
//! against exact products; the benchmarks of bootstrapping with one and two threads and in batches. Vectors are drawn
//! from one fixed and one fresh seed, which is recorded.

use std::error::Error;
use std::sync::Arc;

use ciphermill_lattice::{MaskStream, PublicSeed, Torus};
use ciphermill_math::fft::{self, SpectrumBuffer, rounding_error_bound, rounding_error_std};
use ciphermill_math::goldilocks::MODULUS as GOLDILOCKS;
use ciphermill_math::modulus::ntt_primes;
use ciphermill_math::ntt::{NttEngine, NttWord, goldilocks_engine, prime_engine, prime_engine_u32, reference};
use ciphermill_math::{Isa, Modulus};
use serde_json::{Value, json};

use ciphermill_evidence as support;

/// Random vectors per prime and size, on every path, half of them from each seed.
const VECTORS: usize = 200;
/// Random products per size and path of the f64 transform.
const PRODUCTS: usize = 100;
/// Rows and digits of the paper's external product.
const ROWS: usize = 10;
const DIGIT_BITS: u32 = 9;

/// Runs of the command; each must exit 0 and print one JSON value.
const RUNS: &[&str] = &[
    "bench pbs --params NVME_TFHE_PAPER --threads 1 --samples 20",
    "bench pbs --params NVME_TFHE_PAPER --threads 2 --samples 20",
    "bench pbs --params NVME_TFHE_PAPER --threads 1 --batch 8 --samples 5",
    "bench pbs --params NVME_TFHE_PAPER --threads 2 --batch 8 --samples 5",
    "bench pbs --params NVME_TFHE_PAPER --threads 1 --backend ntt --samples 10",
    "bench pbs --params NVME_TFHE_PAPER --threads 2 --backend ntt --samples 10",
    "bench pbs --params NVME_TFHE_PAPER --threads 1 --backend ntt --batch 8 --samples 3",
    "bench ks --params NVME_TFHE_PAPER --threads 1 --samples 20",
    "bench keygen --params NVME_TFHE_PAPER --threads 2 --samples 3",
];

fn main() -> Result<(), Box<dyn Error>> {
    let isas: Vec<Isa> = Isa::available().collect();
    let fresh = PublicSeed::from_os()?;
    let seed: String = fresh.0.iter().map(|byte| format!("{byte:02x}")).collect();
    let seeds = [PublicSeed([7; 32]), fresh];
    let ntt = transforms(&isas, &seeds)?;
    let fft = float_transforms(&isas, &seeds)?;
    let runs = RUNS.iter().map(|run| support::command(run)).collect::<Result<Vec<_>, _>>()?;
    let paths: Vec<_> = isas.iter().map(|isa| isa.name()).collect();
    support::write(&json!({
        "paths": paths, "ifma": Isa::best().has_ifma(), "fresh_seed": seed, "ntt": ntt, "fft": fft, "runs": runs,
    }))
}

/// Words of one stream, the `index`-th vector of a case.
fn words(seeds: &[PublicSeed; 2], index: usize, n: usize) -> Vec<u64> {
    let mut words = vec![0; n];
    let stream = (n as u64) << 32 | index as u64;
    u64::fill_random(&mut MaskStream::new(&seeds[index % 2], stream), &mut words);
    words
}

/// Every prime of every class at every size on every path.
fn transforms(isas: &[Isa], seeds: &[PublicSeed; 2]) -> Result<Vec<Value>, Box<dyn Error>> {
    let mut records = Vec::new();
    for log_n in 8..=17u32 {
        let n = 1usize << log_n;
        let largest = |bits| ntt_primes(bits, n).next().expect("a prime of that length").value();
        let paper = [(1 << 34) + (1 << 27) + 1, (1 << 34) + (1 << 19) + 1, (1 << 38) + (1 << 23) + 1];
        for modulus in [31, 46, 50, 62].map(largest).into_iter().chain(paper) {
            eprintln!("NTT, N = {n}, p = {modulus}");
            let engines = isas.iter().map(|&isa| prime_engine(n, modulus, isa)).collect::<Result<Vec<_>, _>>()?;
            let p = Modulus::new(modulus)?;
            let forward = |values: &mut Vec<u64>| reference::prime::forward(p, values);
            records.push(compare(&engines, modulus, seeds, forward, |x| x, |x| x)?);
            if let Ok(small) = u32::try_from(modulus)
                && small < 1 << 31
            {
                let engines = isas.iter().map(|&isa| prime_engine_u32(n, small, isa)).collect::<Result<Vec<_>, _>>()?;
                records.push(compare(&engines, modulus, seeds, forward, |x| x as u32, u64::from)?);
            }
        }
        eprintln!("NTT, N = {n}, Goldilocks");
        let engines = isas.iter().map(|&isa| goldilocks_engine(n, isa)).collect::<Result<Vec<_>, _>>()?;
        let forward = |values: &mut Vec<u64>| reference::forward(values);
        records.push(compare(&engines, GOLDILOCKS, seeds, forward, |x| x, |x| x)?);
    }
    Ok(records)
}

/// Forward against the definition and back, out of place and in place.
fn compare<W: NttWord>(
    engines: &[Arc<dyn NttEngine<W>>],
    modulus: u64,
    seeds: &[PublicSeed; 2],
    reference: impl Fn(&mut Vec<u64>),
    narrow: fn(u64) -> W,
    widen: fn(W) -> u64,
) -> Result<Value, Box<dyn Error>> {
    let n = engines[0].polynomial_size();
    for index in 0..VECTORS {
        let input: Vec<u64> = words(seeds, index, n).into_iter().map(|x| x % modulus).collect();
        let mut expected = input.clone();
        reference(&mut expected);
        let input: Vec<W> = input.into_iter().map(narrow).collect();
        for engine in engines {
            let fail = |what: &str| format!("{what} differs: {} N = {n}, p = {modulus}", engine.info());
            let mut spectrum = vec![W::default(); n];
            engine.forward(&input, &mut spectrum);
            let right = spectrum.iter().enumerate().all(|(place, &value)| {
                let entry = reference::bit_reverse(engine.exponent(place) / 2, n.trailing_zeros());
                widen(value) % modulus == expected[entry]
            });
            let mut values = input.clone();
            engine.forward_in_place(&mut values);
            if !right || values != spectrum {
                return Err(fail("forward").into());
            }
            engine.inverse_in_place(&mut values);
            let mut back = vec![W::default(); n];
            engine.inverse(&mut spectrum, &mut back);
            if values != input || back != input {
                return Err(fail("inverse").into());
            }
        }
    }
    let strategies: Vec<_> = engines.iter().map(strategy).collect();
    let bits = 8 * size_of::<W>();
    Ok(
        json!({ "n": n, "modulus": modulus, "word_bits": bits, "vectors": VECTORS, "strategies": strategies, "exact": true }),
    )
}

/// The strategy of a CPU engine and its instruction set.
fn strategy<W: NttWord>(engine: &Arc<dyn NttEngine<W>>) -> String {
    let info = engine.info();
    format!("{} ({})", info.name, info.host_isa())
}

/// Sums of ROWS products of digits and torus polynomials: the f64 transform's error, measured, predicted and bounded.
fn float_transforms(isas: &[Isa], seeds: &[PublicSeed; 2]) -> Result<Vec<Value>, Box<dyn Error>> {
    let half = 1i64 << (DIGIT_BITS - 1);
    let digit_std = ((4 * half * half + 2) as f64 / 12.0).sqrt();
    let torus_std = 2f64.powi(64) / 12f64.sqrt();
    let mut records = Vec::new();
    for log_n in 8..=17u32 {
        let n = 1usize << log_n;
        eprintln!("FFT, N = {n}");
        let exact = goldilocks_engine(n, Isa::current())?;
        let engines = isas.iter().map(|&isa| fft::engine(n, isa)).collect::<Result<Vec<_>, _>>()?;
        let mut squares = vec![0f64; isas.len()];
        let mut greatest = vec![0f64; isas.len()];
        for index in 0..PRODUCTS {
            let digits: Vec<i64> =
                words(seeds, 2 * index, ROWS * n).iter().map(|x| (x >> (64 - DIGIT_BITS)) as i64 - half).collect();
            let torus = words(seeds, 2 * index + 1, ROWS * n);
            let expected = exact_products(&*exact, &digits, &torus);
            for (which, engine) in engines.iter().enumerate() {
                let (mut lhs, mut rhs) = (SpectrumBuffer::zeroed(ROWS * n), SpectrumBuffer::zeroed(ROWS * n));
                for row in 0..ROWS {
                    let range = row * n..(row + 1) * n;
                    engine.forward(&digits[range.clone()].to_vec(), &mut lhs[range.clone()]);
                    let signed: Vec<i64> = torus[range.clone()].iter().map(|&x| x as i64).collect();
                    engine.forward(&signed, &mut rhs[range]);
                }
                let mut sum = SpectrumBuffer::zeroed(n);
                engine.multiply_accumulate(&mut sum, &lhs, &rhs);
                let mut out = vec![0; n];
                engine.inverse_add_u64(&mut sum, &mut out);
                for (&o, &e) in out.iter().zip(&expected) {
                    let error = o.wrapping_sub(e) as i64 as f64;
                    squares[which] += error * error;
                    greatest[which] = greatest[which].max(error.abs());
                }
            }
        }
        let predicted = rounding_error_std(n, ROWS, digit_std, torus_std);
        let bound = rounding_error_bound(n, ROWS, half as f64) + 0.5;
        for ((isa, squares), greatest) in isas.iter().zip(squares).zip(greatest) {
            let measured = (squares / (PRODUCTS * n) as f64).sqrt();
            // The model is a prediction, not a bound; the noise model of the scheme allows 1.7 times as much.
            if greatest > bound || measured > 1.7 * predicted {
                return Err(format!("FFT error {measured} ({greatest} at most), N = {n}, {isa}").into());
            }
            records.push(json!({
                "n": n, "isa": isa.name(), "rows": ROWS, "products": PRODUCTS,
                "log2_std": measured.log2() - 64.0, "log2_std_predicted": predicted.log2() - 64.0,
                "log2_max": greatest.log2() - 64.0, "log2_bound": bound.log2() - 64.0,
            }));
        }
    }
    Ok(records)
}

/// Σ_r digits_r·torus_r modulo X^N + 1 and 2^64, by exact products with both halves of the torus words: sums stay below
/// 2^(4 + 17 + 8 + 32) < p/2.
fn exact_products(engine: &dyn NttEngine, digits: &[i64], torus: &[u64]) -> Vec<u64> {
    let n = engine.polynomial_size();
    let spectra = |residues: Vec<u64>| {
        let mut spectra = vec![0; residues.len()];
        for (from, to) in residues.chunks_exact(n).zip(spectra.chunks_exact_mut(n)) {
            engine.forward(&from.to_vec(), to);
        }
        spectra
    };
    let digits =
        spectra(digits.iter().map(|&d| if d < 0 { GOLDILOCKS.wrapping_add(d as u64) } else { d as u64 }).collect());
    let mut product = vec![0u64; n];
    for shift in [0, 32] {
        let half = spectra(torus.iter().map(|x| x >> shift & 0xffff_ffff).collect());
        let mut sum = vec![0; n];
        engine.multiply_accumulate(&mut sum, &digits, &half);
        let mut residues = vec![0; n];
        engine.inverse(&mut sum, &mut residues);
        for (total, x) in product.iter_mut().zip(residues) {
            let signed = if x > GOLDILOCKS / 2 { x.wrapping_sub(GOLDILOCKS) } else { x };
            *total = total.wrapping_add(signed << shift);
        }
    }
    product
}
