//! The product of a matrix of party B and a vector that parties A and B share (the paper's section 2.3).
//!
//! A holds the secret key and a share v_A, B holds the matrix M and the share v_B. Shares are vectors of integers modulo t
//! with v = v_A + v_B; each alone is uniform. The outcome is a share of u = M·v for each.
//!
//! ```text
//! A: encrypt_share(v_A) ──── EncryptedVector ───▶ B: add_share(v_B), multiply by M, mask
//! A: decrypt = u + r    ◀─────── Response ────── B: keeps −r
//! ```
//!
//! Everything is linear modulo t, so no step needs the integers that v and u represent. The plan must be
//! [`unsplit`](crate::Request::unsplit): its t then exceeds every entry of M·v for a v within the plan's range, and
//! [`reconstruct`] returns those entries. That shares fill all of Z_t costs no noise: noise grows with M alone, and the
//! multiples of t by which sums of shares wrap are multiples of Q after the encoding ⌊Q·m/t⌉.
//!
//! # Example
//! ```
//! use std::sync::Arc;
//!
//! use ciphermill_bfv::{GaloisKeys, PublicKey, SecretKey};
//! use ciphermill_hmvp::two_party::{MaskOptions, add_share, encrypt_share, mask, reconstruct, share};
//! use ciphermill_hmvp::{CpuEngine, DenseMatrix, HmvpEngine, Plan, Request};
//! use ciphermill_lattice::{Csprng, SecretSeed};
//! use ciphermill_math::Isa;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let plan = Arc::new(Plan::new(&Request { unsplit: true, ..Request::new(2, 3) }, Isa::current())?);
//! let (t, mut rng) = (plan.context().t(), Csprng::from_os()?);
//! // Neither party knows the vector.
//! let [share_a, share_b] = share(&[1, 0, -1], t, &mut rng)?;
//!
//! // A: the secret key, and a share.
//! let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
//! let galois = GaloisKeys::generate(&secret, &plan.galois_requests())?;
//! let public = PublicKey::generate(&secret)?;
//! let sent = encrypt_share(&plan, &secret, &share_a, &mut rng)?;
//!
//! // B: the matrix, and the other share.
//! let engine = CpuEngine::new();
//! let matrix = engine.prepare_matrix(&plan, &DenseMatrix::new(2, 3, vec![1, 2, 3, 4, 5, 6])?)?;
//! let product = engine.prepare(&plan, &galois)?.multiply(&matrix, &add_share(&sent, &share_b)?)?;
//! let options = MaskOptions::strongest(&plan);
//! let (response, product_b) = mask(&product, &options, Some(&public), &mut rng)?;
//!
//! // A decrypts its share of the product; only both shares together give the product.
//! let product_a = response.decrypt(&secret)?;
//! assert_eq!(reconstruct([&product_a, &product_b], t)?, [-2, -2]);
//! # Ok(())
//! # }
//! ```
//!
//! # What B hides
//!
//! In addition to u the product holds other functions of M: in the unused places of its plaintext, in its noise, and in
//! c_1. They reach A unless [`mask`] clears them. It always adds
//!
//! * at the places of entries, r uniform modulo t: the decrypted values there are uniform;
//! * to all other coefficients, a uniform integer modulo Q. Adding ⌊Q·r/t⌉ for a uniform r would not be enough. The
//!   row-packed strategy and algorithm 1 divide by powers of two modulo Q, which is exact at the places of entries
//!   only. Elsewhere the division leaves multiples of Q/(t·2^k). Their distance from multiples of Q/t, which r does not
//!   change, reveals sums of products of M and v modulo 2^k. Uniform modulo Q, the coefficient reveals nothing. (Slots
//!   leave no such coefficients: all N slots are masked with uniform values modulo t, and then all coefficients are.)
//!
//! The noise at the places of entries and c_1 remain, and A, who knows the secret key, can compute with both.
//! [`MaskOptions`] list the countermeasures, and [`assess`] states [their value](Guarantee) at a plan's parameters.
//!
//! Both parties follow the protocol (semi-honest). B's view is a ciphertext under A's key and A's public keys. A must
//! never let B know whether a decryption was right or its outcome plausible: repeated with chosen ciphertexts, such
//! answers reveal the secret key. No function of this module returns them to B.

mod mask;
mod options;
mod response;
mod shares;
#[cfg(test)]
mod tests;

pub use mask::mask;
pub use options::{Assessment, Guarantee, MaskOptions, assess};
pub use response::Response;
pub use shares::{add_plain, add_share, encrypt_share, encrypt_share_public, reconstruct, share};

use crate::Plan;
use crate::error::HmvpError;
use ciphermill_bfv::error::BfvError;

/// An error unless products of the plan are single integers modulo t.
fn require_unsplit(plan: &Plan) -> Result<(), HmvpError> {
    if plan.request().unsplit {
        return Ok(());
    }
    let what =
        "shares by a plan that may split entries, whose products are not one integer modulo t; ask for an unsplit plan";
    Err(BfvError::Unsupported { what: what.to_owned() }.into())
}
