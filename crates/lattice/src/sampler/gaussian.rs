//! The rounded Gaussian, by the transform of Box and Muller.
//!
//! From two uniform words come a radius r = √(−2 ln u) and an angle, and from these two independent normal values (Box
//! and Muller, "A note on the generation of random normal deviates", 1958). Rejection methods such as the ziggurat are
//! as fast, but consume a varying amount of the keystream and a time that depends on the samples.
//!
//! The logarithm, sine and cosine are polynomials in basic operations only, which IEEE 754 rounds exactly: the values
//! are the same on every CPU, and the compiler vectorises them.

use std::f64::consts::{LN_2, PI, SQRT_2};

use ciphermill_math::Isa;
use zeroize::Zeroize;

use super::{CHUNK, NoiseError};
use crate::rng::Csprng;
use crate::torus::Torus;

/// The rounded Gaussian of mean 0 on the torus: the continuous normal value times `std_dev`·2^BITS, rounded to the
/// nearest integer, modulo 2^BITS.
///
/// Two samples take 16 keystream bytes. The radius is drawn from 64 bits, so no value lies beyond 9.5 standard
/// deviations; the normal distribution has 2^-68 there. The normal value has the 53 bits of an f64: with an integer
/// standard deviation beyond 2^50 the low bits of large samples are zero, far below the noise that they contribute.
///
/// # Example
/// ```
/// use ciphermill_lattice::sampler::Gaussian;
/// use ciphermill_lattice::{Csprng, SecretSeed, Torus};
///
/// let mut noise = [0u64; 100];
/// Gaussian::new(1e-9)?.sample_into(&mut Csprng::from_os()?, &mut noise);
/// assert!(noise.iter().all(|value| value.to_f64_signed().abs() < 1e-7));
/// assert!(Gaussian::new(0.5).is_err(), "it exceeds a quarter of the torus");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaussian {
    std_dev: f64,
}

impl Gaussian {
    /// The largest standard deviation: a quarter of the torus, beyond which the noise is all but uniform.
    pub const MAX_STD_DEV: f64 = 0.25;

    /// The Gaussian of standard deviation `std_dev`, relative to the whole torus.
    ///
    /// # Errors
    /// If `std_dev` is not within 0 to [`MAX_STD_DEV`](Self::MAX_STD_DEV).
    pub fn new(std_dev: f64) -> Result<Self, NoiseError> {
        // The negated form refuses NaN too.
        if !(0.0..=Self::MAX_STD_DEV).contains(&std_dev) {
            return Err(NoiseError::StdDev { given: std_dev, max: Self::MAX_STD_DEV });
        }
        Ok(Gaussian { std_dev })
    }

    /// Samples to `out`.
    pub fn sample_into<T: Torus>(&self, rng: &mut Csprng, out: &mut [T]) {
        let isa = Isa::current();
        let scale = self.std_dev * 2f64.powi(T::BITS as i32);
        let mut words = [0u64; CHUNK];
        let mut values = [0i64; CHUNK];
        for part in out.chunks_mut(CHUNK) {
            // The first half of the words makes radii, the second angles.
            let pairs = part.len().div_ceil(2);
            rng.fill_u64(&mut words[..2 * pairs]);
            normal_pairs(isa, &words[..2 * pairs], scale, &mut values[..2 * pairs]);
            for (o, v) in part.iter_mut().zip(&values) {
                *o = T::from_signed_i64(*v);
            }
        }
        words.zeroize();
        values.zeroize();
    }
}

ciphermill_math::multiversion! {
    /// Normal values times `scale`, rounded, modulo 2^64: cosines to the first half of `out`, sines to the second.
    fn normal_pairs(isa, words: &[u64], scale: f64, out: &mut [i64]) {
        let half = words.len() / 2;
        let (radii, angles) = words.split_at(half);
        let (cosines, sines) = out.split_at_mut(half);
        for (((u, v), c), s) in radii.iter().zip(angles).zip(cosines).zip(sines) {
            let (x, y) = box_muller(*u, *v);
            *c = round_wrapping(x * scale);
            *s = round_wrapping(y * scale);
        }
    }
}

/// The integer nearest to x, ties to even, modulo 2^64, for |x| < 2^82.
///
/// A float-to-integer cast saturates, and few instruction sets have a vector form of it. Adding 1.5·2^52 instead rounds
/// a number below 2^51 in magnitude to an integer and leaves it in the low mantissa bits. That is done twice: for the
/// multiple of 2^32 nearest to x, and for the rest, which the subtraction gives exactly.
#[inline(always)]
fn round_wrapping(x: f64) -> i64 {
    const MAGIC: f64 = 6_755_399_441_055_744.0;
    const WORD: f64 = 4_294_967_296.0;
    let hi = x * (1.0 / WORD) + MAGIC;
    let lo = (x - (hi - MAGIC) * WORD) + MAGIC;
    let integer = |y: f64| y.to_bits().wrapping_sub(MAGIC.to_bits());
    (integer(hi) << 32).wrapping_add(integer(lo)) as i64
}

/// Two independent normal values from two uniform words.
#[inline(always)]
fn box_muller(radius: u64, angle: u64) -> (f64, f64) {
    // (w + 1/2)·2^-64: never 0. The scaling is by a power of two, hence exact.
    let u = (radius as f64 + 0.5) * (0.5 / (1u64 << 63) as f64);
    let r = (-2.0 * ln(u)).max(0.0).sqrt();
    let (sin, cos) = sin_cos_turn(angle);
    (r * cos, r * sin)
}

/// ln x for normal x in (0, 1], relative error below 2^-50: x = m·2^e with m in [√½, √2), ln m = 2·artanh((m − 1)/(m + 1)).
#[inline(always)]
fn ln(x: f64) -> f64 {
    // Subtracting the pattern of √½ from that of x makes the exponent field that of x/√½.
    const SQRT_HALF: u64 = (SQRT_2 / 2.0).to_bits();
    const MANTISSA: u64 = (1 << 52) - 1;
    let offset = x.to_bits().wrapping_sub(SQRT_HALF);
    let exponent = ((offset as i64) >> 52) as f64;
    let m = f64::from_bits((offset & MANTISSA) + SQRT_HALF);
    let s = (m - 1.0) / (m + 1.0);
    let t = s * s;
    // |s| ≤ 0.172: the first term left out, t^11/23, is below 2^-60.
    let mut sum = 1.0 / 21.0;
    for odd in [19.0, 17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0] {
        sum = sum * t + 1.0 / odd;
    }
    exponent * LN_2 + (2.0 * s + 2.0 * s * t * sum)
}

/// Sine and cosine of the angle of `word`/2^64 turns, absolute error below 2^-51.
///
/// The top two bits choose the quadrant; the rest is an angle in [−π/4, π/4) around its middle, turned by an eighth.
#[inline(always)]
fn sin_cos_turn(word: u64) -> (f64, f64) {
    const SCALE: f64 = PI / 2.0 / (1u64 << 62) as f64;
    // A signed 62-bit number times a quarter turn.
    let a = ((word << 2) as i64 >> 2) as f64 * SCALE;
    let t = a * a;
    // Taylor about 0 with |a| ≤ π/4: the first terms left out are below 2^-54.
    let mut sin = -1.0 / 1_307_674_368_000.0;
    for inverse in
        [1.0 / 6_227_020_800.0, -1.0 / 39_916_800.0, 1.0 / 362_880.0, -1.0 / 5_040.0, 1.0 / 120.0, -1.0 / 6.0]
    {
        sin = sin * t + inverse;
    }
    let sin = a + a * t * sin;
    let mut cos = 1.0 / 20_922_789_888_000.0;
    for inverse in [
        -1.0 / 87_178_291_200.0,
        1.0 / 479_001_600.0,
        -1.0 / 3_628_800.0,
        1.0 / 40_320.0,
        -1.0 / 720.0,
        1.0 / 24.0,
        -0.5,
    ] {
        cos = cos * t + inverse;
    }
    let cos = 1.0 + t * cos;
    // Quadrant q turns (sin, cos) by q·π/2: odd ones swap, with one sign changed each.
    let quadrant = word.wrapping_add(1 << 61) >> 62;
    // Swapped by a mask: of a conditional the compiler may make a branch, whose time depends on the sample.
    let swap = (sin.to_bits() ^ cos.to_bits()) & (quadrant & 1).wrapping_neg();
    let (s, c) = (sin.to_bits() ^ swap, cos.to_bits() ^ swap);
    let sign_s = (quadrant & 2) << 62;
    let sign_c = (quadrant.wrapping_add(1) & 2) << 62;
    (f64::from_bits(s ^ sign_s), f64::from_bits(c ^ sign_c))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Words that stress the ends of every range, and a spread of others.
    fn words() -> impl Iterator<Item = u64> {
        let edges = (0..64).flat_map(|k| [1u64 << k, (1u64 << k) - 1, u64::MAX << k, (1u64 << k) + (1 << 61)]);
        let spread = (1..200_000u64).map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        edges.chain(spread)
    }

    #[test]
    fn logarithm_matches_libm() {
        for w in words() {
            let u = (w as f64 + 0.5) * 2f64.powi(-64);
            let (ours, theirs) = (ln(u), libm::log(u));
            assert!((ours - theirs).abs() <= 2f64.powi(-50) * theirs.abs(), "ln {u}: {ours}, libm {theirs}");
        }
    }

    #[test]
    fn sine_and_cosine_match_libm() {
        for w in words() {
            let (s, c) = sin_cos_turn(w);
            // The signed angle keeps the argument small, so that its own rounding stays below the bound.
            let angle = (w as i64) as f64 * (PI / 2f64.powi(63));
            let (s_libm, c_libm) = libm::sincos(angle);
            let bound = 2f64.powi(-50);
            assert!((s - s_libm).abs() < bound && (c - c_libm).abs() < bound, "{w:#x}: {s} {c}, {s_libm} {c_libm}");
        }
    }

    #[test]
    fn every_instruction_set_gives_the_same_values() {
        let words: Vec<u64> = words().take(1 << 16).collect();
        for scale in [0.0, 3.2, 2f64.powi(33), 2f64.powi(62)] {
            let mut plain = vec![0; words.len()];
            normal_pairs(Isa::Portable, &words, scale, &mut plain);
            for isa in Isa::available() {
                let mut out = vec![0; words.len()];
                normal_pairs(isa, &words, scale, &mut out);
                assert!(out == plain, "{isa} differs at scale {scale}");
            }
        }
    }

    /// Against a cast through 128 bits, at all magnitudes that a sample can have and beyond.
    #[test]
    fn rounding_is_to_the_nearest_modulo_2_64() {
        for (w, magnitude) in words().zip((-3..82).cycle()) {
            let x = (w as i64) as f64 * 2f64.powi(magnitude - 63);
            assert_eq!(round_wrapping(x), x.round_ties_even() as i128 as i64, "{x}");
        }
        for half in -1000..1000 {
            let x = f64::from(half) + 0.5;
            assert_eq!(round_wrapping(x), x.round_ties_even() as i64, "{x}");
        }
    }

    #[test]
    fn the_largest_radius_is_finite() {
        let (x, y) = box_muller(0, 0);
        assert!(x > 9.49 && x < 9.5 && y == 0.0, "{x} {y}");
        assert_eq!(box_muller(u64::MAX, 0), (0.0, 0.0));
    }
}
