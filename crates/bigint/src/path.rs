//! Which instructions the kernels use.

use std::fmt;

use ciphermill_math::Isa;

/// A family of kernels.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// for path in Path::available() {
///     let ring = OddModulus::new(&n, path)?;
///     let square = ring.square(&ring.enter(&batch(&[3]))?);
///     assert_eq!(ring.leave(&square).words(), [9, 0, 0, 0], "{path}");
/// }
/// assert!(Path::Portable.is_available());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Path {
    /// 64-bit limbs in plain Rust: any CPU.
    Portable,
    /// 64-bit limbs with `mulx`, `adcx` and `adox`: x86-64 CPUs with BMI2 and ADX (Broadwell, Zen 1 and later).
    Adx,
    /// 52-bit digits of one number over the lanes: AVX-512 IFMA, for the latency of one exponentiation. The ring modulo n²
    /// through n is that of [`Adx`](Path::Adx).
    IfmaSingle,
    /// 52-bit digits of eight numbers side by side: AVX-512 IFMA (Ice Lake, Zen 4 and later).
    Ifma,
}

impl Path {
    /// Every path, slowest first in throughput.
    pub const ALL: [Path; 4] = [Path::Portable, Path::Adx, Path::IfmaSingle, Path::Ifma];

    /// Whether this CPU can run the path.
    pub fn is_available(self) -> bool {
        match self {
            Path::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Path::Adx => is_x86_feature_detected!("bmi2") && is_x86_feature_detected!("adx"),
            #[cfg(not(target_arch = "x86_64"))]
            Path::Adx => false,
            Path::IfmaSingle => Path::Adx.is_available() && Isa::Avx512.has_ifma(),
            Path::Ifma => Isa::Avx512.has_ifma(),
        }
    }

    /// The paths that this CPU can run, slowest first.
    pub fn available() -> impl Iterator<Item = Path> {
        Path::ALL.into_iter().filter(|path| path.is_available())
    }

    /// The best path (for whole groups of numbers) of an instruction set on this CPU.
    pub fn of(isa: Isa) -> Path {
        match isa {
            Isa::Portable => Path::Portable,
            _ if isa.has_ifma() => Path::Ifma,
            _ if Path::Adx.is_available() => Path::Adx,
            _ => Path::Portable,
        }
    }

    /// The path of this process: of [`Isa::current`].
    pub fn current() -> Path {
        Path::of(Isa::current())
    }

    /// The name used in reports.
    pub fn name(self) -> &'static str {
        match self {
            Path::Portable => "portable",
            Path::Adx => "adx",
            Path::IfmaSingle => "ifma-single",
            Path::Ifma => "ifma",
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
