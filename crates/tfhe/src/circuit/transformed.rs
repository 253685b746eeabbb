//! The seam between a loaded key and its transformed conversion key, whatever the back end.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use ciphermill_math::Isa;
use ciphermill_math::fft::PackedWord;
use ciphermill_math::ntt::NttProvider;

use super::key::ConversionKey;
use super::ring::{Ring, SelectorWords};
use crate::backend::Backend;
use crate::bootstrap::Domain;
use crate::bootstrap::fft::FftDomain;
use crate::bootstrap::ntt::NttDomain;
use crate::engine::SelectorFile;
use crate::error::TfheError;
use crate::glwe::GlweCiphertext;
use crate::lwe::LweCiphertext;
use crate::parameters::ParameterSet;
use crate::word::{SelectorId, Table};

/// A transformed conversion key, whatever the back end.
pub(crate) trait Circuit: Send + Sync + Debug {
    /// The selectors of a digit, and the bytes that they occupy.
    fn select(&self, bits: &[LweCiphertext<u64>]) -> Result<(Arc<dyn Any + Send + Sync>, u64), TfheError>;

    /// The output digits of a table under the big key.
    fn look_up(&self, table: &Table, file: &SelectorFile) -> Result<Vec<LweCiphertext<u64>>, TfheError>;

    /// The GLWE ciphertext of a bit after the trace, and after the scheme switch.
    fn rows(&self, bit: &LweCiphertext<u64>) -> Result<[GlweCiphertext<u64>; 2], TfheError>;

    /// Bytes of the transformed key.
    fn memory_bytes(&self) -> u64;
}

/// Transforms a conversion key for a back end.
pub(crate) fn of(
    key: &ConversionKey,
    parameters: &ParameterSet,
    backend: Backend,
    isa: Isa,
    ntt: &dyn NttProvider,
) -> Result<Box<dyn Circuit>, TfheError> {
    let selector = parameters.require_words()?.selector;
    Ok(match backend {
        Backend::Fft => {
            let domain = |shape| FftDomain::<u64>::new(shape, PackedWord::Float64, isa);
            Box::new(Ring::new(key, selector, domain)?)
        }
        Backend::Ntt => Box::new(Ring::new(key, selector, |shape| NttDomain::over_modulus(shape, ntt, isa))?),
    })
}

impl<D: Domain<u64>> Circuit for Ring<D> {
    fn select(&self, bits: &[LweCiphertext<u64>]) -> Result<(Arc<dyn Any + Send + Sync>, u64), TfheError> {
        let words = Ring::select(self, bits)?;
        let bytes = words.memory_bytes();
        Ok((Arc::new(words), bytes))
    }

    fn look_up(&self, table: &Table, file: &SelectorFile) -> Result<Vec<LweCiphertext<u64>>, TfheError> {
        let words_at = |id: SelectorId| {
            let words = file.at(id.position)?.content::<SelectorWords<D::Word>>();
            words.and_then(|words| self.words(words, id.bit())).ok_or(TfheError::ForeignSelectors)
        };
        Ring::look_up(self, table, &words_at)
    }

    fn rows(&self, bit: &LweCiphertext<u64>) -> Result<[GlweCiphertext<u64>; 2], TfheError> {
        Ring::rows(self, bit)
    }

    fn memory_bytes(&self) -> u64 {
        Ring::memory_bytes(self)
    }
}
