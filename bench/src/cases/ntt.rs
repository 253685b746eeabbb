//! Negacyclic NTTs, in place: `ntt-fwd/…`, `ntt-inv/…` (normalised on both sides) and `ntt-inv-raw/…`, where a peer's own inverse
//! leaves the factor N to its caller while ours is normalised as always.

use std::borrow::Cow;
use std::sync::Arc;

use aligned_vec::{AVec, avec};
use ciphermill_bench_peers::ntt::{NttContender, contenders};
use ciphermill_bench_peers::{CONCRETE_NTT, Contender, FHE_MATH, Peer, TFHE_NTT};
use ciphermill_math::Isa;
use ciphermill_math::ntt::{NttEngine, NttError, NttWord, goldilocks_engine, prime_engine, prime_engine_u32};
use serde_json::json;

use super::{Numbers, Operation, Settings};
use crate::Failure;
use crate::harness::{Stats, alternate};
use crate::report::{Case, Report};

/// A class of primes, by a representative: the greatest one that fits the class and all sizes, where it is not given by itself.
struct Class {
    name: &'static str,
    modulus: u64,
    sizes: &'static [usize],
}

const SIZES: &[usize] = &[256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131_072];

const CLASSES: &[Class] = &[
    Class { name: "q31", modulus: greatest_prime_below(1 << 31), sizes: SIZES },
    Class { name: "q46", modulus: greatest_prime_below(1 << 46), sizes: SIZES },
    Class { name: "q50", modulus: greatest_prime_below(1 << 50), sizes: SIZES },
    Class { name: "q60", modulus: greatest_prime_below(1 << 60), sizes: SIZES },
    Class { name: "q62", modulus: greatest_prime_below(1 << 62), sizes: SIZES },
    Class { name: "goldilocks", modulus: GOLDILOCKS, sizes: SIZES },
    Class { name: "p38-23", modulus: (1 << 38) + (1 << 23) + 1, sizes: SIZES },
    Class { name: "p34-27", modulus: (1 << 34) + (1 << 27) + 1, sizes: &[4096] },
    Class { name: "p34-19", modulus: (1 << 34) + (1 << 19) + 1, sizes: &[4096] },
];

const GOLDILOCKS: u64 = 0xffff_ffff_0000_0001;

/// The greatest prime q < `bound` with q ≡ 1 modulo 2^18, so that there are roots for N up to 2^17.
const fn greatest_prime_below(bound: u64) -> u64 {
    let mut q = ((bound - 2) >> 18 << 18) + 1;
    while !is_prime(q) {
        q -= 1 << 18;
    }
    q
}

/// Miller and Rabin's test with the first twelve primes as bases, which decides below 2^64.
const fn is_prime(q: u64) -> bool {
    const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];
    let twos = (q - 1).trailing_zeros();
    let mut i = 0;
    'bases: while i < BASES.len() {
        let mut x = power(BASES[i], (q - 1) >> twos, q);
        i += 1;
        if x == 1 || x == q - 1 {
            continue;
        }
        let mut squarings = 1;
        while squarings < twos {
            x = (x as u128 * x as u128 % q as u128) as u64;
            if x == q - 1 {
                continue 'bases;
            }
            squarings += 1;
        }
        return false;
    }
    true
}

const fn power(base: u64, mut exponent: u64, q: u64) -> u64 {
    let (mut base, mut result) = (base as u128 % q as u128, 1);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * base % q as u128;
        }
        base = base * base % q as u128;
        exponent >>= 1;
    }
    result as u64
}

/// An operation.
type Apply = fn(&mut dyn NttContender);

/// Ours with a buffer.
struct Ours<W> {
    engine: Arc<dyn NttEngine<W>>,
    values: AVec<W>,
}

impl<W: NttWord + TryFrom<u64> + Into<u64>> Ours<W> {
    fn words<'p>(polynomial: &'p [u64]) -> impl Iterator<Item = W> + 'p {
        polynomial.iter().map(|&x| W::try_from(x).unwrap_or_default())
    }
}

impl<W: NttWord + TryFrom<u64> + Into<u64>> NttContender for Ours<W> {
    fn load(&mut self, polynomial: &[u64]) {
        self.values.iter_mut().zip(Self::words(polynomial)).for_each(|(to, from)| *to = from);
    }

    fn values(&self) -> Vec<u64> {
        self.values.iter().map(|&x| x.into()).collect()
    }

    fn forward(&mut self) {
        self.engine.forward_in_place(&mut self.values);
    }

    fn inverse(&mut self) {
        self.engine.inverse_in_place(&mut self.values);
    }

    fn multiply(&mut self, polynomial: &[u64]) {
        let mut rhs: Vec<W> = Self::words(polynomial).collect();
        self.engine.forward_in_place(&mut rhs);
        self.engine.forward_in_place(&mut self.values);
        self.engine.multiply(&mut self.values, &rhs);
        self.engine.inverse_in_place(&mut self.values);
    }
}

/// Ours and the strategy's name; none if it has no transform for this size.
type Made = Option<(Cow<'static, str>, Box<dyn NttContender>)>;

fn ours(n: usize, modulus: u64, isa: Isa) -> Result<Made, Failure> {
    fn boxed<W: NttWord + TryFrom<u64> + Into<u64>>(
        made: Result<Arc<dyn NttEngine<W>>, NttError>,
    ) -> Result<Made, Failure> {
        match made {
            Ok(engine) => {
                let values = avec![W::default(); engine.polynomial_size()];
                Ok(Some((engine.info().name, Box::new(Ours { engine, values }))))
            }
            Err(NttError::PolynomialSize { .. }) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }
    match modulus {
        GOLDILOCKS => boxed(goldilocks_engine(n, isa)),
        0..0x8000_0000 => boxed(prime_engine_u32(n, modulus as u32, isa)),
        _ => boxed(prime_engine(n, modulus, isa)),
    }
}

/// Whether each contender agrees with the first: the same set of values at the roots, the polynomial back from them, the same
/// product. (Orders of spectra and roots differ, so spectra are compared sorted.)
fn agree(all: &mut [Box<dyn NttContender>], n: usize, modulus: u64) -> Vec<bool> {
    let a: Vec<u64> = Numbers(n as u64).take(n).map(|x| x % modulus).collect();
    let b: Vec<u64> = Numbers(!modulus).take(n).map(|x| x % modulus).collect();
    let greatest = vec![modulus - 1; n];
    let mut results = all.iter_mut().map(|contender| {
        let mut seen = Vec::new();
        let mut back = true;
        for polynomial in [&a, &greatest] {
            contender.load(polynomial);
            contender.forward();
            let mut spectrum = contender.values();
            spectrum.sort_unstable();
            seen.push(spectrum);
            contender.inverse();
            back &= contender.values() == *polynomial;
            contender.load(polynomial);
            contender.multiply(&b);
            seen.push(contender.values());
        }
        contender.load(&a);
        (back, seen)
    });
    let Some(first) = results.next() else { return Vec::new() };
    let rest: Vec<bool> = results.map(|result| result.0 && result.1 == first.1).collect();
    std::iter::once(first.0).chain(rest).collect()
}

pub(crate) fn run(settings: &Settings<'_>, report: &mut Report) -> Result<(), Failure> {
    for class in CLASSES {
        for &n in class.sizes {
            let name = |operation: &str| format!("{operation}/n{n}/{}", class.name);
            if ["ntt-fwd", "ntt-inv", "ntt-inv-raw"].iter().any(|operation| name(operation).contains(settings.only)) {
                eprintln!("ntt/n{n}/{}", class.name);
                measure(settings, report, class, n)?;
            }
        }
    }
    Ok(())
}

fn measure(settings: &Settings<'_>, report: &mut Report, class: &Class, n: usize) -> Result<(), Failure> {
    let Class { name, modulus, .. } = *class;
    let mut all: Vec<Box<dyn NttContender>> = Vec::new();
    let mut own: Vec<(Isa, Cow<'static, str>)> = Vec::new();
    for &isa in &settings.isas {
        match ours(n, modulus, isa)? {
            Some((strategy, contender)) => {
                own.push((isa, strategy));
                all.push(contender);
            }
            None => report.lacks(&format!("ntt, {name}"), "Ciphermill", n),
        }
    }
    let (peers, theirs): (Vec<Peer>, Vec<_>) = contenders(n, modulus).into_iter().unzip();
    all.extend(theirs);
    for peer in [TFHE_NTT, CONCRETE_NTT, FHE_MATH].into_iter().filter(|peer| !peers.contains(peer)) {
        report.lacks(&format!("ntt, {name}"), peer.name, n);
    }
    if own.is_empty() || peers.is_empty() {
        return Ok(());
    }
    let correct = agree(&mut all, n, modulus);

    let unnormalised: Apply = |c| {
        if !c.inverse_unnormalised() {
            c.inverse();
        }
    };
    let raw: Vec<bool> = all.iter_mut().map(|contender| contender.inverse_unnormalised()).collect();
    let operations: [(&str, &str, Apply); 3] = [
        ("ntt-fwd", "", |c| c.forward()),
        ("ntt-inv", "both normalised by 1/N", |c| c.inverse()),
        ("ntt-inv-raw", "ours normalised, the peer not", unnormalised),
    ];
    for (operation, note, apply) in operations {
        let case =
            Case::new(format!("{operation}/n{n}/{name}"), [("n", json!(n)), ("modulus", json!(modulus))]).note(note);
        if !case.name.contains(settings.only) {
            continue;
        }
        let is_raw = operation == "ntt-inv-raw";
        // The raw inverse concerns our best path and the peers that have one.
        let taken: Vec<usize> = (0..all.len()).filter(|&i| !is_raw || i == 0 || raw[i]).collect();
        let mut lanes: Vec<_> = all
            .iter_mut()
            .enumerate()
            .filter(|(i, _)| taken.contains(i))
            .map(|(_, contender)| Operation(move || apply(&mut **contender)))
            .collect();
        let mut lanes: Vec<&mut dyn Contender> = lanes.iter_mut().map(|lane| lane as &mut dyn Contender).collect();
        let stats = alternate(&mut lanes, settings.kernels);
        let of = |index: usize| -> Option<Stats> {
            let place = taken.iter().position(|&i| i == index)?;
            Some(Stats { correct: correct[index], ..stats[place] })
        };
        for (i, (isa, strategy)) in own.iter().enumerate() {
            for (j, peer) in peers.iter().enumerate() {
                if let (Some(ours), Some(theirs)) = (of(i), of(own.len() + j)) {
                    let mut case = case.clone();
                    case.params.insert("strategy".to_owned(), json!(strategy));
                    report.rows.push(case.row(isa.name(), (1, 1), ours, *peer, theirs, settings.cpu));
                }
            }
        }
    }
    Ok(())
}
