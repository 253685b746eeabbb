//! The id of a parameter set.

/// Identifies the numbers of a set (its name is not among them) in stored objects: FNV-1a of their byte form, 64 bits.
/// It finds mistakes; it does not protect against forgery.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let x = secret.encrypt(&context.encode(&[1])?, top, &mut rng)?;
/// assert_eq!(x.parameter_id(), context.parameters().id());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParameterId(pub u64);
