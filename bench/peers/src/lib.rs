//! Adapters to the libraries that Ciphermill is measured against, each behind the interface that the harness drives.
//!
//! This crate is apart from the harness because it is compiled for the CPU at hand, as the peers are (their generic code is
//! instantiated here), while Ciphermill runs as it ships. See `native.sh`.

pub mod concrete;
pub mod fft;
pub mod lattigo;
pub mod lwe;
pub mod ntt;
pub mod table;

/// A library that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peer {
    /// Its name on crates.io or PyPI, that of the Go module, or that of the function.
    pub name: &'static str,
    /// The version in bench/Cargo.lock, go.mod or a list of PyPI's packages, or what the library says of itself.
    pub version: &'static str,
    /// As SPDX has it.
    pub licence: &'static str,
}

/// `tfhe-ntt`.
pub const TFHE_NTT: Peer = Peer { name: "tfhe-ntt", version: env!("VERSION_TFHE_NTT"), licence: "BSD-3-Clause-Clear" };
/// `concrete-ntt`.
pub const CONCRETE_NTT: Peer =
    Peer { name: "concrete-ntt", version: env!("VERSION_CONCRETE_NTT"), licence: "BSD-3-Clause-Clear" };
/// `fhe-math`.
pub const FHE_MATH: Peer = Peer { name: "fhe-math", version: env!("VERSION_FHE_MATH"), licence: "MIT" };
/// `tfhe-fft`.
pub const TFHE_FFT: Peer = Peer { name: "tfhe-fft", version: env!("VERSION_TFHE_FFT"), licence: "BSD-3-Clause-Clear" };
/// `tfhe`.
pub const TFHE: Peer = Peer { name: "tfhe", version: env!("VERSION_TFHE"), licence: "BSD-3-Clause-Clear" };

/// One side of a comparison, as the harness drives it: per sample `prepare`, then `run` under the clock, then `correct`.
pub trait Contender {
    /// Sets up sample number `round`.
    fn prepare(&mut self, round: usize) {
        let _ = round;
    }

    /// The work to be timed.
    fn run(&mut self);

    /// Whether what [`run`](Self::run) left is right.
    fn correct(&mut self) -> bool {
        true
    }
}
