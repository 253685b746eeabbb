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
//! Everything is linear modulo t, so nothing needs to know which integers v and u stand for, as long as the plan is
//! [`unsplit`](crate::Request::unsplit): its t exceeds every entry of M·v for a v within the plan's range, and
//! [`reconstruct`] gives those entries. That shares fill all of Z_t costs no noise: noise grows with M alone, and the multiples
//! of t by which sums of shares wrap are multiples of Q after the encoding ⌊Q·m/t⌉.
//!
//! # What B hides
//!
//! Besides u the product holds other functions of M: in the places of its plaintext that are no entries, in its noise, in c_1,
//! and whatever [`mask`] does not clear reaches A. It always adds
//!
//! * at the places of entries, r uniform modulo t: what is decrypted there is uniform;
//! * to all other coefficients, a uniform integer modulo Q. To add ⌊Q·r/t⌉ for a uniform r would not do. The row-packed
//!   strategy and algorithm 1 divide by powers of two modulo Q, which is exact at the places of entries only; elsewhere it
//!   leaves multiples of Q/(t·2^k), and their distance from multiples of Q/t, which r does not change, tells what sums of
//!   products of M and v are modulo 2^k. Uniform modulo Q, the coefficient tells nothing. (Slots leave no such coefficients:
//!   all N slots are masked with uniform values modulo t, and then all coefficients are.)
//!
//! What remains is the noise at the places of entries and c_1, which A can compute with as it knows the secret key:
//! [`MaskOptions`] say what may be added against that, and [`assess`] what [it is worth](Guarantee) at a plan's parameters.
//!
//! Both parties follow the protocol (semi-honest). B's view is a ciphertext under A's key and A's public keys. A must never
//! let B know whether a decryption was right or its outcome plausible: repeated with chosen ciphertexts that gives the secret
//! key away, and there is nothing here that tells.

mod mask;
mod options;
mod response;
mod shares;
#[cfg(test)]
mod tests;

pub use mask::mask;
pub use options::{Assessment, Guarantee, MaskOptions, assess};
pub use response::Response;
pub use shares::{add_share, encrypt_share, encrypt_share_public, reconstruct, share};

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
