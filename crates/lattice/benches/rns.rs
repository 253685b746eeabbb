//! Conversion, division and scaling between residue number systems: what key switching, decryption and products of BFV
//! ciphertexts do beside their transforms. `cargo bench -p ciphermill-lattice --bench rns`; one JSON record a line.

use std::hint::black_box;
use std::time::Instant;

use ciphermill_lattice::rns::{BaseConverter, Coefficients, ModDown, RnsBasis, RnsPoly, ScaleAndRound, ScaleToBasis};
use ciphermill_lattice::{PolynomialSize, PublicSeed, rng::MaskStream};
use ciphermill_math::Isa;
use ciphermill_math::modulus::ntt_primes;

const N: usize = 4096;
const SAMPLES: usize = 1001;

fn report(case: &str, isa: Isa, mut job: impl FnMut()) {
    let mut times: Vec<u128> = (0..SAMPLES)
        .map(|_| {
            let start = Instant::now();
            job();
            start.elapsed().as_nanos()
        })
        .collect();
    times.sort_unstable();
    let (min, median) = (times[0], times[SAMPLES / 2]);
    println!(
        "{{\"schema\":1,\"case\":\"rns-{case}/n{N}\",\"isa\":\"{isa}\",\"threads\":1,\"samples\":{SAMPLES},\
         \"min_ns\":{min},\"median_ns\":{median},\"kind\":\"measured\"}}"
    );
}

/// The largest primes of `bits` bits, without the first `skip`.
fn basis(bits: u32, limbs: usize, skip: usize, isa: Isa) -> RnsBasis {
    let moduli: Vec<u64> = ntt_primes(bits, N).skip(skip).take(limbs).map(|p| p.value()).collect();
    RnsBasis::new(PolynomialSize::new(N).expect("a power of two"), &moduli, isa).expect("primes with transforms")
}

fn uniform(basis: &RnsBasis) -> RnsPoly<Coefficients> {
    basis.uniform(&mut MaskStream::new(&PublicSeed([1; 32]), 0))
}

fn main() {
    for isa in Isa::available() {
        for bits in [46, 50, 60] {
            let (q, q2, p, p2) =
                (basis(bits, 1, 0, isa), basis(bits, 2, 0, isa), basis(bits, 1, 8, isa), basis(bits, 2, 8, isa));
            let t = 65537;
            for (case, from, to) in [("convert/1-1", &q, &p), ("convert/2-1", &q2, &p), ("convert/2-2", &q2, &p2)] {
                let (converter, poly) = (BaseConverter::new(from, to), uniform(from));
                let mut out = vec![0; N * to.len()];
                report(&format!("{case}/q{bits}"), isa, || {
                    converter.convert_words(black_box(poly.words()), black_box(&mut out));
                });
            }
            for (case, keep, drop) in [("mod-down/1-1", &q, &p), ("mod-down/2-1", &q2, &p), ("mod-down/2-2", &q2, &p2)]
            {
                let (down, dropped) = (ModDown::new(keep, drop), uniform(drop));
                let mut kept = uniform(keep).into_words();
                report(&format!("{case}/q{bits}"), isa, || {
                    down.apply_words(black_box(&mut kept), black_box(dropped.words()));
                });
            }
            for (case, from) in [("scale-and-round/1", &q), ("scale-and-round/2", &q2)] {
                let (scale, poly) = (ScaleAndRound::new(from, t), uniform(from));
                report(&format!("{case}/q{bits}"), isa, || {
                    black_box(scale.apply(black_box(&poly)));
                });
            }
            let (scale, poly) = (ScaleToBasis::new(&q2, &p2, t), uniform(&q2.join(&p2)));
            report(&format!("scale-to-basis/2-2/q{bits}"), isa, || {
                black_box(scale.apply(black_box(&poly)));
            });
            let poly = uniform(&q2);
            let packed = q2.pack(&poly);
            report(&format!("uniform/2/q{bits}"), isa, || drop(black_box(uniform(&q2))));
            report(&format!("pack/2/q{bits}"), isa, || drop(black_box(q2.pack(black_box(&poly)))));
            report(&format!("unpack/2/q{bits}"), isa, || drop(black_box(q2.unpack(black_box(&packed)))));
        }
    }
}
