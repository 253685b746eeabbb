//! The refusal to pickle secrets.

use crate::errors::{Class, Failure};

/// Pickles are copied to disks, caches and other processes. `remedy` is what the class offers instead.
pub(crate) fn not_pickled(class: &str, remedy: &str) -> Failure {
    let message = format!("a {class} is not pickled, because it holds a secret key; {remedy}");
    Failure::new(Class::Secret, message)
}

/// The remedy of a class with the method `to_secret_bytes`.
pub(crate) const WRITE_BYTES: &str = "write its to_secret_bytes() to a safe place";
