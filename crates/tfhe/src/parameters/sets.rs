//! The named sets.

use ciphermill_lattice::{NoiseDistribution, PolynomialSize};

use crate::dimension::{Decomposition, GlweDimension, LweDimension};
use crate::modulus_switch::ModulusSwitch;
use crate::parameters::search::Goal;
use crate::parameters::{ParameterSpec, TorusWidth, WordGadgets, smallest_noise};

/// The paper's dimensions on a 64-bit torus: n=800, N=16384, k=1, B=2^9, l=5, t=7; below 128 bits.
///
/// The paper states one noise, 2^−19, which can only be that of the small key; the GLWE noise 2^−50 is ours, so small
/// that the gadget's rounding hides it, and secure at N=16384 by a wide margin.
pub const NVME_TFHE_PAPER: &str = "NVME_TFHE_PAPER";

/// The paper's shape with n=860, which lifts it above 128 bits.
pub const NVME_TFHE_128: &str = "NVME_TFHE_128";

/// The paper's dimensions on a 32-bit torus, on which only three of its levels fit; below 128 bits.
///
/// The GLWE noise is 2^−31, 2 ulp: as little as a 32-bit torus can usefully carry, and below the 4 ulp that Zama's curves
/// keep as a floor for every dimension.
pub const NVME_TFHE_PAPER_U32: &str = "NVME_TFHE_PAPER_U32";

/// A toy set on a 64-bit torus for tests and quick demonstrations; it offers no security.
pub const TEST_SMALL_U64: &str = "TEST_SMALL_U64";

/// A toy set on a 32-bit torus, k=2, for tests; it offers no security.
pub const TEST_SMALL_U32: &str = "TEST_SMALL_U32";

/// Words of digits; a look-up in a dense table fails with at most 2^−64: n=672, k=2, N=1024, tables in a ring of 2048 ([`circuit`](crate::circuit)).
pub const WORD_2M64: &str = "WORD_2M64";

/// Words of digits; a look-up in a dense table fails with at most 2^−128: n=720, else as [`WORD_2M64`].
pub const WORD_2M128: &str = "WORD_2M128";

/// The shape of the word sets in toy dimensions, for tests; it offers no security.
pub const TEST_WORD: &str = "TEST_WORD";

macro_rules! recommended_sets {
    ($($name:ident: $bits:literal bits, $p:literal, $n:literal, $k:literal, $size:literal,
       ($pbs_base:literal, $pbs_levels:literal), ($ks_base:literal, $ks_levels:literal), $switch:ident;)*) => {
        $(
            #[doc = concat!(
                "Messages of ", stringify!($bits), " bits and a padding bit, failure at most 2^", stringify!($p),
                ": n=", stringify!($n), ", k=", stringify!($k), ", N=", stringify!($size), ", ", stringify!($switch), " modulus switch."
            )]
            pub const $name: &str = stringify!($name);
        )*

        /// The recommended sets: at least 128 bits of security, 64-bit torus, chosen by [`search`](super::search).
        pub const DEFAULT_SET_NAMES: &[&str] = &[$($name),*];

        /// Every named set.
        pub const SET_NAMES: &[&str] = &[
            $($name,)*
            NVME_TFHE_PAPER,
            NVME_TFHE_128,
            NVME_TFHE_PAPER_U32,
            WORD_2M64,
            WORD_2M128,
            TEST_SMALL_U64,
            TEST_SMALL_U32,
            TEST_WORD,
        ];

        const RECOMMENDED: &[Recommended] = &[$(Recommended {
            name: $name,
            message_bits: $bits,
            log2_p_fail: $p as f64,
            lwe_dimension: $n,
            glwe_dimension: $k,
            polynomial_size: $size,
            pbs: Decomposition::new($pbs_base, $pbs_levels),
            ks: Decomposition::new($ks_base, $ks_levels),
            modulus_switch: ModulusSwitch::$switch,
        }),*];
    };
}

// The output of the example `choose_parameters`, which the test `recommended_sets_are_the_cheapest` repeats.
// name: message bits, log2 of the greatest failure probability, n, k, N, (B, l) of the bootstrap, (B, t) of the key
// switch, modulus switch
recommended_sets! {
    MESSAGE_1_2M64: 1 bits, -64, 668, 3, 512, (17, 1), (3, 4), Plain;
    MESSAGE_2_2M64: 2 bits, -64, 748, 2, 1024, (19, 1), (4, 3), Plain;
    MESSAGE_3_2M64: 3 bits, -64, 858, 2, 1024, (22, 1), (5, 3), Plain;
    MESSAGE_4_2M64: 4 bits, -64, 836, 1, 2048, (22, 1), (3, 5), Plain;
    MESSAGE_5_2M64: 5 bits, -64, 904, 1, 4096, (13, 2), (3, 6), Plain;
    MESSAGE_6_2M64: 6 bits, -64, 978, 1, 8192, (14, 2), (3, 6), Plain;
    MESSAGE_2_CENTRED_2M64: 2 bits, -64, 750, 3, 512, (17, 1), (3, 4), Centred;
    MESSAGE_5_CENTRED_2M64: 5 bits, -64, 972, 1, 4096, (23, 1), (4, 4), Centred;
    MESSAGE_1_2M128: 1 bits, -128, 736, 3, 512, (17, 1), (4, 3), Plain;
    MESSAGE_2_2M128: 2 bits, -128, 784, 2, 1024, (20, 1), (4, 3), Plain;
    MESSAGE_3_2M128: 3 bits, -128, 788, 1, 2048, (22, 1), (3, 5), Plain;
    MESSAGE_4_2M128: 4 bits, -128, 888, 1, 4096, (22, 1), (4, 4), Plain;
    MESSAGE_3_CENTRED_2M128: 3 bits, -128, 884, 2, 1024, (23, 1), (5, 3), Centred;
    MESSAGE_4_CENTRED_2M128: 4 bits, -128, 898, 1, 2048, (23, 1), (4, 4), Centred;
    MESSAGE_5_CENTRED_2M128: 5 bits, -128, 930, 1, 4096, (13, 2), (3, 6), Centred;
    MESSAGE_6_CENTRED_2M128: 6 bits, -128, 1048, 1, 8192, (14, 2), (4, 5), Centred;
}

/// One recommended set: the result of the search for its goal. Noises follow from the dimensions.
struct Recommended {
    name: &'static str,
    message_bits: u32,
    log2_p_fail: f64,
    lwe_dimension: usize,
    glwe_dimension: usize,
    polynomial_size: usize,
    pbs: Decomposition,
    ks: Decomposition,
    modulus_switch: ModulusSwitch,
}

impl Recommended {
    /// 2^⌈m/2⌉ + 1: half of the message bits are seen as room for carries, and a carry joins a sum of that number of
    /// operands. The split m = 2c of TFHE-rs (message 1, 2 or 3 bits and as many of carry) has the same norms 3, 5 and
    /// 9.
    fn max_norm2(&self) -> f64 {
        f64::from(self.message_bits.div_ceil(2)).exp2() + 1.0
    }

    fn spec(&self) -> Option<ParameterSpec> {
        Some(ParameterSpec {
            name: self.name.to_owned(),
            torus: TorusWidth::U64,
            lwe_dimension: LweDimension(self.lwe_dimension),
            glwe_dimension: GlweDimension(self.glwe_dimension),
            polynomial_size: PolynomialSize::new(self.polynomial_size).ok()?,
            lwe_noise: smallest_noise(self.lwe_dimension, TorusWidth::U32),
            glwe_noise: smallest_noise(self.glwe_dimension * self.polynomial_size, TorusWidth::U64),
            pbs: self.pbs,
            ks: self.ks,
            message_bits: self.message_bits,
            max_norm2: self.max_norm2(),
            modulus_switch: self.modulus_switch,
            word: None,
        })
    }
}

/// The recommended set for messages of `message_bits` bits, 1 to 6: failure at most 2^−128.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// assert_eq!(parameters::recommended(2), Some("MESSAGE_2_2M128"));
/// assert_eq!(parameters::recommended(7), None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn recommended(message_bits: u32) -> Option<&'static str> {
    RECOMMENDED.iter().rev().find(|set| set.message_bits == message_bits).map(|set| set.name)
}

/// The goal of each recommended set.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let (name, goal) = parameters::recommended_goals().next().ok_or("there are recommended sets")?;
/// assert_eq!((name, goal.message_bits, goal.log2_p_fail), ("MESSAGE_1_2M64", 1, -64.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn recommended_goals() -> impl Iterator<Item = (&'static str, Goal)> {
    RECOMMENDED.iter().map(|set| {
        let goal = Goal {
            message_bits: set.message_bits,
            max_norm2: set.max_norm2(),
            log2_p_fail: set.log2_p_fail,
            modulus_switch: set.modulus_switch,
        };
        (set.name, goal)
    })
}

/// A set for words.
fn word(
    name: &str,
    lwe_dimension: usize,
    size: usize,
    lwe_noise: NoiseDistribution,
    glwe_noise: NoiseDistribution,
) -> Option<ParameterSpec> {
    Some(ParameterSpec {
        name: name.to_owned(),
        torus: TorusWidth::U64,
        lwe_dimension: LweDimension(lwe_dimension),
        glwe_dimension: GlweDimension(2),
        polynomial_size: PolynomialSize::new(size).ok()?,
        lwe_noise,
        glwe_noise,
        pbs: Decomposition::new(15, 2),
        ks: Decomposition::new(2, 6),
        message_bits: 1,
        max_norm2: 1.0,
        modulus_switch: ModulusSwitch::Centred,
        word: Some(WordGadgets {
            selector: Decomposition::new(7, 2),
            trace: Decomposition::new(7, 6),
            square: Decomposition::new(9, 4),
        }),
    })
}

/// The paper's shape.
fn paper(name: &str, lwe_dimension: usize) -> Option<ParameterSpec> {
    Some(ParameterSpec {
        name: name.to_owned(),
        torus: TorusWidth::U64,
        lwe_dimension: LweDimension(lwe_dimension),
        glwe_dimension: GlweDimension(1),
        polynomial_size: PolynomialSize::new(16384).ok()?,
        lwe_noise: NoiseDistribution::Gaussian { std_dev: (-19f64).exp2() },
        glwe_noise: NoiseDistribution::Gaussian { std_dev: (-50f64).exp2() },
        pbs: Decomposition::new(9, 5),
        ks: Decomposition::new(3, 7),
        message_bits: 4,
        max_norm2: 1.0,
        modulus_switch: ModulusSwitch::Plain,
        word: None,
    })
}

pub(crate) fn spec(name: &str) -> Option<ParameterSpec> {
    let gaussian = |log2: f64| NoiseDistribution::Gaussian { std_dev: log2.exp2() };
    let secure = |lwe_dimension: usize| {
        let (lwe, glwe) = (smallest_noise(lwe_dimension, TorusWidth::U32), smallest_noise(2048, TorusWidth::U64));
        word(name, lwe_dimension, 1024, lwe, glwe)
    };
    match name {
        WORD_2M64 => secure(672),
        WORD_2M128 => secure(720),
        TEST_WORD => word(name, 32, 256, gaussian(-20.0), gaussian(-48.0)),
        NVME_TFHE_PAPER => paper(name, 800),
        NVME_TFHE_128 => paper(name, 860),
        NVME_TFHE_PAPER_U32 => Some(ParameterSpec {
            torus: TorusWidth::U32,
            glwe_noise: NoiseDistribution::Gaussian { std_dev: (-31f64).exp2() },
            pbs: Decomposition::new(9, 3),
            ..paper(name, 800)?
        }),
        TEST_SMALL_U64 => Some(ParameterSpec {
            name: name.to_owned(),
            torus: TorusWidth::U64,
            lwe_dimension: LweDimension(96),
            glwe_dimension: GlweDimension(1),
            polynomial_size: PolynomialSize::new(1024).ok()?,
            lwe_noise: NoiseDistribution::Gaussian { std_dev: (-24f64).exp2() },
            glwe_noise: NoiseDistribution::Gaussian { std_dev: (-50f64).exp2() },
            pbs: Decomposition::new(9, 5),
            ks: Decomposition::new(3, 7),
            message_bits: 4,
            max_norm2: 2.0,
            modulus_switch: ModulusSwitch::Plain,
            word: None,
        }),
        TEST_SMALL_U32 => Some(ParameterSpec {
            name: name.to_owned(),
            torus: TorusWidth::U32,
            lwe_dimension: LweDimension(96),
            glwe_dimension: GlweDimension(2),
            polynomial_size: PolynomialSize::new(512).ok()?,
            lwe_noise: NoiseDistribution::Gaussian { std_dev: (-24f64).exp2() },
            glwe_noise: NoiseDistribution::Gaussian { std_dev: (-30f64).exp2() },
            pbs: Decomposition::new(7, 3),
            ks: Decomposition::new(3, 7),
            message_bits: 3,
            max_norm2: 1.0,
            modulus_switch: ModulusSwitch::Plain,
            word: None,
        }),
        _ => RECOMMENDED.iter().find(|set| set.name == name)?.spec(),
    }
}
