//! Every transform of the CPU, on every instruction set and with every strategy, and the reference engines pass the
//! conformance suites.

use ciphermill_math::conformance::{self, ReferenceFft, ReferenceNttProvider};
use ciphermill_math::fft::TorusFft;
use ciphermill_math::modulus::ntt_primes;
use ciphermill_math::ntt::{CpuNttProvider, NttProvider};
use ciphermill_math::{EngineInfo, Isa};

/// Checks one provider at size `n` over primes of every strategy; the names of the engines.
fn check(provider: &dyn NttProvider, n: usize) -> Vec<EngineInfo> {
    let pass = |result: Result<(), conformance::ConformanceError>| result.unwrap_or_else(|error| panic!("{error}"));
    let mut infos = Vec::new();
    for bits in [46, 47, 50, 51, 61, 62] {
        let p = ntt_primes(bits, n).next().expect("a prime of this length");
        let engine = provider.prime(n, p.value()).expect("a prime with a transform");
        pass(conformance::ntt(&*engine, n as u64 + u64::from(bits)));
        infos.push(engine.info());
    }
    let engine = provider.goldilocks(n).expect("a size on offer");
    pass(conformance::ntt(&*engine, n as u64));
    infos.push(engine.info());
    // The transforms on 32-bit words begin at N = 256.
    for bits in [29, 30, 31].into_iter().filter(|_| n >= 256) {
        let p = ntt_primes(bits, n).next().expect("a prime of this length");
        let engine = provider.prime_u32(n, p.value() as u32).expect("a prime with a transform");
        pass(conformance::ntt(&*engine, n as u64 + u64::from(bits)));
        infos.push(engine.info());
    }
    infos
}

#[test]
fn exact_transforms_of_the_cpu() {
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        let provider = CpuNttProvider::new(isa);
        for n in [16, 32, 64, 128, 256, 1024, 4096, 16384] {
            assert!(check(&provider, n).iter().all(|info| info.kind.isa() == Some(isa)), "{isa}, N = {n}");
        }
    }
}

#[test]
fn exact_transforms_by_definition() {
    for n in [16, 256, 1024] {
        assert!(check(&ReferenceNttProvider, n).iter().all(|info| info.name == "reference-ntt"));
    }
}

#[test]
fn approximate_transforms_of_the_cpu() {
    for isa in ciphermill_testing::available(Isa::ALL, |isa| isa.is_available()) {
        for n in [16, 32, 64, 128, 256, 1024, 4096, 16384] {
            let engine = TorusFft::new(n, isa).expect("a size on offer");
            conformance::fft(&engine, n as u64).unwrap_or_else(|error| panic!("{error}"));
        }
    }
}

#[test]
fn approximate_transforms_by_definition() {
    for n in [16, 256, 2048] {
        let engine = ReferenceFft::new(n).expect("a size on offer");
        conformance::fft(&engine, n as u64).unwrap_or_else(|error| panic!("{error}"));
    }
}
