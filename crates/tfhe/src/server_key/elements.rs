//! The elements of server keys, as they are read.

use std::io::Read;

use ciphermill_lattice::Torus;
use ciphermill_wire::{OpenReader, WireError};
use rayon::prelude::*;

use super::header::{KeyForm, KeyHeader, KeyKind};
use super::options::{LoadOptions, batch_len};
use crate::bootstrap::{BackendTorus, BlindRotation};
use crate::circuit::{ConversionKey, SeededConversionKey};
use crate::elements::{BLOCK, read_elements, read_new_elements};
use crate::error::{TfheError, require_equal};
use crate::ggsw::{GgswCiphertext, expand_masks};
use crate::keyswitch::{KeyswitchShape, LweKeyswitchKey, SeededLweKeyswitchKey};
use crate::memory::{AlignedBuffer, try_reserve};
use crate::noise::key_word;
use crate::parameters::{ParameterSet, SecurityPolicy};
use crate::progress::Progress;

/// Reads a key to its end without keeping it: conformance and checksum.
///
/// # Errors
/// If anything is malformed, or the set is not admissible under `policy`.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
#[doc = include_str!("../example_server.txt")]
/// assert_eq!(validate_key(KeyKind::Keyswitch, &keyswitch[..], policy)?.tag(), client.tag());
/// assert!(validate_key(KeyKind::Bootstrap, &keyswitch[..], policy).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn validate_key<R: Read>(kind: KeyKind, reader: R, policy: SecurityPolicy) -> Result<KeyHeader, TfheError> {
    let (mut input, header, _) = KeyHeader::open(kind, reader, policy)?;
    std::io::copy(&mut input, &mut std::io::sink())?;
    finish(input)?;
    Ok(header)
}

/// Reads a bootstrapping key in coefficient form for an engine of another crate: `visit` receives the n GGSW ciphertexts
/// in order. The masks of a seeded key are expanded.
///
/// # Errors
/// If the key is malformed, not admissible under `policy` or of another torus width, or if `visit` fails.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
#[doc = include_str!("../example_server.txt")]
/// let mut selectors = Vec::new();
/// let (header, _) = server_key::read_bootstrap_key::<u64>(&bootstrap[..], policy, |selector| {
///     selectors.push(selector);
///     Ok(())
/// })?;
/// assert_eq!(selectors.len(), header.spec().lwe_dimension.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_bootstrap_key<T: Torus>(
    reader: impl Read,
    policy: SecurityPolicy,
    mut visit: impl FnMut(GgswCiphertext<T>) -> Result<(), TfheError>,
) -> Result<(KeyHeader, ParameterSet), TfheError> {
    let (mut input, header, parameters) = KeyHeader::open(KeyKind::Bootstrap, reader, policy)?;
    require_equal("torus width of the bootstrapping key", parameters.torus.bits() as usize, T::BITS as usize)?;
    let shape = parameters.ggsw_shape();
    for index in 0..parameters.lwe_dimension.0 {
        let rows = match header.form() {
            KeyForm::Full => read_new_elements(&mut input, "a GGSW ciphertext", shape.len())?,
            KeyForm::Seeded => {
                let bodies = read_new_elements(&mut input, "a GGSW ciphertext", shape.bodies_len())?;
                let mut rows = vec![T::ZERO; shape.len()];
                expand_masks(shape, &header.seed, (index * shape.row_count()) as u64, &bodies, &mut rows);
                rows
            }
        };
        visit(GgswCiphertext::from_coefficients(rows, shape)?)?;
    }
    finish(input)?;
    Ok((header, parameters))
}

/// Reads a key-switching key in coefficient form for an engine of another crate.
///
/// # Errors
/// If the key is malformed or not admissible under `policy`.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
#[doc = include_str!("../example_server.txt")]
/// let (header, _, key) = server_key::read_keyswitch_key(&keyswitch[..], policy)?;
/// assert_eq!(key.shape().output_dimension, header.spec().lwe_dimension);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_keyswitch_key(
    reader: impl Read,
    policy: SecurityPolicy,
) -> Result<(KeyHeader, ParameterSet, LweKeyswitchKey), TfheError> {
    let (mut input, header, parameters) = KeyHeader::open(KeyKind::Keyswitch, reader, policy)?;
    let key = keyswitch_elements(&mut input, &header)?;
    finish(input)?;
    Ok((header, parameters, key))
}

/// Checks the key's checksum, and that nothing follows it.
pub(super) fn finish<R: Read>(input: OpenReader<R>) -> Result<(), TfheError> {
    // Enough to say how many bytes there are, without following a stream that never ends.
    let given = std::io::copy(&mut input.finish()?.take(1 << 20), &mut std::io::sink())?;
    if given == 0 { Ok(()) } else { Err(WireError::TrailingBytes { given }.into()) }
}

/// Reads a conversion key in coefficient form for an engine of another crate.
///
/// # Errors
/// If the key is malformed or not admissible under `policy`.
///
/// # Example
/// ```
#[doc = include_str!("../example_word.txt")]
/// use ciphermill_tfhe::server_key::read_conversion_key;
/// let (header, _, key) = read_conversion_key(&conversion[..], policy)?;
/// assert_eq!(Some(key.shape()), header.spec().conversion_shape());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_conversion_key(
    reader: impl Read,
    policy: SecurityPolicy,
) -> Result<(KeyHeader, ParameterSet, ConversionKey), TfheError> {
    let (input, header, parameters) = KeyHeader::open(KeyKind::Conversion, reader, policy)?;
    let key = conversion_key(input, &header)?;
    Ok((header, parameters, key))
}

/// The conversion key after its header.
pub(super) fn conversion_key(mut input: OpenReader<impl Read>, header: &KeyHeader) -> Result<ConversionKey, TfheError> {
    let shape = header.spec().require_conversion_shape()?;
    let what = "the conversion key";
    drop(try_reserve::<u64>(what, shape.len() + shape.bodies_len())?);
    let key = match header.form() {
        KeyForm::Seeded => {
            let bodies = read_new_elements(&mut input, what, shape.bodies_len())?;
            SeededConversionKey { shape, seed: header.seed, bodies }.expand()
        }
        KeyForm::Full => ConversionKey::from_coefficients(read_new_elements(&mut input, what, shape.len())?, shape)?,
    };
    finish(input)?;
    Ok(key)
}

pub(super) fn keyswitch_elements(input: &mut impl Read, header: &KeyHeader) -> Result<LweKeyswitchKey, TfheError> {
    let spec = header.spec();
    let shape = KeyswitchShape {
        input_dimension: spec.big_lwe_dimension(),
        output_dimension: spec.lwe_dimension,
        decomposition: spec.ks,
    };
    let what = "the key-switching key";
    match header.form() {
        KeyForm::Seeded => {
            let bodies = read_new_elements(input, what, shape.row_count())?;
            // Expanding multiplies the size by n + 1, and cannot fail: so ask before.
            drop(try_reserve::<u32>(what, shape.len())?);
            Ok(SeededLweKeyswitchKey { shape, seed: header.seed, bodies }.expand())
        }
        KeyForm::Full => {
            // Touched as it is read, as in `read_new_elements`.
            let mut elements = AlignedBuffer::try_with_capacity(what, shape.len())?;
            while elements.len() < shape.len() {
                let read = elements.len();
                elements.grow(shape.len().min(read + BLOCK));
                read_elements(input, &mut elements[read..])?;
            }
            LweKeyswitchKey::from_buffer(elements, shape)
        }
    }
}

pub(super) fn transform_bootstrap_key<T: BackendTorus>(
    input: &mut impl Read,
    header: &KeyHeader,
    options: &LoadOptions,
    progress: Progress<'_>,
) -> Result<Box<dyn BlindRotation<T>>, TfheError> {
    let spec = header.spec();
    let (shape, count) = (spec.ggsw_shape(), spec.lwe_dimension.0);
    let mut builder = T::builder(options.backend, key_word(spec), options.isa, &*options.ntt, shape, count)?;
    let batch = batch_len(count);
    let element_count = match header.form() {
        KeyForm::Seeded => shape.bodies_len(),
        KeyForm::Full => shape.len(),
    };
    drop(try_reserve::<T>("batches of the bootstrapping key", batch * (2 * element_count + 2 * shape.len()))?);
    let mut rows = vec![T::ZERO; if header.form() == KeyForm::Seeded { batch * shape.len() } else { 0 }];
    // One batch is read while the other is expanded and transformed.
    let [mut current, mut next] = [(); 2].map(|()| vec![T::ZERO; batch * element_count]);
    let len_from = |first: usize| batch.min(count - first) * element_count;
    read_elements(input, &mut current[..len_from(0)])?;
    for first in (0..count).step_by(batch) {
        let number = batch.min(count - first);
        let elements = &current[..number * element_count];
        let following = first + number;
        let (mut pushed, mut read) = (Ok(()), Ok(()));
        rayon::in_place_scope(|scope| {
            let (builder, rows, pushed) = (&mut builder, &mut rows, &mut pushed);
            scope.spawn(move |_| {
                *pushed = match header.form() {
                    KeyForm::Full => builder.push(elements),
                    KeyForm::Seeded => {
                        let rows = &mut rows[..number * shape.len()];
                        expand_batch(header, first, elements, rows);
                        builder.push(rows)
                    }
                };
            });
            if following < count {
                read = read_elements(input, &mut next[..len_from(following)]);
            }
        });
        pushed?;
        read?;
        std::mem::swap(&mut current, &mut next);
        progress(following as u64, count as u64);
    }
    builder.finish()
}

/// Rebuilds the rows of seeded GGSW ciphertexts from the `first` on, in parallel.
fn expand_batch<T: Torus>(header: &KeyHeader, first: usize, bodies: &[T], rows: &mut [T]) {
    let shape = header.spec().ggsw_shape();
    rows.par_chunks_exact_mut(shape.len()).zip(bodies.par_chunks_exact(shape.bodies_len())).enumerate().for_each(
        |(j, (rows, bodies))| {
            expand_masks(shape, &header.seed, ((first + j) * shape.row_count()) as u64, bodies, rows);
        },
    );
}
