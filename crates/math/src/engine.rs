//! The description of an engine: its name, the device that computes, and the device's kind.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Isa;

/// The kind of device behind an engine.
///
/// # Example
/// ```
/// use ciphermill_math::{EngineKind, Isa};
///
/// assert!(EngineKind::Remote.is_remote());
/// assert_eq!(EngineKind::Rtl.isa(), None);
/// assert_eq!(EngineKind::Cpu(Isa::Avx2).to_string(), "cpu (avx2)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum EngineKind {
    /// This process's CPU, on the given instruction set.
    Cpu(Isa),
    /// A cycle model in Rust that also computes the values.
    Simulated,
    /// RTL in co-simulation, or a chip made from it.
    Rtl,
    /// A GPU of this machine.
    Gpu,
    /// Another process or machine. Such an engine never receives a secret.
    Remote,
}

impl EngineKind {
    /// Whether the operands leave the trust boundary of this process.
    #[must_use]
    pub fn is_remote(self) -> bool {
        self == Self::Remote
    }

    /// The instruction set, if the engine is the CPU.
    #[must_use]
    pub fn isa(self) -> Option<Isa> {
        match self {
            Self::Cpu(isa) => Some(isa),
            _ => None,
        }
    }
}

impl fmt::Display for EngineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Cpu(isa) => write!(f, "cpu ({isa})"),
            Self::Simulated => f.write_str("simulated"),
            Self::Rtl => f.write_str("rtl"),
            Self::Gpu => f.write_str("gpu"),
            Self::Remote => f.write_str("remote"),
        }
    }
}

/// The description that every engine of a kernel seam returns.
///
/// # Example
/// ```
/// use ciphermill_math::{EngineInfo, EngineKind, Isa};
///
/// let info = EngineInfo::new("cpu-fft", EngineKind::Cpu(Isa::current()));
/// assert!(!info.kind.is_remote());
/// assert_eq!(info.name, "cpu-fft");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct EngineInfo {
    /// Name for reports, such as `cpu-fft`.
    pub name: Cow<'static, str>,
    /// The device that computes, such as `ifma` or `mod_exp/b1024`; empty if the kind says it all.
    pub device: Cow<'static, str>,
    /// The kind of device.
    pub kind: EngineKind,
    /// Whether the engine is constructed so that time and memory accesses do not depend on secret operands.
    pub constant_time: bool,
}

impl EngineInfo {
    /// An engine of the given name and kind, without a device name and not constant-time.
    #[must_use]
    pub fn new(name: impl Into<Cow<'static, str>>, kind: EngineKind) -> Self {
        Self { name: name.into(), device: Cow::Borrowed(""), kind, constant_time: false }
    }

    /// Names the device.
    #[must_use]
    pub fn on(self, device: impl Into<Cow<'static, str>>) -> Self {
        Self { device: device.into(), ..self }
    }

    /// The instruction set for work that the host does next to the engine, such as permuting its spectra: the engine's
    /// own if it is the CPU, otherwise that of this process.
    #[must_use]
    pub fn host_isa(&self) -> Isa {
        self.kind.isa().unwrap_or_else(Isa::current)
    }

    /// States that the engine is constant-time by construction.
    #[must_use]
    pub fn with_constant_time(self) -> Self {
        Self { constant_time: true, ..self }
    }
}

/// The cost of a job on an engine that counts its cycles.
///
/// # Example
/// ```
/// use ciphermill_math::EngineCost;
///
/// let cost = EngineCost { cycles: 8_224_690, stalls: 12, ports: vec![("data".to_owned(), 68_992, 3_264)] };
/// // At 200 MHz.
/// assert_eq!((cost.seconds(200e6) * 1e3).round(), 41.0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EngineCost {
    /// Cycles from the first access to memory to the last one.
    pub cycles: u64,
    /// Cycles in which the engine waited for memory.
    pub stalls: u64,
    /// Name, bytes read and bytes written of each port to memory.
    pub ports: Vec<(String, u64, u64)>,
}

impl EngineCost {
    /// Seconds at a clock of `hertz`.
    #[must_use]
    pub fn seconds(&self, hertz: f64) -> f64 {
        self.cycles as f64 / hertz
    }
}

/// The latest costs of an engine's jobs, for the seams' `take_costs`. Many callers never take them: at most [`CostLog::MOST`] are
/// kept.
///
/// # Example
/// ```
/// use ciphermill_math::{CostLog, EngineCost};
///
/// let log = CostLog::default();
/// log.add(EngineCost { cycles: 12, ..EngineCost::default() });
/// assert_eq!(log.take()[0].cycles, 12);
/// assert!(log.take().is_empty());
/// ```
#[derive(Debug, Default)]
pub struct CostLog(Mutex<VecDeque<EngineCost>>);

impl CostLog {
    /// The costs that are kept; older ones are dropped.
    pub const MOST: usize = 1024;

    fn costs(&self) -> MutexGuard<'_, VecDeque<EngineCost>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds the cost of a job.
    pub fn add(&self, cost: EngineCost) {
        let mut costs = self.costs();
        if costs.len() == Self::MOST {
            costs.pop_front();
        }
        costs.push_back(cost);
    }

    /// The costs since the last call, the oldest first.
    pub fn take(&self) -> Vec<EngineCost> {
        std::mem::take(&mut *self.costs()).into()
    }
}

impl fmt::Display for EngineInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {}", self.name, self.kind)?;
        if self.device.is_empty() { Ok(()) } else { write!(f, ", {}", self.device) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_keeps_the_latest_costs() {
        let log = CostLog::default();
        for cycles in 0..CostLog::MOST as u64 + 3 {
            log.add(EngineCost { cycles, ..EngineCost::default() });
        }
        let costs = log.take();
        assert_eq!((costs.len(), costs[0].cycles), (CostLog::MOST, 3));
    }

    #[test]
    fn a_description_names_engine_kind_and_device() {
        let cpu = EngineInfo::new("cpu", EngineKind::Cpu(Isa::Portable)).on("ifma").with_constant_time();
        assert_eq!(cpu.to_string(), "cpu, cpu (portable), ifma");
        assert!(cpu.constant_time);
        assert_eq!(cpu.kind.isa(), Some(Isa::Portable));
        let remote = EngineInfo::new("cluster", EngineKind::Remote);
        assert_eq!(remote.to_string(), "cluster, remote");
        assert!(remote.kind.is_remote() && remote.kind.isa().is_none() && !remote.constant_time);
    }
}
