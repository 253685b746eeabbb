//! Instruction sets of the CPU paths, and their choice at run time.

use std::fmt;
use std::sync::OnceLock;

/// An instruction set for which kernels exist.
///
/// # Example
/// ```
/// use ciphermill_math::Isa;
///
/// // The path of this process: `CIPHERMILL_ISA`, or the best path of the CPU.
/// let isa = Isa::from_environment()?;
/// assert!(isa.is_available() && isa <= Isa::best());
/// # Ok::<(), ciphermill_math::isa::IsaError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Isa {
    /// Plain Rust, for any CPU.
    Portable,
    /// AVX2 and FMA.
    Avx2,
    /// AVX-512 F, DQ, VL and BW.
    Avx512,
}

/// The reason why the value of `CIPHERMILL_ISA` is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IsaError {
    /// The value is not one of the three names.
    #[error("CIPHERMILL_ISA={0:?} is unknown; use portable, avx2 or avx512")]
    Unknown(String),
    /// The CPU lacks the instruction set.
    #[error("CIPHERMILL_ISA={asked} is not available on this CPU; use at most {best}")]
    Unavailable {
        /// The requested value.
        asked: Isa,
        /// The best path of this CPU.
        best: Isa,
    },
}

impl Isa {
    /// Every path, slowest first.
    pub const ALL: [Isa; 3] = [Isa::Portable, Isa::Avx2, Isa::Avx512];

    /// Whether this CPU can run the path.
    pub fn is_available(self) -> bool {
        match self {
            Isa::Portable => true,
            #[cfg(target_arch = "x86_64")]
            Isa::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            #[cfg(target_arch = "x86_64")]
            Isa::Avx512 => {
                Isa::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512bw")
            }
            #[cfg(not(target_arch = "x86_64"))]
            Isa::Avx2 | Isa::Avx512 => false,
        }
    }

    /// Whether the path may use the 52-bit multiply-add of AVX-512 IFMA. It belongs to [`Isa::Avx512`] on a CPU that
    /// has it. It is not a separate path, because every CPU with IFMA has the rest of that path.
    pub fn has_ifma(self) -> bool {
        #[cfg(target_arch = "x86_64")]
        return self == Isa::Avx512 && self.is_available() && is_x86_feature_detected!("avx512ifma");
        #[cfg(not(target_arch = "x86_64"))]
        return false;
    }

    /// The paths that this CPU can run, slowest first.
    pub fn available() -> impl Iterator<Item = Isa> {
        Isa::ALL.into_iter().filter(|isa| isa.is_available())
    }

    /// The best path of this CPU, regardless of the environment.
    pub fn best() -> Isa {
        Isa::available().last().unwrap_or(Isa::Portable)
    }

    /// The path to use: `CIPHERMILL_ISA` if set, else [`Isa::best`].
    ///
    /// # Errors
    /// If the variable does not name a path, or the CPU lacks the named path.
    pub fn from_environment() -> Result<Isa, IsaError> {
        let Some(name) = std::env::var_os("CIPHERMILL_ISA").filter(|v| !v.is_empty()) else {
            return Ok(Isa::best());
        };
        let asked = Isa::ALL
            .into_iter()
            .find(|isa| name.to_str() == Some(isa.name()))
            .ok_or_else(|| IsaError::Unknown(name.to_string_lossy().into_owned()))?;
        if asked.is_available() { Ok(asked) } else { Err(IsaError::Unavailable { asked, best: Isa::best() }) }
    }

    /// The path of this process: [`Isa::from_environment`], read once. A bad `CIPHERMILL_ISA` selects the best path
    /// here. A command-line front end reports it by calling [`Isa::from_environment`] first.
    pub fn current() -> Isa {
        static CURRENT: OnceLock<Isa> = OnceLock::new();
        *CURRENT.get_or_init(|| Isa::from_environment().unwrap_or_else(|_| Isa::best()))
    }

    /// The name used in `CIPHERMILL_ISA` and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Isa::Portable => "portable",
            Isa::Avx2 => "avx2",
            Isa::Avx512 => "avx512",
        }
    }
}

impl fmt::Display for Isa {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Compiles one function body once per instruction set and calls the version for `isa`.
///
/// The body is plain Rust that the compiler vectorises. Generic functions that it calls must be `#[inline(always)]`.
///
/// ```
/// ciphermill_math::multiversion! {
///     /// Adds `rhs` to `lhs`, lane by lane, modulo 2^64.
///     pub fn wrapping_add(isa, lhs: &mut [u64], rhs: &[u64]) {
///         for (l, r) in lhs.iter_mut().zip(rhs) {
///             *l = l.wrapping_add(*r);
///         }
///     }
/// }
/// let mut a = [1, u64::MAX];
/// wrapping_add(ciphermill_math::Isa::best(), &mut a, &[1, 1]);
/// assert_eq!(a, [2, 0]);
/// ```
#[macro_export]
macro_rules! multiversion {
    ($(#[$meta:meta])* $vis:vis fn $name:ident(isa $(, $arg:ident: $ty:ty)* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        $vis fn $name(isa: $crate::isa::Isa, $($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn body($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn avx2($($arg: $ty),*) $(-> $ret)? { body($($arg),*) }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512dq,avx512vl,avx512bw,avx2,fma")]
            fn avx512($($arg: $ty),*) $(-> $ret)? { body($($arg),*) }

            match isa {
                $crate::isa::Isa::Portable => body($($arg),*),
                #[cfg(target_arch = "x86_64")]
                $crate::isa::Isa::Avx2 => {
                    assert!(isa.is_available());
                    // SAFETY: the assertion above ensures the required CPU features.
                    unsafe { avx2($($arg),*) }
                }
                #[cfg(target_arch = "x86_64")]
                $crate::isa::Isa::Avx512 => {
                    assert!(isa.is_available());
                    // SAFETY: the assertion above ensures the required CPU features.
                    unsafe { avx512($($arg),*) }
                }
                #[cfg(not(target_arch = "x86_64"))]
                _ => body($($arg),*),
            }
        }
    };
}
