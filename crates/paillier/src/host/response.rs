//! The answers of the host.

use ciphermill_bigint::IntegerBatch;
use ciphermill_wire::{Decoder, Encoder, Kind, open, seal};

use super::decode::{Found, ended, located, read};
use super::request::{STREAM_VERSION, put};
use super::{FieldError, Limits, Refusal, Status, StreamError};

/// The envelope's kind of a stream of results.
pub const RESPONSE: Kind = Kind(0x0406);
/// Bytes of a message at most.
pub(super) const MESSAGE_BYTES: usize = 1024;

/// What became of one instruction.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// use ciphermill_paillier::host::Status;
/// let config = HostConfig { policy: SizePolicy::InsecureBench, ..HostConfig::default() };
/// let mut host = Host::new(TrustedEngine::cpu(), config)?;
/// // Slot 3 is empty.
/// let add = Instruction::Add { slot: Slot(3), left: x.to_integers(), right: x.to_integers() };
/// let outcome = &host.execute(&Request { instructions: vec![add] }).outcomes[0];
/// assert!(matches!(outcome, Outcome::Refused { .. }));
/// assert_ne!(outcome.status(), Status::Done);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is done, and has no integers to give.
    Done,
    /// Its integers, below the modulus.
    Integers(IntegerBatch),
    /// It was refused, or failed: nothing of it was done.
    Refused {
        /// Why, as a number; never [`Status::Done`].
        status: Status,
        /// Why, for people.
        message: String,
    },
}

impl Outcome {
    /// Why, as a number.
    pub fn status(&self) -> Status {
        match self {
            Self::Done | Self::Integers(_) => Status::Done,
            Self::Refused { status, .. } => *status,
        }
    }
}

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Self {
        let mut message = refusal.to_string();
        message.truncate(message.floor_char_boundary_within(MESSAGE_BYTES));
        Self::Refused { status: refusal.status(), message }
    }
}

/// `str::floor_char_boundary`, which the oldest supported compiler lacks.
trait FloorCharBoundary {
    fn floor_char_boundary_within(&self, bytes: usize) -> usize;
}

impl FloorCharBoundary for str {
    fn floor_char_boundary_within(&self, bytes: usize) -> usize {
        (0..=bytes.min(self.len())).rev().find(|&at| self.is_char_boundary(at)).unwrap_or(0)
    }
}

/// The results, one per instruction, in the order of the instructions.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let response = Response { outcomes: vec![Outcome::Done] };
/// let config = HostConfig::default();
/// assert_eq!(Response::decode(&response.encode(), &config.limits)?, response);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Response {
    /// What became of each.
    pub outcomes: Vec<Outcome>,
}

impl Response {
    /// The stream in its envelope: the number of results (u32), and of each its status (u16), the bytes of its body
    /// (u32), and a batch as in a request, or nothing, or for a refusal its message in UTF-8.
    pub fn encode(&self) -> Vec<u8> {
        let mut body = Encoder::default();
        body.u32(self.outcomes.len() as u32);
        for outcome in &self.outcomes {
            let mut payload = Encoder::default();
            match outcome {
                Outcome::Done => {}
                Outcome::Integers(batch) => put(&mut payload, batch),
                Outcome::Refused { message, .. } => {
                    payload.bytes(message.as_bytes());
                }
            }
            let payload = payload.into_vec();
            body.u16(outcome.status() as u16).u32(payload.len() as u32).bytes(&payload);
        }
        seal(RESPONSE, STREAM_VERSION, &body.into_vec())
    }

    /// Reads a stream in its envelope.
    ///
    /// # Errors
    /// [`StreamError`], which names the result, the field and the bound.
    pub fn decode(bytes: &[u8], limits: &Limits) -> Result<Self, StreamError> {
        let (_, mut body) = open(bytes, RESPONSE, STREAM_VERSION..=STREAM_VERSION, limits.response_bytes())?;
        let count = body.u32()?;
        if count > limits.instructions {
            return Err(StreamError::Instructions { given: count.into(), limit: limits.instructions.into() });
        }
        let outcomes = (0..count as usize)
            .map(|index| outcome(&mut body, limits).map_err(|(field, cause)| located(index, field, cause)))
            .collect::<Result<_, _>>()?;
        body.finish()?;
        Ok(Self { outcomes })
    }
}

fn outcome(body: &mut Decoder<'_>, limits: &Limits) -> Result<Outcome, Found> {
    let code = body.u16().map_err(ended("status"))?;
    let status = Status::from_code(code).ok_or(("status", FieldError::Unknown { given: code.into() }))?;
    let length = body.u32().map_err(ended("length"))?;
    let payload = body.bytes(length as usize).map_err(ended("length"))?;
    match status {
        Status::Done if payload.is_empty() => Ok(Outcome::Done),
        Status::Done => {
            let mut fields = Decoder::new(payload);
            let batch = read(&mut fields, "integers", limits.elements, limits.modulus_bits)?;
            match fields.remaining() as u64 {
                0 => Ok(Outcome::Integers(batch)),
                given => Err(("end", FieldError::Trailing { given })),
            }
        }
        _ if payload.len() > MESSAGE_BYTES => {
            let bound = FieldError::Bound { given: payload.len() as u64, min: 0, max: MESSAGE_BYTES as u64 };
            Err(("message", bound))
        }
        _ => {
            let message = String::from_utf8(payload.to_vec()).map_err(|_| ("message", FieldError::Text))?;
            Ok(Outcome::Refused { status, message })
        }
    }
}
