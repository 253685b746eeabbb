//! The byte forms of plans and sums.

use std::io::Write;
use std::sync::Arc;

use ciphermill_lattice::KeyTag;
use ciphermill_math::Isa;
use ciphermill_wire::{Decoder, Encoder, SealWriter, open, seal, sealed_len};

use super::objects::EncryptedSums;
use super::plan::SumPlan;
use super::request::{MAX_SEGMENTS, Segment, SumRequest};
use super::terms::Terms;
use crate::ciphertext::Ciphertext;
use crate::error::{BfvError, require_range};
use crate::parameters::{ParameterSet, ParameterSpec, SecurityLevel, SecurityPolicy};
use crate::serial::{BODY_VERSION, SUM_PLAN, SUMS, residues};

/// Most bytes of a plan: 64 of a request, 20 for each segment, and a parameter set.
pub(super) const MAX_PLAN_LEN: u64 = 64 + 20 * MAX_SEGMENTS as u64 + 512;

/// More bytes than the ciphertexts of any plan have.
const MAX_BODY_LEN: u64 = 1 << 33;

/// Why writing to a vector cannot fail.
const MEMORY: &str = "the bytes of a sum as declared, to memory";

impl Terms {
    /// Their bytes.
    pub(super) fn encoded(&self) -> Vec<u8> {
        let (request, mut out) = (&self.request, Encoder::default());
        out.bytes(&request.label).u32(request.parties).f64(request.log2_failure);
        let level = SecurityLevel::ALL.iter().position(|&level| level == request.security);
        out.u8(level.expect("all levels are listed") as u8).u8(u8::from(request.parameters.is_some()));
        out.u8(self.shift as u8).u8(request.segments.len() as u8);
        for segment in &request.segments {
            out.u32(segment.len as u32).u64(segment.bound as u64).u64((segment.bound >> 64) as u64);
        }
        self.parameters.spec().encode(&mut out);
        out.into_vec()
    }

    /// Reads and judges terms.
    fn decode(input: &mut Decoder<'_>, policy: SecurityPolicy) -> Result<Self, BfvError> {
        let (label, parties, log2_failure) = (input.array()?, input.u32()?, input.f64()?);
        let level = input.u8()?;
        require_range("code of a security level", level, 0, SecurityLevel::ALL.len() as u8 - 1)?;
        let has_parameters = input.u8()?;
        require_range("whether parameters were asked for", has_parameters, 0, 1)?;
        let (shift, segments) = (input.u8()?, input.u8()?);
        require_range("bits below the message", shift, 1, 64)?;
        let segments = (0..segments).map(|_| segment(input)).collect::<Result<Vec<_>, _>>()?;
        let parameters = ParameterSet::new(ParameterSpec::decode(input)?, policy)?;
        let security = SecurityLevel::ALL[usize::from(level)];
        let asked = (has_parameters == 1).then(|| parameters.clone());
        let request = SumRequest { segments, parties, label, security, log2_failure, parameters: asked };
        request.validate()?;
        Self::judged(&request, parameters, shift.into())
    }
}

fn segment(input: &mut Decoder<'_>) -> Result<Segment, BfvError> {
    let len = input.u32()? as usize;
    let (low, high) = (input.u64()?, input.u64()?);
    Ok(Segment { len, bound: u128::from(high) << 64 | u128::from(low) })
}

impl SumPlan {
    /// The sealed plan.
    ///
    /// # Example
    /// ```
    /// use ciphermill_bfv::SecurityPolicy;
    /// use ciphermill_bfv::sums::{Segment, SumPlan, SumRequest};
    /// use ciphermill_math::Isa;
    ///
    /// let request = SumRequest::new(vec![Segment { len: 2, bound: 9 }], 2);
    /// let plan = SumPlan::new(&request, Isa::current())?;
    /// let received = SumPlan::from_bytes(&plan.to_bytes(), SecurityPolicy::Require128Bits, Isa::current())?;
    /// assert_eq!(received, plan);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        seal(SUM_PLAN, BODY_VERSION, &self.terms.encoded())
    }

    /// Reads a sealed plan and makes its tables for `isa`. Its choices may differ from those of this build's planner, but have
    /// to meet its request.
    ///
    /// # Errors
    /// If it is malformed, its choices do not meet its request, its set is not admissible under `policy`, or the CPU lacks
    /// `isa`.
    pub fn from_bytes(bytes: &[u8], policy: SecurityPolicy, isa: Isa) -> Result<Self, BfvError> {
        let (_, mut input) = open(bytes, SUM_PLAN, BODY_VERSION..=BODY_VERSION, MAX_PLAN_LEN)?;
        let terms = Terms::decode(&mut input, policy)?;
        input.finish()?;
        Self::on_terms(terms, isa)
    }

    /// Bytes of a sealed contribution, or of a sum.
    pub fn sealed_sums_len(&self) -> u64 {
        sealed_len(self.body_len())
    }

    /// Reads the plan of `what`, which must be this one.
    pub(super) fn require_encoded(&self, what: &'static str, input: &mut Decoder<'_>) -> Result<(), BfvError> {
        let len = input.u16()?;
        let same = input.bytes(len.into())? == self.terms.encoded();
        if same { Ok(()) } else { Err(BfvError::WrongPlan { what }) }
    }

    fn body_len(&self) -> u64 {
        let residues = self.terms.parameters.packed_len(self.context().top());
        2 + self.terms.encoded().len() as u64 + 12 + 2 * residues * self.ciphertexts() as u64
    }
}

impl EncryptedSums {
    /// The sealed sum.
    ///
    /// # Example
    /// ```
    /// use std::sync::Arc;
    ///
    /// use ciphermill_bfv::sums::{EncryptedSums, Segment, SumPlan, SumRequest, Values};
    /// use ciphermill_bfv::{PublicKey, SecretKey};
    /// use ciphermill_lattice::{Csprng, SecretSeed};
    /// use ciphermill_math::Isa;
    ///
    /// let request = SumRequest::new(vec![Segment { len: 2, bound: 9 }], 2);
    /// let plan = Arc::new(SumPlan::new(&request, Isa::current())?);
    /// let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
    /// let public = PublicKey::generate(&secret)?;
    /// let sums = EncryptedSums::encrypt(&plan, &public, &[Values::Narrow(&[4, -9])], &mut Csprng::from_os()?)?;
    /// let bytes = sums.to_bytes();
    /// assert_eq!(bytes.len() as u64, plan.sealed_sums_len());
    /// assert_eq!(EncryptedSums::from_bytes(&plan, &bytes)?, sums);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let (plan, basis) = (self.plan.terms.encoded(), self.plan.context().basis(self.plan.context().top()));
        let mut head = Encoder::default();
        head.u16(plan.len() as u16).bytes(&plan).u64(self.tag.0).u32(self.contributions);
        // Written in place: a sum is too large to be copied for its envelope.
        let bytes = Vec::with_capacity(self.plan.sealed_sums_len() as usize);
        let parts = self.ciphertexts.iter().flat_map(|ciphertext| &ciphertext.parts);
        let mut out = SealWriter::new(bytes, SUMS, BODY_VERSION, self.plan.body_len()).expect(MEMORY);
        out.write_all(&head.into_vec()).expect(MEMORY);
        parts.for_each(|part| out.write_all(&basis.pack(part)).expect(MEMORY));
        out.finish().expect(MEMORY)
    }

    /// Reads a sealed sum of `plan`.
    ///
    /// # Errors
    /// If it is malformed, of another plan, or of more contributions than the plan has parties.
    pub fn from_bytes(plan: &Arc<SumPlan>, bytes: &[u8]) -> Result<Self, BfvError> {
        let context = plan.context();
        let (_, mut input) = open(bytes, SUMS, BODY_VERSION..=BODY_VERSION, MAX_BODY_LEN)?;
        plan.require_encoded("the sum", &mut input)?;
        let (tag, contributions) = (KeyTag(input.u64()?), input.u32()?);
        require_range("number of contributions", contributions, 1, plan.terms.request.parties)?;
        let (basis, parameters) = (context.basis(context.top()), context.parameters().id());
        let ciphertext = |_| {
            let parts = (0..2).map(|_| residues(basis, &mut input)).collect::<Result<_, BfvError>>()?;
            Ok(Ciphertext { parameters, tag, parts })
        };
        let ciphertexts = (0..plan.ciphertexts()).map(ciphertext).collect::<Result<_, BfvError>>()?;
        input.finish()?;
        Ok(Self { plan: plan.clone(), tag, contributions, ciphertexts })
    }
}
