//! Memory of transformed bootstrapping keys.

use ciphermill_math::fft::PackedWord;

use crate::backend::Backend;
use crate::ggsw_shape::GgswShape;

/// Bytes of a transformed key of `count` GGSW ciphertexts.
pub(crate) fn transformed_key_bytes(backend: Backend, word: PackedWord, shape: GgswShape, count: usize) -> u64 {
    let wide = |factors: &[usize]| factors.iter().fold(1u64, |product, &f| product.saturating_mul(f as u64));
    let (components, size) = (shape.glwe_dimension.glwe_size(), shape.polynomial_size.get());
    let spectra = wide(&[components, shape.decomposition.level_count.0]);
    let component = match backend {
        // What `PackedWord::packed_len` answers, for any numbers.
        Backend::Fft => {
            let header = word.packed_len(0, size) as u64;
            spectra.saturating_mul(wide(&[size, word.bytes()])).saturating_add(header)
        }
        Backend::Ntt => spectra.saturating_mul(wide(&[size, 8])),
    };
    wide(&[count, components]).saturating_mul(component)
}
