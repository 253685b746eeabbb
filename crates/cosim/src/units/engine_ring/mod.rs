//! The host's side of an engine: registers over AXI4-Lite, the ring of jobs, and the memory that both share.

pub mod registers;

use ciphermill_math::EngineCost;

use crate::axi_memory::{AxiMemory, AxiPort, AxiTiming};
use crate::model::{Configuration, Model, Port};
use crate::units::engine_job::registers as job;

/// Bytes of a descriptor.
pub const DESCRIPTOR: usize = 64;

/// Errors of an engine's host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The engine answers a register access with an error.
    #[error("the engine refuses the {} of register {address:#x}", if *write { "write" } else { "read" })]
    Register {
        /// The byte address.
        address: u32,
        /// Whether the access is a write.
        write: bool,
    },
    /// The engine breaks a rule of AXI.
    #[error("the engine breaks a rule of AXI: {0}")]
    Axi(String),
    /// The engine does not finish.
    #[error("not finished after {cycles} cycles")]
    Stuck {
        /// The cycles that the host waited.
        cycles: u64,
    },
    /// The ring has no room for the jobs.
    #[error("{jobs} jobs do not fit the ring of {size} descriptors; use 1 to {}", size - 1)]
    RingFull {
        /// The jobs.
        jobs: usize,
        /// Descriptors of the ring.
        size: u32,
    },
}

/// A status of a job other than `DONE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the engine ends the job with status {}", name(*.0))]
pub struct JobStatus(pub u32);

fn name(status: u32) -> String {
    let named = job::STATUS_CODE_NAMES.into_iter().find(|(code, _)| *code == status);
    named.map_or_else(|| status.to_string(), |(_, name)| name.to_owned())
}

/// A job descriptor without its status.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Descriptor {
    /// The operation, with the reserved bits above the verb.
    pub operation: u32,
    /// The length, as the verb says.
    pub length: u32,
    /// The addresses of the operands.
    pub operands: [u64; 6],
}

impl Descriptor {
    /// The bytes of the descriptor, with the status `PENDING`.
    #[must_use]
    pub fn to_bytes(self) -> [u8; DESCRIPTOR] {
        let mut bytes = [0; DESCRIPTOR];
        bytes[job::OPERATION as usize..][..4].copy_from_slice(&self.operation.to_le_bytes());
        bytes[job::LENGTH as usize..][..4].copy_from_slice(&self.length.to_le_bytes());
        for (place, operand) in bytes[job::A as usize..].chunks_exact_mut(8).zip(self.operands) {
            place.copy_from_slice(&operand.to_le_bytes());
        }
        bytes
    }
}

#[derive(Debug)]
struct RegisterPorts {
    aw_valid: Port,
    aw_ready: Port,
    aw_addr: Port,
    w_valid: Port,
    w_ready: Port,
    w_data: Port,
    w_strb: Port,
    b_valid: Port,
    b_ready: Port,
    b_resp: Port,
    ar_valid: Port,
    ar_ready: Port,
    ar_addr: Port,
    r_valid: Port,
    r_ready: Port,
    r_data: Port,
    r_resp: Port,
}

/// The counters of an engine at some time.
#[derive(Clone, Debug)]
pub struct Counters {
    cycles: u32,
    stalls: u32,
    /// The name of each AXI4 master, and the bytes that it has read and written.
    traffic: Vec<(String, u64, u64)>,
}

/// A model of an engine with the register head `engine_ring`, and its memory.
///
/// The module's register port has the prefix `regs_`, and each AXI4 master the prefix with which it was named.
#[derive(Debug)]
pub struct EngineHost {
    model: Model,
    registers: RegisterPorts,
    interrupt: Port,
    ports: Vec<AxiPort>,
    /// The memory behind all ports.
    pub memory: AxiMemory,
    ring: u64,
    size: u32,
    tail: u32,
    /// Clock edges at the end of the last reset, and from there to the last write of a register.
    reset_at: u64,
    written_at: u64,
}

impl EngineHost {
    /// An instance of an engine, reset, whose AXI4 masters have these prefixes. `readers` are prefixes of masters that only
    /// read, with their number: their signals are lanes of the ports with this prefix.
    pub fn new(
        configuration: &'static Configuration,
        prefixes: &[&str],
        readers: &[(&str, u32)],
        memory: AxiMemory,
        timing: &AxiTiming,
        seed: u32,
    ) -> Self {
        let model = Model::new(configuration, seed);
        let port = |name| model.port(name);
        let registers = RegisterPorts {
            aw_valid: port("regs_aw_valid_i"),
            aw_ready: port("regs_aw_ready_o"),
            aw_addr: port("regs_aw_addr_i"),
            w_valid: port("regs_w_valid_i"),
            w_ready: port("regs_w_ready_o"),
            w_data: port("regs_w_data_i"),
            w_strb: port("regs_w_strb_i"),
            b_valid: port("regs_b_valid_o"),
            b_ready: port("regs_b_ready_i"),
            b_resp: port("regs_b_resp_o"),
            ar_valid: port("regs_ar_valid_i"),
            ar_ready: port("regs_ar_ready_o"),
            ar_addr: port("regs_ar_addr_i"),
            r_valid: port("regs_r_valid_o"),
            r_ready: port("regs_r_ready_i"),
            r_data: port("regs_r_data_o"),
            r_resp: port("regs_r_resp_o"),
        };
        let interrupt = port("irq_o");
        let seeds = |number: usize| (u64::from(seed) + number as u64) << 32 | u64::from(seed);
        let masters = prefixes.iter().enumerate();
        let mut ports: Vec<_> =
            masters.map(|(i, prefix)| AxiPort::new(&model, prefix, timing.clone(), seeds(i))).collect();
        for &(prefix, lanes) in readers {
            for lane in 0..lanes {
                ports.push(AxiPort::reader(&model, prefix, lane, lanes, timing.clone(), seeds(ports.len())));
            }
        }
        let mut host =
            Self { model, registers, interrupt, ports, memory, ring: 0, size: 0, tail: 0, reset_at: 0, written_at: 0 };
        host.reset();
        host
    }

    /// Resets the engine, its ports and the host's knowledge of the ring.
    pub fn reset(&mut self) {
        let ports = &self.registers;
        for port in [ports.aw_valid, ports.w_valid, ports.ar_valid, ports.b_ready, ports.r_ready] {
            self.model.set(port, 0);
        }
        for port in &mut self.ports {
            port.reset(&mut self.model);
        }
        self.model.reset();
        (self.size, self.tail) = (0, 0);
        self.reset_at = self.model.cycles();
    }

    /// Clock edges from the end of the last reset to the last write of a register, that one included.
    #[must_use]
    pub fn written_at(&self) -> u64 {
        self.written_at
    }

    /// Clock edges so far.
    pub fn cycles(&self) -> u64 {
        self.model.cycles()
    }

    /// The counters of the engine, for [`cost_since`](Self::cost_since).
    ///
    /// # Errors
    /// If the engine refuses a register access.
    pub fn counters(&mut self) -> Result<Counters, HostError> {
        let (cycles, stalls) = (self.read(registers::CYCLES)?, self.read(registers::STALLS)?);
        let port = |port: &AxiPort| {
            let (read, written) = port.traffic();
            (port.name().to_owned(), read, written)
        };
        let traffic = self.ports.iter().map(port).collect();
        Ok(Counters { cycles, stalls, traffic })
    }

    /// The cost of the jobs since then.
    ///
    /// # Errors
    /// If the engine refuses a register access.
    pub fn cost_since(&mut self, before: &Counters) -> Result<EngineCost, HostError> {
        let now = self.counters()?;
        let ports = now.traffic.into_iter().zip(&before.traffic);
        Ok(EngineCost {
            cycles: now.cycles.wrapping_sub(before.cycles).into(),
            stalls: now.stalls.wrapping_sub(before.stalls).into(),
            ports: ports.map(|((name, read, written), from)| (name, read - from.1, written - from.2)).collect(),
        })
    }

    /// Whether the interrupt is raised.
    pub fn interrupt(&self) -> bool {
        self.model.get(self.interrupt) == 1
    }

    /// Gives one clock edge.
    pub fn clock(&mut self) {
        for port in &mut self.ports {
            port.cycle(&mut self.model, &mut self.memory);
        }
        self.model.clock();
    }

    /// Gives clock edges.
    ///
    /// # Errors
    /// If the engine breaks a rule of AXI.
    pub fn idle(&mut self, cycles: u64) -> Result<(), HostError> {
        for _ in 0..cycles {
            self.clock();
        }
        self.check()
    }

    /// Gives clock edges, so that a write that follows at once is [`written_at`](Self::written_at) a multiple of `period`.
    ///
    /// # Errors
    /// If the engine breaks a rule of AXI.
    pub fn align(&mut self, period: u64) -> Result<(), HostError> {
        // An idle engine takes a write at the second edge.
        let next = self.model.cycles() - self.reset_at + 2;
        self.idle(next.next_multiple_of(period) - next)
    }

    fn check(&self) -> Result<(), HostError> {
        let broken = self.ports.iter().find_map(AxiPort::violation);
        broken.map_or(Ok(()), |rule| Err(HostError::Axi(rule.to_owned())))
    }

    /// Gives clock edges until all these ports are 1, and one more.
    fn until(&mut self, ports: &[Port]) -> Result<(), HostError> {
        self.before(ports)?;
        self.clock();
        Ok(())
    }

    /// Gives clock edges until all ports are high.
    fn before(&mut self, ports: &[Port]) -> Result<(), HostError> {
        const PATIENCE: u64 = 64;
        for _ in 0..PATIENCE {
            if ports.iter().all(|&port| self.model.get(port) == 1) {
                return Ok(());
            }
            self.clock();
        }
        Err(HostError::Stuck { cycles: PATIENCE })
    }

    /// Reads a register.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn read(&mut self, address: u32) -> Result<u32, HostError> {
        self.model.set(self.registers.ar_addr, u64::from(address));
        self.model.set(self.registers.ar_valid, 1);
        self.until(&[self.registers.ar_ready])?;
        self.model.set(self.registers.ar_valid, 0);
        self.model.set(self.registers.r_ready, 1);
        // The data stays until the edge that takes it.
        self.before(&[self.registers.r_valid])?;
        let (data, response) = (self.model.get(self.registers.r_data), self.model.get(self.registers.r_resp));
        self.clock();
        self.model.set(self.registers.r_ready, 0);
        if response == 0 { Ok(data as u32) } else { Err(HostError::Register { address, write: false }) }
    }

    /// Writes a register.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn write(&mut self, address: u32, value: u32) -> Result<(), HostError> {
        self.model.set(self.registers.aw_addr, u64::from(address));
        self.model.set(self.registers.w_data, u64::from(value));
        self.model.set(self.registers.w_strb, 0xf);
        self.model.set(self.registers.aw_valid, 1);
        self.model.set(self.registers.w_valid, 1);
        // Both are taken in one cycle.
        self.until(&[self.registers.aw_ready, self.registers.w_ready])?;
        self.written_at = self.model.cycles() - self.reset_at;
        self.model.set(self.registers.aw_valid, 0);
        self.model.set(self.registers.w_valid, 0);
        self.model.set(self.registers.b_ready, 1);
        self.before(&[self.registers.b_valid])?;
        let response = self.model.get(self.registers.b_resp);
        self.clock();
        self.model.set(self.registers.b_ready, 0);
        if response == 0 { Ok(()) } else { Err(HostError::Register { address, write: true }) }
    }

    /// Sets the ring, and the engine to run.
    ///
    /// # Errors
    /// If the engine refuses.
    pub fn start(&mut self, ring: u64, size: u32) -> Result<(), HostError> {
        self.write(registers::CONTROL, 0)?;
        self.write(registers::RING_BASE, ring as u32)?;
        self.write(registers::RING_BASE_HIGH, (ring >> 32) as u32)?;
        self.write(registers::RING_SIZE, size)?;
        (self.ring, self.size, self.tail) = (ring, size, 0);
        self.write(registers::CONTROL, registers::CONTROL_RUN)
    }

    /// The address of a descriptor of the ring.
    #[must_use]
    pub fn descriptor(&self, index: u32) -> u64 {
        self.ring + u64::from(index) * DESCRIPTOR as u64
    }

    /// Puts jobs into the ring and moves TAIL; returns their indices.
    ///
    /// # Errors
    /// If the ring has no room for them when it is empty, or the engine refuses.
    pub fn push(&mut self, jobs: &[[u8; DESCRIPTOR]]) -> Result<Vec<u32>, HostError> {
        if jobs.len() >= self.size as usize {
            return Err(HostError::RingFull { jobs: jobs.len(), size: self.size });
        }
        let mut indices = Vec::new();
        for bytes in jobs {
            let address = self.descriptor(self.tail);
            self.memory.bytes_mut(address, DESCRIPTOR).copy_from_slice(bytes);
            indices.push(self.tail);
            self.tail = (self.tail + 1) % self.size;
        }
        self.write(registers::TAIL, self.tail)?;
        Ok(indices)
    }

    /// The status of a job, as the engine has written it.
    #[must_use]
    pub fn status(&self, index: u32) -> u32 {
        let bytes = self.memory.bytes(self.descriptor(index) + u64::from(job::STATUS), 4);
        bytes.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte))
    }

    /// Waits until the engine has no job, and returns the value of CYCLES.
    ///
    /// # Errors
    /// If that takes longer than `patience` cycles, or the engine breaks a rule of AXI.
    pub fn wait(&mut self, patience: u64) -> Result<u32, HostError> {
        self.wait_with(patience, &mut |_| ())
    }

    /// The same; `progress` receives the clock edges since the beginning.
    ///
    /// # Errors
    /// As [`wait`](Self::wait).
    pub fn wait_with(&mut self, patience: u64, progress: &mut dyn FnMut(u64)) -> Result<u32, HostError> {
        let begin = self.cycles();
        while self.read(registers::STATUS)? & registers::STATUS_BUSY != 0 {
            self.check()?;
            if self.cycles() - begin > patience {
                return Err(HostError::Stuck { cycles: patience });
            }
            self.idle(16)?;
            progress(self.cycles() - begin);
        }
        self.check()?;
        self.read(registers::CYCLES)
    }

    /// Drops all jobs and keys; the ring must be set again. The Paillier engine overwrites its numbers.
    ///
    /// # Errors
    /// If the engine does not finish.
    pub fn clear(&mut self) -> Result<(), HostError> {
        self.write(registers::CONTROL, registers::CONTROL_CLEAR)?;
        self.wait(100_000)?;
        (self.size, self.tail) = (0, 0);
        Ok(())
    }
}
