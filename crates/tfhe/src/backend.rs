//! The back ends of polynomial multiplication.

/// Which transform multiplies polynomials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Backend {
    /// The f64 FFT: rounding errors of about 53 bits below the largest intermediate value.
    Fft,
    /// The exact NTT: over Z for a 32-bit torus, over Z_p for a 64-bit one.
    Ntt,
}

impl std::fmt::Display for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Backend::Fft => "fft",
            Backend::Ntt => "ntt",
        })
    }
}
