//! The host part of a Paillier accelerator: an instruction stream in, results out, the arithmetic on an engine.
//!
//! After Ruan and Zhou, "Design of a Paillier encryption acceleration system based on software-hardware co-design" (2025),
//! sections 2.1, 2.2 and 2.5, where a processing system (PS) drives programmable logic (PL). The stages of its PS, each a
//! file here:
//!
//! | stage | the paper's PS | here |
//! | --- | --- | --- |
//! | decode | algorithm parsing | bytes to [`Instruction`]s, bounded by [`Limits`] |
//! | plan | precomputation, random numbers | operands checked; constants once per key, remembered; randomness drawn ahead |
//! | dispatch | AXI transfer, start, wait | a [`ModExpEngine`], whose answers are checked |
//! | respond | results to the outside | an [`Outcome`] per instruction |
//!
//! The engine is all that changes between a CPU and an accelerator: the host uses nothing of it but [`ModExpEngine`],
//! `PreparedModulus` and `PreparedBase`. As in the paper g = n + 1: the host computes 1 + m·n, the engine the blinding
//! factor and the product. Unlike in the paper, the host never holds a private key: no instruction needs one.
//!
//! An instruction that is refused leaves the others as they are, and nothing of it is done. A stream that cannot be read is
//! refused as a whole, before anything of it is done.

mod answer;
mod constants;
mod decode;
mod dispatch;
mod error;
mod metrics;
mod plan;
mod randomness;
mod request;
mod response;

use std::fmt;
use std::time::{Duration, Instant};

use ciphermill_bigint::{ModExpEngine, TrustedEngine};

pub use decode::Limits;
pub use error::{FieldError, Refusal, Status, StreamError};
pub use metrics::{Metrics, OperationMetrics};
pub use request::{Instruction, Operation, REQUEST, Request, STREAM_VERSION, Slot};
pub use response::{Outcome, RESPONSE, Response};

use crate::parameters::SizePolicy;
use crate::random::{Csprng, RandomError};
use constants::Store;

/// How a host is made.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let config = HostConfig { remembered: 2, policy: SizePolicy::InsecureBench, ..HostConfig::default() };
/// let host = Host::new(TrustedEngine::cpu(), config)?;
/// assert_eq!(host.remembered(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct HostConfig {
    /// The limits of its input.
    pub limits: Limits,
    /// Keys and moduli whose constants it remembers when they have left their slots.
    pub remembered: usize,
    /// Key sizes that it works with.
    pub policy: SizePolicy,
    /// The time of a request. Instructions that have not begun then are refused; the one in work is finished.
    pub time: Duration,
}

impl Default for HostConfig {
    /// Default limits, 16 remembered keys and moduli, keys of 2048 bits and more, any time.
    fn default() -> Self {
        Self { limits: Limits::default(), remembered: 16, policy: SizePolicy::default(), time: Duration::MAX }
    }
}

/// Executes streams on an engine. Slots outlive a stream; one host serves one peer.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let config = HostConfig { policy: SizePolicy::InsecureBench, ..HostConfig::default() };
/// let mut host = Host::new(TrustedEngine::cpu(), config)?;
/// let n = IntegerBatch::from_words(8, key.n().to_vec());
/// let set_key = Instruction::SetKey { slot: Slot(0), n, blinding_base: None };
/// let response = host.execute(&Request { instructions: vec![set_key] });
/// assert_eq!(response.outcomes, [Outcome::Done]);
/// assert_eq!(host.engine().info(), TrustedEngine::cpu().info());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Host {
    engine: TrustedEngine,
    limits: Limits,
    time: Duration,
    store: Store,
    random: Csprng,
    metrics: Metrics,
}

impl Host {
    /// A host with empty slots.
    ///
    /// # Errors
    /// [`RandomError`].
    pub fn new(engine: TrustedEngine, config: HostConfig) -> Result<Self, RandomError> {
        let store = Store::new(config.limits.slots, config.remembered, config.policy);
        let random = Csprng::from_os()?;
        let HostConfig { limits, time, .. } = config;
        Ok(Self { engine, limits, time, store, random, metrics: Metrics::default() })
    }

    /// The engine.
    pub fn engine(&self) -> &dyn ModExpEngine {
        &**self.engine.engine()
    }

    /// The limits of its input.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Counts since the host was made.
    pub fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    /// Keys and moduli whose constants are remembered.
    pub fn remembered(&self) -> usize {
        self.store.remembered()
    }

    /// A request in its envelope to a response in its envelope.
    ///
    /// # Errors
    /// [`StreamError`] if the request cannot be read; nothing is done then.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let config = HostConfig { policy: SizePolicy::InsecureBench, ..HostConfig::default() };
    /// let mut host = Host::new(TrustedEngine::cpu(), config)?;
    /// let request = Request { instructions: vec![] }.encode();
    /// assert!(host.serve(&request).is_ok());
    /// // A damaged request is refused as a whole.
    /// assert!(host.serve(&request[1..]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn serve(&mut self, bytes: &[u8]) -> Result<Vec<u8>, StreamError> {
        let request = Request::decode(bytes, &self.limits).inspect_err(|_| self.metrics.streams_refused += 1)?;
        Ok(self.execute(&request).encode())
    }

    /// Executes a stream: everything is planned, then dispatched, in order. An instruction beyond the limits is refused
    /// here too, alone.
    ///
    /// There are never constants of more keys and moduli than there are slots and remembered ones together: a stream that names
    /// more of them is planned and dispatched in parts.
    pub fn execute(&mut self, request: &Request) -> Response {
        self.metrics.streams += 1;
        let begun = Instant::now();
        let mut room = plan::Room::new(self.limits.result_bytes);
        let mut outcomes = Vec::new();
        let mut planned = Vec::new();
        for (index, instruction) in request.instructions.iter().enumerate() {
            // Jobs hold the constants that they need.
            if instruction.sets() && self.store.is_full() {
                outcomes.extend(planned.drain(..).map(|plan| self.dispatch(begun, plan)));
            }
            let in_time = self.in_time(begun);
            let Self { engine, store, random, limits, .. } = self;
            if in_time.is_err() && instruction.sets() {
                // As for any other key that is refused.
                store.clear(instruction.slot());
            }
            let (job, planning) = timed(|| {
                in_time.and_then(|()| plan::plan(engine, limits, store, random, &mut room, (index, instruction)))
            });
            planned.push(Planned { operation: instruction.operation(), job, planning });
        }
        outcomes.extend(planned.into_iter().map(|plan| self.dispatch(begun, plan)));
        self.metrics.constants_computed = self.store.computed();
        Response { outcomes }
    }

    /// Refuses an instruction once the time of the request is over.
    fn in_time(&self, begun: Instant) -> Result<(), Refusal> {
        if begun.elapsed() > self.time { Err(Refusal::Late { limit: self.time }) } else { Ok(()) }
    }

    fn dispatch(&mut self, begun: Instant, Planned { operation, job, planning }: Planned) -> Outcome {
        let job = job.and_then(|job| match job {
            // A key is in its slot already.
            plan::Job::Nothing => Ok(job),
            _ => self.in_time(begun).map(|()| job),
        });
        let (result, engine) = timed(|| job.and_then(|job| dispatch::dispatch(&self.engine, &job)));
        let counts = self.metrics.of_mut(operation);
        counts.planning += planning;
        counts.engine += engine;
        match result {
            Ok(integers) => {
                counts.done += 1;
                counts.elements += integers.as_ref().map_or(0, |batch| batch.len() as u64);
                integers.map_or(Outcome::Done, Outcome::Integers)
            }
            Err(refusal) => {
                counts.refused += 1;
                refusal.into()
            }
        }
    }
}

/// An instruction between its two stages.
struct Planned {
    operation: Operation,
    job: Result<plan::Job, Refusal>,
    planning: Duration,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host").field("engine", &self.engine).field("limits", &self.limits).finish_non_exhaustive()
    }
}

fn timed<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let out = work();
    (out, start.elapsed())
}
