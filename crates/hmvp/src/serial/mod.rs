//! Byte formats of products: plans, vectors, matrices and products. All stand in the envelope of `ciphermill-wire`.
//!
//! Integers are little-endian; `spec`, `gadget` and `residues` are those of [`ciphermill_bfv::serial`].
//!
//! ```text
//! PLAN       plan
//! VECTOR     u16 bytes of the plan | plan | u64 key tag | u8 form | 7 bytes 0
//!              | for each part, each ciphertext: form 0: residues of c_0 | residues of c_1
//!                                                form 1: 32 bytes seed of c_1 | residues of c_0
//! MATRIX     u16 bytes of the plan | plan | m·n entries, row after row, two's complement of 1, 2 or 4 bytes
//! PRODUCT    u16 bytes of the plan | plan | u64 key tag
//!              | for each vector part, matrix part, row tile, ciphertext: residues of c_0 | residues of c_1
//!
//! plan       request | choice
//! request    u32 m | u32 n | u8 bits of a matrix entry | u8 bits of a vector entry
//!              | u8 security (0: 128 bits, 1: 192, 2: 256) | u8 encryption (0 secret key, 1 public key)
//!              | u8 strategy asked for (0 none, 1 algorithm1, 2 rotate-and-sum, 3 diagonal, 4 row-packed)
//!              | u8 whether the parameters were asked for | u8 unsplit | u8 0 | u32 bits for flooding | f64 log2 failure
//! choice     u8 strategy | u8 matrix parts | u8 vector parts | u8 0 | spec
//!              | if row-packed: u32 baby steps | gadget of the baby steps | gadget of the giant steps
//! ```
//!
//! How many ciphertexts there are, and how many limbs they have, follows from the plan; so do the bits of the parts. A plan
//! is judged when it is read, as if the planner had found it. A vector or product is read for a plan, and refused if its own
//! is another one. A matrix is stored by its entries and prepared when it is read.

mod ciphertexts;
mod matrix;
mod plan;

use ciphermill_wire::{Decoder, Encoder, Kind, open};

pub use ciphertexts::ObjectHead;
pub use matrix::SealedMatrix;

pub(crate) use ciphertexts::{ciphertext, put_ciphertext};
pub(super) use ciphertexts::{product_len, vector_len};

use super::Plan;
use super::plan::Terms;
use crate::error::HmvpError;
use ciphermill_bfv::error::{BfvError, require_range};
use ciphermill_bfv::parameters::SecurityPolicy;
use ciphermill_bfv::serial::BODY_VERSION;

/// Most bytes of any body: those of the entries of the greatest matrix, and more than of any ciphertexts.
const MAX_BODY_LEN: u64 = 1 << 33;

/// Appends the terms that an object is of.
pub(crate) fn put_terms(terms: &Terms, out: &mut Encoder) {
    let encoded = terms.encoded();
    out.u16(encoded.len() as u16).bytes(&encoded);
}

/// Bytes of a body that starts with these terms and has `behind` bytes after them.
pub(crate) fn body_len(terms: &Terms, behind: u64) -> u64 {
    2 + terms.encoded().len() as u64 + behind
}

/// The terms of an object, as bytes.
fn terms_bytes<'a>(input: &mut Decoder<'a>) -> Result<&'a [u8], HmvpError> {
    let len = input.u16()?;
    require_range("bytes of the object's plan", len, 1, plan::MAX_PLAN_LEN)?;
    Ok(input.bytes(len.into())?)
}

/// An error unless as many bytes are left as one of `lengths` says.
pub(crate) fn require_left(input: &Decoder<'_>, lengths: &[u64]) -> Result<(), HmvpError> {
    let given = input.remaining() as u64;
    if lengths.contains(&given) {
        return Ok(());
    }
    let (min, max) = (lengths.iter().copied().min().unwrap_or(0), lengths.iter().copied().max().unwrap_or(0));
    Err(BfvError::Range { what: "bytes of the body", given: given.into(), min: min.into(), max: max.into() }.into())
}

/// Starts to read the body of an object of `kind`, which must be of `plan`. Returns the rest after the plan.
pub(crate) fn open_for<'a>(
    what: &'static str,
    kind: Kind,
    plan: &Plan,
    bytes: &'a [u8],
) -> Result<Decoder<'a>, HmvpError> {
    let (_, mut input) = open(bytes, kind, BODY_VERSION..=BODY_VERSION, MAX_BODY_LEN)?;
    if terms_bytes(&mut input)? == plan.terms().encoded() { Ok(input) } else { Err(HmvpError::WrongPlan { what }) }
}

/// Starts to read the body of an object of `kind` of any plan that `policy` accepts. Returns the plan and the rest.
fn open_any(kind: Kind, bytes: &[u8], policy: SecurityPolicy) -> Result<(Terms, Decoder<'_>), HmvpError> {
    let (_, mut input) = open(bytes, kind, BODY_VERSION..=BODY_VERSION, MAX_BODY_LEN)?;
    let mut encoded = Decoder::new(terms_bytes(&mut input)?);
    let terms = Terms::decode(&mut encoded, policy)?;
    encoded.finish()?;
    Ok((terms, input))
}
