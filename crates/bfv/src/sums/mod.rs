//! Sums of vectors of several parties, encrypted under the public key of another one.
//!
//! ```text
//! key holder: SecretKey, SumPublicKey ───────────┐
//! party p:    values_p ── EncryptedSums::encrypt ┴─▶ aggregator: add ──▶ key holder: decrypt ── Σ_p values_p
//! ```
//!
//! A [`SumPlan`] fixes the parameters and the layout. Each segment of the vector has a length and a bound B: every party's
//! entries are integers of [−B, B]. For P parties a total takes w = ⌈log2(P·B + 1)⌉ + 1 bits. As many totals as fit stand next
//! to each other in one coefficient, each in a field of w bits. Y is that integer: Σ x_k·2^(s_k), negative fields included. It
//! is encrypted as
//!
//! ```text
//! c_0 = b·u + e_0 + 2^d·Y        c_1 = a·u + e_1        for the public key (b, a)
//! ```
//!
//! so the message stands above d bits of room for noise. Unlike BFV's own plaintexts it is not taken modulo t, and it may be
//! longer than [`MAX_PLAINTEXT_BITS`](crate::parameters::MAX_PLAINTEXT_BITS).
//!
//! # Who learns what
//!
//! The aggregator sees ciphertexts under a key that it does not have. The key holder sees the sum of the contributions:
//!
//! ```text
//! c_0 = b·Σu + Σe_0 + 2^d·ΣY        c_1 = a·Σu + Σe_1
//! ```
//!
//! It is a function of the totals ΣY and of randomness that no input influences, as 2^d·Y has no rounding error and sums of
//! fields do not wrap. The noise reveals nothing about a contribution, so neither flooding nor re-randomisation is needed. Two
//! sets of contributions with equal totals and equal randomness have equal sums, bit for bit.
//!
//! This holds for parties and an aggregator that follow the protocol, and a key holder that sees no single contribution. A
//! key holder that colludes with the aggregator, or reads its channels, can decrypt each contribution. Totals of different
//! sets of parties reveal their difference. The aggregator must not receive decryptions of ciphertexts of its choice, as they
//! would reveal contributions.
//!
//! # Example
//! ```
//! use std::sync::Arc;
//!
//! use ciphermill_bfv::sums::{EncryptedSums, Segment, SumPlan, SumRequest, Values};
//! use ciphermill_bfv::{PublicKey, SecretKey};
//! use ciphermill_lattice::{Csprng, SecretSeed};
//! use ciphermill_math::Isa;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // Three entries of magnitude 100 at most, and one of 2^80.
//! let segments = vec![Segment { len: 3, bound: 100 }, Segment { len: 1, bound: 1 << 80 }];
//! let plan = Arc::new(SumPlan::new(&SumRequest::new(segments, 2), Isa::current())?);
//! let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
//! let public = PublicKey::generate(&secret)?;
//!
//! let mut rng = Csprng::from_os()?;
//! let first = [Values::Narrow(&[1, -2, 100]), Values::Wide(&[1 << 80])];
//! let other = [Values::Narrow(&[5, 5, 100]), Values::Wide(&[-1])];
//! let mut total = EncryptedSums::encrypt(&plan, &public, &first, &mut rng)?;
//! total.add_assign(&EncryptedSums::encrypt(&plan, &public, &other, &mut rng)?)?;
//!
//! assert_eq!(total.decrypt(&secret)?, [vec![6, 3, 200], vec![(1 << 80) - 1]]);
//! # Ok(())
//! # }
//! ```

mod digits;
mod explain;
mod key;
mod layout;
mod objects;
mod plan;
pub mod reference;
mod request;
mod search;
mod serial;
mod terms;
mod totals;

pub use explain::SumExplanation;
pub use key::SumPublicKey;
pub use objects::EncryptedSums;
pub use plan::SumPlan;
pub use request::{LABEL_LEN, MAX_PARTIES, MAX_SEGMENTS, MAX_TOTAL, MAX_VALUES, Segment, SumRequest, Values};
