//! `paillier_engine`: encryptions, powers and products through a ring of jobs.

use ciphermill_math::EngineCost;
use num_bigint::BigUint;

use super::engine_job::registers as job;
use super::engine_ring::{Descriptor, EngineHost, HostError, JobStatus};
use super::mont_mul::MontgomeryConstants;
use crate::axi_memory::{AxiMemory, AxiTiming};
use crate::model::Configuration;

/// The verb that loads a key.
pub const VERB_KEY: u32 = 1;
/// The verb that encrypts.
pub const VERB_ENCRYPT: u32 = 2;
/// The verb of a power.
pub const VERB_POWER: u32 = 3;
/// The verb of a product.
pub const VERB_MULTIPLY: u32 = 4;

/// Descriptors of the driver's ring.
pub const RING_SIZE: u32 = 32;
/// The address of the memory: above 4 GiB, so that both words of an address matter.
const MEMORY: u64 = 0x1_0000_0000;
/// From the ring to the key.
const KEY: u64 = 0x1000;
/// From the ring to the numbers of jobs.
const NUMBERS: u64 = 0x4000;

/// A job of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// (1 + m·n)·r^n modulo N.
    Encrypt {
        /// The random number r, below n.
        random: BigUint,
        /// The message m, below n.
        message: BigUint,
    },
    /// base^exponent modulo N.
    Power {
        /// The base, below N.
        base: BigUint,
        /// The exponent.
        exponent: BigUint,
        /// The number of bits of the exponent that the engine looks at.
        bits: u32,
    },
    /// a·b modulo N.
    Multiply {
        /// The first factor, below N.
        a: BigUint,
        /// The second factor, below N.
        b: BigUint,
    },
}

/// The engine with its host's driver.
#[derive(Debug)]
pub struct PaillierEngine {
    /// Registers, ring and memory.
    pub host: EngineHost,
    bits: u32,
    digit: u32,
}

impl PaillierEngine {
    /// An instance of a configuration of `paillier_engine`, reset and running.
    ///
    /// # Errors
    /// If the engine refuses a register access.
    pub fn new(configuration: &'static Configuration, timing: &AxiTiming, seed: u32) -> Result<Self, HostError> {
        let bits = configuration.parameter("Bits") as u32;
        let digit = configuration.parameter("Rows") as u32 * 17;
        let memory = AxiMemory::new(MEMORY, 0x2_0000);
        let mut host = EngineHost::new(configuration, &["ring_", "data_"], &[], memory, timing, seed);
        host.start(MEMORY, RING_SIZE)?;
        Ok(Self { host, bits, digit })
    }

    /// The longest modulus.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Sets the ring again, as after a reset or a CLEAR.
    ///
    /// # Errors
    /// If the engine refuses a register access.
    pub fn start(&mut self) -> Result<(), HostError> {
        self.host.start(MEMORY, RING_SIZE)
    }

    /// Bytes of a number in memory.
    #[must_use]
    pub fn number_bytes(&self) -> usize {
        self.bits as usize / 8
    }

    /// The address of operand `operand`, 0 to 2, of job `job` of a batch.
    #[must_use]
    pub fn address(&self, job: usize, operand: usize) -> u64 {
        MEMORY + NUMBERS + ((3 * job + operand) * self.number_bytes()) as u64
    }

    /// The address of the key.
    #[must_use]
    pub fn key_address(&self) -> u64 {
        MEMORY + KEY
    }

    /// Writes a number into memory.
    pub fn put(&mut self, address: u64, number: &BigUint) {
        let len = self.number_bytes();
        let mut bytes = number.to_bytes_le();
        bytes.resize(len, 0);
        self.host.memory.bytes_mut(address, len).copy_from_slice(&bytes);
    }

    /// Reads a number from memory.
    #[must_use]
    pub fn number(&self, address: u64) -> BigUint {
        BigUint::from_bytes_le(self.host.memory.bytes(address, self.number_bytes()))
    }

    /// The numbers of a key, which a host computes once for a modulus.
    ///
    /// # Panics
    /// If the modulus is even.
    #[must_use]
    pub fn key(&self, modulus: &BigUint, n: &BigUint) -> [BigUint; 6] {
        let constants = MontgomeryConstants::new(modulus, self.digit, (self.bits + 4).div_ceil(self.digit));
        let rsquared = &constants.r * &constants.r % modulus;
        let nr = n * &constants.r % modulus;
        [constants.modulus, constants.nhat, rsquared, nr, constants.u, n.clone()]
    }

    /// Writes a key into memory; returns the job that loads it, whose exponent n has `length` bits.
    pub fn put_key(&mut self, key: &[BigUint; 6], length: u32) -> Descriptor {
        for (i, number) in key.iter().enumerate() {
            self.put(self.key_address() + (i * self.number_bytes()) as u64, number);
        }
        Descriptor { operation: VERB_KEY, length, operands: [self.key_address(), 0, 0, 0, 0, 0] }
    }

    /// Loads a key for encryptions modulo n², or of another modulus.
    ///
    /// # Errors
    /// If the host fails, or the status is not `DONE`.
    pub fn load_key(&mut self, modulus: &BigUint, n: &BigUint) -> Result<Result<(), JobStatus>, HostError> {
        let key = self.key(modulus, n);
        let job = self.put_key(&key, n.bits() as u32);
        let index = self.host.push(&[job.to_bytes()])?[0];
        self.host.wait(self.patience(1))?;
        Ok(self.outcome(index))
    }

    /// Writes the numbers of a job, the `place`-th of a batch, into memory; returns its descriptor.
    pub fn put_work(&mut self, place: usize, work: &Work) -> Descriptor {
        let (verb, length, a, b) = match work {
            Work::Encrypt { random, message } => (VERB_ENCRYPT, 0, random, message),
            Work::Power { base, exponent, bits } => (VERB_POWER, *bits, base, exponent),
            Work::Multiply { a, b } => (VERB_MULTIPLY, 0, a, b),
        };
        let addresses = [0, 1, 2].map(|operand| self.address(place, operand));
        self.put(addresses[0], a);
        self.put(addresses[1], b);
        Descriptor { operation: verb, length, operands: [addresses[0], addresses[1], addresses[2], 0, 0, 0] }
    }

    /// The status of a job.
    ///
    /// # Errors
    /// A status other than `DONE`.
    pub fn outcome(&self, index: u32) -> Result<(), JobStatus> {
        match self.host.status(index) {
            job::STATUS_CODE_DONE => Ok(()),
            other => Err(JobStatus(other)),
        }
    }

    /// Cycles after which the driver gives up a number of jobs.
    #[must_use]
    pub fn patience(&self, jobs: usize) -> u64 {
        (jobs as u64 + 1) * (u64::from(self.bits) * 80 + 20_000)
    }

    /// Runs jobs that fit the ring together; returns their results, and the cycles in which there was a job.
    ///
    /// # Errors
    /// If the host fails.
    pub fn run(&mut self, works: &[Work]) -> Result<(Vec<Result<BigUint, JobStatus>>, u32), HostError> {
        let (values, cost) = self.run_with_cost(works, 1)?;
        Ok((values, cost.cycles as u32))
    }

    /// The same, with cycles, stalls and bytes. The jobs reach the engine at a multiple of `period` cycles after its reset:
    /// the turns of its places follow the clock.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn run_with_cost(
        &mut self,
        works: &[Work],
        period: u64,
    ) -> Result<(Vec<Result<BigUint, JobStatus>>, EngineCost), HostError> {
        let jobs: Vec<_> = works.iter().enumerate().map(|(i, work)| self.put_work(i, work).to_bytes()).collect();
        let before = self.host.counters()?;
        self.host.align(period)?;
        let indices = self.host.push(&jobs)?;
        self.host.wait(self.patience(jobs.len()))?;
        let result = |(i, &index): (usize, &u32)| self.outcome(index).map(|()| self.number(self.address(i, 2)));
        let values = indices.iter().enumerate().map(result).collect();
        Ok((values, self.host.cost_since(&before)?))
    }
}
