//! A host as an engine.

use std::fmt;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ciphermill_bigint::{Coprocessor, EngineError, IntegerBatch, MAX_MODULUS_BITS, Operation};
use ciphermill_math::{EngineInfo, EngineKind};
use ciphermill_paillier::host::{Instruction, Limits, Outcome, Request, Response, Slot};
use ciphermill_paillier::{Blinding, CiphertextVector, PlaintextVector};
use num_bigint::BigUint;
use zeroize::Zeroizing;

use super::{HostError, frame, loopback};
use crate::error::ClientError;

const NAME: &str = "paillier-host";
/// For a connection to be made, and for a response: more than the most that a host takes to compute and to send it.
const CONNECT: Duration = Duration::from_secs(10);
const RESPONSE: Duration = Duration::from_secs(2 * 3600 + 600);
/// Bytes of the operands of one request, within the least limits of a host.
const REQUEST_BYTES: usize = 1 << 19;
/// Integers of an operand of one request, which a host takes.
const ELEMENTS: usize = 256;
/// Bytes of the reason of a refusal at most.
const REASON: usize = 1024;

/// A connection to a host. As a [`Coprocessor`] it multiplies and exponentiates; [`encrypt`](Self::encrypt) has the host draw
/// the blinding factors. The host sees all operands.
///
/// # Example
/// ```no_run
/// use ciphermill_bigint::{CoprocessorEngine, ModExpEngine};
/// use ciphermill_client::paillier_host::RemoteHost;
///
/// let engine = CoprocessorEngine::new(RemoteHost::connect("127.0.0.1:7700")?);
/// assert!(engine.info().kind.is_remote());
/// # Ok::<(), ciphermill_client::paillier_host::HostError>(())
/// ```
pub struct RemoteHost {
    address: SocketAddr,
    /// None after an error: the next bytes of the connection would belong to an earlier request.
    stream: Mutex<Option<TcpStream>>,
}

impl fmt::Debug for RemoteHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RemoteHost").field("address", &self.address).finish_non_exhaustive()
    }
}

impl RemoteHost {
    /// Connects to a loopback address.
    ///
    /// # Errors
    /// [`HostError::Address`], [`HostError::NotLoopback`] or [`HostError::Connect`].
    pub fn connect(address: &str) -> Result<Self, HostError> {
        let mut last = None;
        for address in loopback(address)? {
            match TcpStream::connect_timeout(&address, CONNECT)
                .and_then(|stream| stream.set_nodelay(true).map(|()| stream))
            {
                Ok(stream) => return Ok(Self { address, stream: Mutex::new(Some(stream)) }),
                Err(source) => last = Some(HostError::Connect { address, source }),
            }
        }
        Err(last.unwrap_or(HostError::Address { given: address.to_owned() }))
    }

    /// The results of the instructions. All of them are done.
    ///
    /// # Errors
    /// [`HostError::Io`]; [`HostError::Refused`] if the host refuses the request or an instruction.
    pub fn execute(&self, instructions: Vec<Instruction>) -> Result<Vec<Outcome>, HostError> {
        let count = instructions.len();
        let content = Zeroizing::new(Request { instructions }.encode());
        let mut request = Zeroizing::new(Vec::with_capacity(4 + content.len()));
        request.extend((content.len() as u32).to_le_bytes());
        request.extend(content.iter());
        let mut held = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        // Put back only after a whole exchange.
        let mut stream = held.take().ok_or_else(|| HostError::Io {
            what: "an earlier request ended the connection to",
            address: self.address,
            source: ErrorKind::NotConnected.into(),
        })?;
        let response = self.exchange(&mut stream, &request, count)?;
        *held = Some(stream);
        drop(held);
        match response.outcomes.iter().find_map(|outcome| match outcome {
            Outcome::Refused { message, .. } => Some(message),
            _ => None,
        }) {
            Some(message) => Err(refused(message)),
            None => Ok(response.outcomes),
        }
    }

    /// Sends a request and reads its response.
    fn exchange(&self, stream: &mut TcpStream, request: &[u8], count: usize) -> Result<Response, HostError> {
        let failed = |source| HostError::Io { what: "no response from", address: self.address, source };
        let end = frame::end_of(RESPONSE);
        // A host that refuses does not read the request to its end, and its reason may have come all the same.
        let sent = frame::write(stream, request, end);
        let mut head = [0; 5];
        let responded = frame::read(stream, &mut head, end);
        if !matches!(responded, Ok(true)) {
            sent.map_err(failed)?;
            responded.map_err(failed)?;
            return Err(failed(ErrorKind::ConnectionAborted.into()));
        }
        let [kind, length @ ..] = head;
        let length = u32::from_le_bytes(length) as usize;
        let limits = Limits { instructions: count as u32, ..Limits::default() };
        let most = if kind == frame::DONE { limits.result_bytes as usize + (1 << 20) } else { REASON };
        if length > most {
            return Err(refused(&format!("its response has {length} bytes, more than {most}")));
        }
        let mut content = vec![0; length];
        if length != 0 && !frame::read(stream, &mut content, end).map_err(failed)? {
            return Err(failed(ErrorKind::UnexpectedEof.into()));
        }
        if kind != frame::DONE {
            return Err(refused(&String::from_utf8_lossy(&content)));
        }
        let response = Response::decode(&content, &limits).map_err(|error| refused(&error.to_string()))?;
        if response.outcomes.len() != count {
            return Err(refused(&format!("{} results for {count} instructions", response.outcomes.len())));
        }
        Ok(response)
    }

    /// Encrypts on the host, which sees the plaintexts and draws the blinding factors.
    ///
    /// # Errors
    /// As [`execute`](Self::execute); [`ClientError::Paillier`] if a result is not a ciphertext of the key.
    pub fn encrypt(&self, plaintexts: &PlaintextVector, blinding: Blinding) -> Result<CiphertextVector, ClientError> {
        let key = plaintexts.key();
        let slot = Slot(0);
        let limbs = key.n().len();
        let n = IntegerBatch::from_words(limbs, key.n().to_vec());
        let blinding_base = key.blinding_base().map(|base| batch([&base], 2 * limbs)).transpose()?;
        let mut parts = Vec::new();
        let each = chunk(2 * limbs);
        for start in (0..plaintexts.len().max(1)).step_by(each) {
            let end = plaintexts.len().min(start + each);
            let plaintexts = plaintexts.residues().slice(start..end);
            let set = Instruction::SetKey { slot, n: n.clone(), blinding_base: blinding_base.clone() };
            let outcomes = self.execute(vec![set, Instruction::Encrypt { slot, blinding, plaintexts }])?;
            parts.push(CiphertextVector::from_integers(key, &integers(outcomes, end - start)?)?);
        }
        Ok(CiphertextVector::concat(&parts)?)
    }
}

/// A refusal. Its text comes from another process and goes to a terminal.
fn refused(what: &str) -> HostError {
    HostError::Refused { what: what.chars().filter(|c| !c.is_control()).take(REASON).collect() }
}

/// The number of integers with this number of limbs in a request.
fn chunk(limbs: usize) -> usize {
    (REQUEST_BYTES / (16 * limbs)).clamp(1, ELEMENTS)
}

/// Integers of this number of limbs.
fn batch<'a>(
    values: impl IntoIterator<Item = &'a BigUint, IntoIter: ExactSizeIterator>,
    limbs: usize,
) -> Result<IntegerBatch, HostError> {
    IntegerBatch::from_biguints(values, limbs).ok_or_else(|| refused("an operand is longer than the modulus"))
}

/// The integers of the last instruction's result.
fn integers(outcomes: Vec<Outcome>, expected: usize) -> Result<IntegerBatch, HostError> {
    match outcomes.into_iter().next_back() {
        Some(Outcome::Integers(integers)) if integers.len() == expected => Ok(integers),
        _ => Err(refused(&format!("its result does not have {expected} integers"))),
    }
}

/// Neighbours that one instruction can carry: products, or powers of as many bits.
fn alike(left: &Operation, right: &Operation) -> bool {
    match (left, right) {
        (Operation::Multiply { .. }, Operation::Multiply { .. }) => true,
        (Operation::Power { bits, .. }, Operation::Power { bits: other, .. }) => bits == other,
        _ => false,
    }
}

impl Coprocessor for RemoteHost {
    fn info(&self) -> EngineInfo {
        EngineInfo::new(NAME, EngineKind::Remote).on(self.address.to_string())
    }

    fn max_bits(&self) -> u32 {
        MAX_MODULUS_BITS
    }

    fn run(&self, modulus: &BigUint, operations: &[Operation]) -> Result<Vec<BigUint>, EngineError> {
        let failed = |error: HostError| EngineError::Failed { engine: NAME.to_owned(), cause: error.to_string() };
        let limbs = (modulus.bits() as usize).div_ceil(64);
        let slot = Slot(0);
        let modulus = batch([modulus], limbs).map_err(failed)?;
        let mut results = Vec::with_capacity(operations.len());
        for group in operations.chunk_by(alike) {
            for part in group.chunks(chunk(limbs)) {
                let (mut first, mut second, mut width) = (Vec::new(), Vec::new(), 0);
                for operation in part {
                    let (a, b) = match operation {
                        Operation::Multiply { a, b } => (a, b),
                        Operation::Power { base, exponent, bits } => {
                            width = *bits;
                            (base, exponent)
                        }
                    };
                    first.push(a);
                    second.push(b);
                }
                let first = batch(first, limbs).map_err(failed)?;
                let instruction = if let Some(Operation::Multiply { .. }) = part.first() {
                    Instruction::ModMul { slot, left: first, right: batch(second, limbs).map_err(failed)? }
                } else {
                    let exponents = batch(second, (width as usize).div_ceil(64).max(1)).map_err(failed)?;
                    Instruction::ModExp { slot, bases: first, exponents, bits: width }
                };
                // In one request, because several moduli share the connection.
                let set = Instruction::SetModulus { slot, modulus: modulus.clone() };
                let outcomes = self.execute(vec![set, instruction]).map_err(failed)?;
                let integers = integers(outcomes, part.len()).map_err(failed)?;
                results.extend(integers.rows().map(ciphermill_bigint::reference::big));
            }
        }
        Ok(results)
    }
}
