//! A host as an engine.

use std::fmt;
use std::net::{SocketAddr, TcpStream};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ciphermill_bigint::{Coprocessor, EngineError, IntegerBatch, MAX_MODULUS_BITS, Operation};
use ciphermill_math::{EngineInfo, EngineKind};
use ciphermill_paillier::host::{Instruction, Limits, Outcome, Request, Response, Slot};
use ciphermill_paillier::{Blinding, CiphertextVector, PlaintextVector};
use num_bigint::BigUint;

use super::{HostError, frame, loopback};
use crate::error::ClientError;

const NAME: &str = "paillier-host";
/// For a connection to be made, and for an answer: more than the host takes by default.
const CONNECT: Duration = Duration::from_secs(10);
const ANSWER: Duration = Duration::from_secs(300);
/// Bytes of the operands of one request, within the default limits of a host.
const REQUEST_BYTES: usize = 1 << 20;
/// Integers of an operand of one request.
const ELEMENTS: usize = 1024;

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
    stream: Mutex<TcpStream>,
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
    /// [`HostError::Address`], [`HostError::NotLoopback`] or [`HostError::Io`].
    pub fn connect(address: &str) -> Result<Self, HostError> {
        let address = loopback(address)?;
        let failed = |source| HostError::Io { what: "cannot connect to", address, source };
        let stream = TcpStream::connect_timeout(&address, CONNECT).map_err(failed)?;
        stream.set_nodelay(true).map_err(failed)?;
        Ok(Self { address, stream: Mutex::new(stream) })
    }

    /// The results of the instructions. All of them are done.
    ///
    /// # Errors
    /// [`HostError::Io`]; [`HostError::Refused`] if the host refuses the request or an instruction.
    pub fn execute(&self, instructions: Vec<Instruction>) -> Result<Vec<Outcome>, HostError> {
        let count = instructions.len();
        let content = Request { instructions }.encode();
        let mut request = (content.len() as u32).to_le_bytes().to_vec();
        request.extend(content);
        let failed = |source| HostError::Io { what: "no answer from", address: self.address, source };
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let end = Instant::now() + ANSWER;
        // A host that refuses does not read the request to its end, so that its reason may be there all the same.
        let sent = frame::write(&mut stream, &request, end);
        let mut head = [0; 5];
        let answered = frame::read(&mut stream, &mut head, end);
        if !matches!(answered, Ok(true)) {
            sent.map_err(failed)?;
            answered.map_err(failed)?;
            return Err(failed(std::io::ErrorKind::ConnectionAborted.into()));
        }
        let [kind, length @ ..] = head;
        let length = u32::from_le_bytes(length);
        let refused = |what: String| HostError::Refused { what };
        let limits = Limits { instructions: count as u32, ..Limits::default() };
        let most = limits.result_bytes + (1 << 20);
        if u64::from(length) > most {
            return Err(refused(format!("its answer has {length} bytes, more than {most}")));
        }
        let mut content = vec![0; length as usize];
        if length != 0 && !frame::read(&mut stream, &mut content, end).map_err(failed)? {
            return Err(failed(std::io::ErrorKind::UnexpectedEof.into()));
        }
        if kind != frame::DONE {
            return Err(refused(String::from_utf8_lossy(&content).chars().filter(|c| !c.is_control()).collect()));
        }
        let response = Response::decode(&content, &limits).map_err(|error| refused(error.to_string()))?;
        if response.outcomes.len() != count {
            return Err(refused(format!("{} results for {count} instructions", response.outcomes.len())));
        }
        match response.outcomes.iter().find_map(|outcome| match outcome {
            Outcome::Refused { message, .. } => Some(message),
            _ => None,
        }) {
            Some(message) => Err(refused(message.chars().filter(|c| !c.is_control()).collect())),
            None => Ok(response.outcomes),
        }
    }

    /// Encrypts on the host, which sees the plaintexts and draws the blinding factors.
    ///
    /// # Errors
    /// As [`execute`](Self::execute); [`ClientError::Paillier`] if a result is not a ciphertext of the key.
    pub fn encrypt(&self, plaintexts: &PlaintextVector, blinding: Blinding) -> Result<CiphertextVector, ClientError> {
        let key = plaintexts.key();
        let slot = Slot(0);
        let blinding_base = key.blinding_base().map(|base| batch(&[base], 2 * key.n().len()));
        let n = IntegerBatch::from_words(key.n().len(), key.n().to_vec());
        self.execute(vec![Instruction::SetKey { slot, n, blinding_base }])?;
        let mut parts = Vec::new();
        let each = chunk(2 * key.n().len());
        for start in (0..plaintexts.len()).step_by(each) {
            let end = plaintexts.len().min(start + each);
            let plaintexts = plaintexts.residues().slice(start..end);
            let outcomes = self.execute(vec![Instruction::Encrypt { slot, blinding, plaintexts }])?;
            parts.push(CiphertextVector::from_integers(key, &integers(outcomes, end - start)?)?);
        }
        Ok(CiphertextVector::concat(&parts)?)
    }
}

/// The number of integers with this number of limbs in a request.
fn chunk(limbs: usize) -> usize {
    (REQUEST_BYTES / (16 * limbs)).clamp(1, ELEMENTS)
}

/// Integers in batches, which they must fit.
fn batch(values: &[BigUint], limbs: usize) -> IntegerBatch {
    let mut out = IntegerBatch::zeros(values.len(), limbs);
    for (index, value) in values.iter().enumerate() {
        let digits = value.to_u64_digits();
        out.row_mut(index)[..digits.len()].copy_from_slice(&digits);
    }
    out
}

/// The integers of the only instruction's result.
fn integers(outcomes: Vec<Outcome>, expected: usize) -> Result<IntegerBatch, HostError> {
    match outcomes.into_iter().next() {
        Some(Outcome::Integers(integers)) if integers.len() == expected => Ok(integers),
        _ => Err(HostError::Refused { what: format!("its result does not have {expected} integers") }),
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
        self.execute(vec![Instruction::SetModulus { slot, modulus: batch(std::slice::from_ref(modulus), limbs) }])
            .map_err(failed)?;
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
                    first.push(a.clone());
                    second.push(b.clone());
                }
                let instruction = if let Some(Operation::Multiply { .. }) = part.first() {
                    Instruction::ModMul { slot, left: batch(&first, limbs), right: batch(&second, limbs) }
                } else {
                    let exponents = batch(&second, (width as usize).div_ceil(64).max(1));
                    Instruction::ModExp { slot, bases: batch(&first, limbs), exponents, bits: width }
                };
                let outcomes = self.execute(vec![instruction]).map_err(failed)?;
                let integers = integers(outcomes, part.len()).map_err(failed)?;
                results.extend(integers.rows().map(ciphermill_bigint::reference::big));
            }
        }
        Ok(results)
    }
}
