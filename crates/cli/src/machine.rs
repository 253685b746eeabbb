//! The description of this machine, for reports.

use ciphermill_math::Isa;
use serde::Serialize;

/// The machine that a figure was measured on.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    /// Model name of the CPU. It does not distinguish generations: some are all called "AMD EPYC".
    pub(crate) cpu: String,
    /// Family of the CPU, from `/proc/cpuinfo`, as are its model and stepping.
    pub(crate) cpu_family: Option<u32>,
    /// Model number of the CPU.
    pub(crate) cpu_model: Option<u32>,
    /// Stepping of the CPU.
    pub(crate) cpu_stepping: Option<u32>,
    /// Threads that this process may run at a time.
    pub(crate) threads: usize,
    /// Main memory, in MiB.
    pub(crate) memory_mib: u64,
    /// Name and release of the kernel.
    pub(crate) kernel: String,
}

impl Machine {
    /// Examines this machine. A value that the system does not report is `unknown`, none or 0.
    pub(crate) fn this() -> Self {
        let field = |file: &str, name: &str| {
            let text = std::fs::read_to_string(file).ok()?;
            let (_, value) =
                text.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| key.trim() == name)?;
            Some(value.trim().to_owned())
        };
        let number = |name: &str| field("/proc/cpuinfo", name)?.parse::<u32>().ok();
        let kernel = |name: &str| std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
        Self {
            cpu: field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned()),
            cpu_family: number("cpu family"),
            cpu_model: number("model"),
            cpu_stepping: number("stepping"),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_mib: proc_bytes("/proc/meminfo", "MemTotal:").unwrap_or(0) >> 20,
            kernel: format!("{} {}", kernel("ostype").trim(), kernel("osrelease").trim()),
        }
    }
}

/// The largest resident set of this process so far, in bytes; 0 where it cannot be read.
pub(crate) fn peak_rss_bytes() -> u64 {
    proc_bytes("/proc/self/status", "VmHWM:").unwrap_or(0)
}

/// The value of a line `name 123 kB` of a file of /proc, in bytes.
pub(crate) fn proc_bytes(file: &str, name: &str) -> Option<u64> {
    let text = std::fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The instruction sets of this CPU and the one in use.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct IsaReport {
    /// The path that kernels take.
    pub(crate) used: &'static str,
    /// Whether `CIPHERMILL_ISA` chose it.
    pub(crate) forced: bool,
    /// The paths that this CPU offers, slowest first.
    pub(crate) available: Vec<&'static str>,
}

impl IsaReport {
    pub(crate) fn this() -> Self {
        Self {
            used: Isa::current().name(),
            forced: std::env::var_os("CIPHERMILL_ISA").is_some_and(|value| !value.is_empty()),
            available: Isa::available().map(Isa::name).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_system_tells_the_peak() {
        assert!(peak_rss_bytes() > 1 << 20);
        assert!(Machine::this().memory_mib > 0);
    }
}
