//! TFHE: keys, integers, bits, tables and gates.
//!
//! Arrays are flat here; shapes and broadcasting are those of NumPy, in `ciphermill.tfhe`.

mod client;
mod integers;
mod server;
mod table;
mod words;

pub(crate) use client::{TfheClientKey, TfheEvaluationKeys, recommended_tfhe_sets};
pub(crate) use integers::TfheCiphertexts;
pub(crate) use server::TfheServer;
pub(crate) use table::TfheTable;
pub(crate) use words::{TfheWord, TfheWordTable};

use ciphermill_tfhe::SecurityPolicy;

use crate::policy::security;

/// Estimated microseconds of encrypting or decrypting one integer.
const INTEGER_US: f64 = 20.0;

fn policy(insecure: bool) -> SecurityPolicy {
    security(insecure).tfhe()
}
