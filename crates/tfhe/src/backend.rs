//! The back ends of polynomial multiplication.

/// Which transform multiplies polynomials.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
#[doc = include_str!("example_server.txt")]
/// for backend in [Backend::Fft, Backend::Ntt] {
///     let server = ServerKey::load(&bootstrap[..], &keyswitch[..], backend, policy, &mut |_, _| ())?;
///     assert_eq!(client.decrypt(&encoding, &server.bootstrap(&three, &square)?)?, 1);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
