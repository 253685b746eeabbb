//! The extension module `ciphermill._native`: the client library as Python classes over NumPy arrays.
//!
//! The pure-Python package around it is `python/ciphermill`. Its stubs `_native.pyi` hold the documentation of the classes.

mod arrays;
mod bytes;
mod conv;
mod device;
mod errors;
mod json;
mod matvec;
mod paillier;
mod policy;
mod psi;
mod run;
mod secrets;
mod sums;
mod tfhe;

use std::hash::{DefaultHasher, Hash, Hasher};

use pyo3::prelude::*;

/// A hash for `__hash__`.
fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

// The interpreter's lock is relied on until the classes have been tested without it.
#[pymodule(gil_used = true)]
mod _native {
    #[pymodule_export]
    use crate::arrays::fixed_order_product;
    #[pymodule_export]
    use crate::conv::{
        Conv2dClient, Conv2dPlan, Conv3dClient, Conv3dPlan, EncryptedConv3d, EncryptedConvolution, EncryptedImage,
        EncryptedVolume, PreparedKernels, PreparedKernels3d,
    };
    #[pymodule_export]
    use crate::device::{DeviceHandle, assemble, disassemble};
    #[pymodule_export]
    use crate::matvec::{
        BfvPublicKey, BfvSecretKey, EncryptedProduct, EncryptedVector, EvaluationKeys, MaskedProduct, MatVecClient,
        MatVecPlan, MatVecServer, PreparedMatrix, reconstruct,
    };
    #[pymodule_export]
    use crate::paillier::{
        PaillierPacked, PaillierPacking, PaillierPlain, PaillierPublicKey, PaillierSecretKey, PaillierVector,
    };
    #[pymodule_export]
    use crate::psi::{PsiIds, PsiParty, PsiPoints};
    #[pymodule_export]
    use crate::run::{set_threads, threads};
    #[pymodule_export]
    use crate::sums::{EncryptedSums, SumKeyHolder, SumPlan, SumPublicKey};
    #[pymodule_export]
    use crate::tfhe::{
        TfheCiphertexts, TfheClientKey, TfheEvaluationKeys, TfheServer, TfheTable, TfheWord, TfheWordTable,
        recommended_tfhe_sets,
    };

    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
