//! The refusal to pickle secrets.

use crate::errors::{Class, Failure};

/// Pickles are copied to disks, caches and other processes.
pub(crate) fn not_pickled(class: &str) -> Failure {
    let message =
        format!("a {class} is not pickled, because it holds a secret key; write its to_secret_bytes() to a safe place");
    Failure::new(Class::Secret, message)
}
