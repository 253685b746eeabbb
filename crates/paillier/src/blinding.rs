//! The choice of blinding factors.

/// How blinding factors are drawn.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// for blinding in [Blinding::Djn, Blinding::Strict] {
///     let x = key.encrypt(&plain, blinding, &mut rng)?;
///     assert_eq!(owner.decrypt(&x)?, plain);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Blinding {
    /// h_s^a for a random a of half of n's bits (Damgård, Jurik, Nielsen 2010, section 4.2). It rests on the assumption
    /// that this is indistinguishable from a random n-th power.
    Djn,
    /// rⁿ for a random unit r, as Paillier has it: no further assumption.
    Strict,
}
