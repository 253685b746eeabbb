//! The plain definitions: schoolbook products modulo q, nothing fused, nothing transformed.
//!
//! Every fast path of this crate is compared with these functions. They cost O(N²) per product: half a second for one at
//! N = 16384.

use ciphermill_lattice::{Torus, rotate};

use crate::dimension::PolynomialSize;
use crate::error::{TfheError, require_equal};
use crate::ggsw::GgswCiphertext;
use crate::glwe::GlweCiphertext;
use crate::keyswitch::LweKeyswitchKey;
use crate::lwe::LweCiphertext;
use crate::modulus_switch::ModulusSwitch;

/// Adds the negacyclic product of an integer polynomial and a torus polynomial to `out`.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let mut sum = [0u32, 0];
/// // X·(5 + 7X) = −7 + 5X modulo X² + 1.
/// reference::add_product(&[0, 1], &[5, 7], &mut sum);
/// assert_eq!(sum, [7u32.wrapping_neg(), 5]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn add_product<T: Torus>(integers: &[i64], torus: &[T], out: &mut [T]) {
    let n = out.len();
    assert!(integers.len() == n && torus.len() == n);
    for (i, &d) in integers.iter().enumerate() {
        let d = T::from_signed_i64(d);
        // X^N = −1: the upper part of the product with X^i wraps around and changes its sign.
        let (lower, upper) = torus.split_at(n - i);
        for (o, &t) in out[i..].iter_mut().zip(lower) {
            *o = o.wrapping_add(d.wrapping_mul(t));
        }
        for (o, &t) in out[..i].iter_mut().zip(upper) {
            *o = o.wrapping_sub(d.wrapping_mul(t));
        }
    }
}

/// External product of a GGSW and a GLWE ciphertext: Σ_(c,j) digit_j(glwe_c) · row_(c,j), an encryption of μ times the
/// message (Chillotti, Gama, Georgieva, Izabachène, "TFHE: fast fully homomorphic encryption over the torus", 2020).
///
/// # Errors
/// If the decomposition of the GGSW does not fit the torus.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let key = client.glwe_secret_key();
/// let encryptor = GgswEncryptor::<u64>::new(key, parameters.pbs, parameters.glwe_noise)?;
/// let one = encryptor.encrypt(1, &PublicSeed::from_os()?, 0, &mut rng);
/// let message = vec![3 << 60; parameters.polynomial_size.get()];
/// let product = reference::external_product(&one, &key.encrypt(&message, parameters.glwe_noise, &mut rng)?)?;
/// assert!(key.decrypt_phase(&product)?.iter().all(|phase| phase.wrapping_add(1 << 59) >> 60 == 3));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn external_product<T: Torus>(
    ggsw: &GgswCiphertext<T>,
    glwe: &GlweCiphertext<T>,
) -> Result<GlweCiphertext<T>, TfheError> {
    let shape = ggsw.shape();
    let n = shape.polynomial_size.get();
    let levels = shape.decomposition.level_count.0;
    let decomposer = shape.decomposition.decomposer::<T>()?;
    let mut out = vec![T::ZERO; shape.row_len()];
    for (r, row) in ggsw.coefficients().chunks_exact(shape.row_len()).enumerate() {
        let (component, level) = (r / levels, r % levels + 1);
        let digits: Vec<i64> =
            glwe.coefficients()[component * n..][..n].iter().map(|&x| decomposer.digit(x, level)).collect();
        for (polynomial, sum) in row.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
            add_product(&digits, polynomial, sum);
        }
    }
    GlweCiphertext::from_coefficients(out, shape.polynomial_size)
}

/// CMux: `if_zero` + μ·(`if_one` − `if_zero`), for the bit μ that `selector` encrypts.
///
/// # Errors
/// As [`external_product`].
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let key = client.glwe_secret_key();
/// let encryptor = GgswEncryptor::<u64>::new(key, parameters.pbs, parameters.glwe_noise)?;
/// let zero = encryptor.encrypt(0, &PublicSeed::from_os()?, 0, &mut rng);
/// let message = |value: u64| vec![value << 60; parameters.polynomial_size.get()];
/// let [a, b] = [2, 5].map(|m| key.encrypt(&message(m), parameters.glwe_noise, &mut rng).expect("a test set"));
/// let chosen = key.decrypt_phase(&reference::cmux(&zero, &a, &b)?)?;
/// assert!(chosen.iter().all(|phase| phase.wrapping_add(1 << 59) >> 60 == 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cmux<T: Torus>(
    selector: &GgswCiphertext<T>,
    if_zero: &GlweCiphertext<T>,
    if_one: &GlweCiphertext<T>,
) -> Result<GlweCiphertext<T>, TfheError> {
    let mut difference = if_one.clone();
    difference.sub_assign(if_zero)?;
    let mut out = external_product(selector, &difference)?;
    out.add_assign(if_zero)?;
    Ok(out)
}

/// X^exponent · glwe, 0 ≤ exponent < 2N.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let mut message = vec![0u64; parameters.polynomial_size.get()];
/// message[0] = 3;
/// let glwe = GlweCiphertext::trivial(&message, GlweDimension(1), parameters.polynomial_size)?;
/// assert_eq!(reference::rotate_glwe(&glwe, 7).body()[7], 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn rotate_glwe<T: Torus>(glwe: &GlweCiphertext<T>, exponent: usize) -> GlweCiphertext<T> {
    let n = glwe.polynomial_size().get();
    let mut out = glwe.clone();
    for (source, target) in glwe.coefficients().chunks_exact(n).zip(out.coefficients_mut().chunks_exact_mut(n)) {
        target.copy_from_slice(&rotate::reference::rotate(source, exponent));
    }
    out
}

/// Blind rotation: X^(−b + Σ a_i s_i) · `accumulator`, for a mask and body already reduced modulo 2N.
///
/// # Errors
/// As [`external_product`].
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let encryptor = GgswEncryptor::<u64>::new(client.glwe_secret_key(), parameters.pbs, parameters.glwe_noise)?;
/// let (masks, rows) = (PublicSeed::from_os()?, encryptor.shape().row_count() as u64);
/// let key = [(1, 0), (0, 1)].map(|(bit, index)| encryptor.encrypt(bit, &masks, index * rows, &mut rng));
/// let mut table = vec![0; parameters.polynomial_size.get()];
/// table[0] = 3 << 60;
/// let table = GlweCiphertext::trivial(&table, GlweDimension(1), parameters.polynomial_size)?;
/// // X^(−2 + 7·1 + 9·0) moves the entry to degree 5.
/// let rotated = reference::blind_rotate(&key, &[7, 9], 2, &table)?;
/// assert_eq!(client.glwe_secret_key().decrypt_phase(&rotated)?[5].wrapping_add(1 << 59) >> 60, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn blind_rotate<T: Torus>(
    key: &[GgswCiphertext<T>],
    mask: &[usize],
    body: usize,
    accumulator: &GlweCiphertext<T>,
) -> Result<GlweCiphertext<T>, TfheError> {
    let order = 2 * accumulator.polynomial_size().get();
    let mut acc = rotate_glwe(accumulator, (order - body) % order);
    for (ggsw, &a) in key.iter().zip(mask) {
        acc = cmux(ggsw, &acc, &rotate_glwe(&acc, a))?;
    }
    Ok(acc)
}

/// Key switch: (0, …, 0, b) − Σ_i Σ_j digit_j(a_i)·row_(i,j), modulo 2^32.
///
/// # Errors
/// If the dimension is not the key's input dimension, or the decomposition does not fit the torus.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let key = client.generate_keyswitch_key(KeySeeds::from_os()?)?.expand();
/// let big = client.glwe_secret_key().to_lwe_secret_key();
/// let input = big.encrypt::<u64>(3 << 60, parameters.glwe_noise, &mut rng)?;
/// // The fast path returns the same bits.
/// assert_eq!(reference::keyswitch(&key, &input)?, key.switch(&input)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn keyswitch<T: Torus>(key: &LweKeyswitchKey, input: &LweCiphertext<T>) -> Result<LweCiphertext<u32>, TfheError> {
    let shape = key.shape();
    require_equal("LWE dimension of the ciphertext", input.dimension().0, shape.input_dimension.0)?;
    let (size, levels) = (shape.output_dimension.lwe_size(), shape.decomposition.level_count.0);
    let decomposer = shape.decomposition.decomposer::<T>()?;
    let mut out = vec![0u32; size];
    out[size - 1] = u32::from_u64_msb(input.body().to_u64_msb());
    for (r, row) in key.elements().chunks_exact(size).enumerate() {
        let digit = decomposer.digit(input.mask()[r / levels], r % levels + 1) as u32;
        for (o, &x) in out.iter_mut().zip(row) {
            *o = o.wrapping_sub(digit.wrapping_mul(x));
        }
    }
    Ok(LweCiphertext::from_elements(out))
}

/// Modulus switch to the exponents modulo 2N, mask first. A mask element x becomes ⌊x·2N/q + ½⌋, which is r = (that)·q/2N − x
/// away from it. The body b becomes ⌊b·2N/q + ½⌋ with the plain switch, ⌊(b + ½·Σ r)·2N/q⌋ with the centred one.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let size = PolynomialSize::new(16)?;
/// // 32 exponents, 2^27 apart. The mask errs by a quarter of a step, and half of this is added to the body.
/// let input = LweCiphertext::from_elements(vec![(3u32 << 27) - (1 << 25), (8 << 27) - (1 << 24)]);
/// assert_eq!(reference::modulus_switch(ModulusSwitch::Centred, &input, size), [3, 8]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn modulus_switch<T: Torus>(
    switch: ModulusSwitch,
    input: &LweCiphertext<T>,
    polynomial_size: PolynomialSize,
) -> Vec<usize> {
    let (q, order) = (1i128 << 64, 2 * polynomial_size.get() as i128);
    let value = |x: &T| i128::from(x.to_u64_msb());
    let nearest = |x: i128| (2 * order * x + q).div_euclid(2 * q);
    let body = value(&input.body());
    let errors = input.mask().iter().map(|x| nearest(value(x)) * (q / order) - value(x));
    let last = match switch {
        ModulusSwitch::Plain => nearest(body),
        ModulusSwitch::Centred => ((2 * body + errors.sum::<i128>()) * order).div_euclid(2 * q),
    };
    let exponents = input.mask().iter().map(|x| nearest(value(x))).chain([last]);
    exponents.map(|e| e.rem_euclid(order) as usize).collect()
}
