//! Matrices.

use std::io::{Read, Write};
use std::sync::Arc;

use ciphermill_math::Isa;
use ciphermill_wire::{Decoder, Encoder, OpenReader, SealWriter, WireError, sealed_len};

use super::{MAX_BODY_LEN, body_len, open_any, put_terms, require_left, terms_bytes};
use crate::entries::PackedEntries;
use crate::error::HmvpError;
use crate::plan::Terms;
use crate::{PlainMatrix, Plan, Request};
use ciphermill_bfv::parameters::{ParameterId, SecurityPolicy};
use ciphermill_bfv::serial::{BODY_VERSION, MATRIX};

/// Bytes of the entries.
fn entries_len(terms: &Terms) -> u64 {
    let &Request { rows, cols, matrix_bits, .. } = terms.request();
    PackedEntries::bytes(rows, cols, matrix_bits)
}

impl PlainMatrix {
    /// Writes the sealed matrix.
    ///
    /// # Errors
    /// If writing fails.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let stored = PlainMatrix::new(&plan, &dense)?;
    /// assert_eq!(stored.write(Vec::new())?, stored.to_bytes());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write<W: Write>(&self, writer: W) -> Result<W, HmvpError> {
        let terms = self.plan().terms();
        let mut head = Encoder::default();
        put_terms(terms, &mut head);
        let mut out = SealWriter::new(writer, MATRIX, BODY_VERSION, body_len(terms, entries_len(terms)))?;
        out.write_all(&head.into_vec()).map_err(WireError::from)?;
        out.write_all(self.entries.as_bytes()).map_err(WireError::from)?;
        Ok(out.finish()?)
    }

    /// The sealed matrix.
    pub fn to_bytes(&self) -> Vec<u8> {
        let terms = self.plan().terms();
        let bytes = Vec::with_capacity(sealed_len(body_len(terms, entries_len(terms))) as usize);
        self.write(bytes).expect("a matrix is as long as its plan says, and memory takes it")
    }

    /// Reads a sealed matrix and makes the tables of its plan on `isa`.
    ///
    /// # Errors
    /// If it is malformed, its plan is not admissible, or the CPU lacks `isa`.
    pub fn from_bytes(bytes: &[u8], policy: SecurityPolicy, isa: Isa) -> Result<Self, HmvpError> {
        SealedMatrix::from_bytes(bytes, policy)?.on(isa)
    }
}

/// A sealed matrix that was read and checked, without the tables of its plan.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let bytes = PlainMatrix::new(&plan, &dense)?.to_bytes();
/// let sealed = SealedMatrix::from_bytes(&bytes, SecurityPolicy::Require128Bits)?;
/// assert_eq!((sealed.request().rows, sealed.request().cols), (2, 3));
/// assert_eq!(sealed.parameters(), plan.context().parameters().id());
/// let stored = sealed.on(Isa::current())?;
/// assert_eq!(keys.multiply_streamed(&stored, &vector)?.decrypt(&secret)?, [-2, -2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SealedMatrix {
    terms: Terms,
    entries: PackedEntries,
}

impl SealedMatrix {
    /// Reads a sealed matrix.
    ///
    /// # Errors
    /// If it is malformed, an entry is out of range, or its plan is not admissible.
    pub fn from_bytes(bytes: &[u8], policy: SecurityPolicy) -> Result<Self, HmvpError> {
        let (terms, mut input) = open_any(MATRIX, bytes, policy)?;
        require_left(&input, &[entries_len(&terms)])?;
        let request = terms.request();
        let entries = input.bytes(input.remaining())?.to_vec();
        let entries = PackedEntries::from_bytes(request.cols, request.matrix_bits, entries)?;
        Ok(Self { terms, entries })
    }

    /// The plan in the head of a sealed matrix, with its tables on `isa`. The entries are not judged, and not copied.
    ///
    /// # Errors
    /// If the envelope is malformed, the plan is not admissible, or the CPU lacks `isa`.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let bytes = PlainMatrix::new(&plan, &dense)?.to_bytes();
    /// let plan = SealedMatrix::plan(&bytes, SecurityPolicy::Require128Bits, Isa::current())?;
    /// assert_eq!(plan.request().rows, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plan(bytes: &[u8], policy: SecurityPolicy, isa: Isa) -> Result<Plan, HmvpError> {
        let (terms, _) = open_any(MATRIX, bytes, policy)?;
        Plan::on_terms(terms, isa)
    }

    /// log2 of the probability that any entry of a product is wrong, by the plan at the head of a sealed matrix. No more than
    /// the head is read, and its checksum is not compared.
    ///
    /// # Errors
    /// If the head is malformed, the plan is not admissible, or reading fails.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let bytes = PlainMatrix::new(&plan, &dense)?.to_bytes();
    /// assert_eq!(SealedMatrix::read_log2_failure(&bytes[..], SecurityPolicy::Require128Bits)?, plan.explain().log2_failure);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_log2_failure<R: Read>(content: R, policy: SecurityPolicy) -> Result<f64, HmvpError> {
        let body = OpenReader::new(content, MATRIX, BODY_VERSION..=BODY_VERSION, MAX_BODY_LEN)?;
        let mut head = Vec::new();
        body.take(2 + u64::from(u16::MAX)).read_to_end(&mut head).map_err(WireError::from)?;
        let mut encoded = Decoder::new(terms_bytes(&mut Decoder::new(&head))?);
        let terms = Terms::decode(&mut encoded, policy)?;
        encoded.finish()?;
        Ok(terms.judgement().log2_failure)
    }

    /// The id of its plan's parameter set.
    pub fn parameters(&self) -> ParameterId {
        self.terms.choice().parameters.id()
    }

    /// The request of its plan.
    pub fn request(&self) -> &Request {
        self.terms.request()
    }

    /// The matrix, with the tables of its plan on `isa`.
    ///
    /// # Errors
    /// If the CPU lacks `isa`.
    pub fn on(self, isa: Isa) -> Result<PlainMatrix, HmvpError> {
        Ok(PlainMatrix::from_entries(Arc::new(Plan::on_terms(self.terms, isa)?), self.entries))
    }
}
