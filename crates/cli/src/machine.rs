//! What this machine is, for reports.

use ciphermill_math::Isa;
use serde::Serialize;

/// The machine that a figure was measured on.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    /// Model name of the CPU.
    pub(crate) cpu: String,
    /// Threads that this process may run at a time.
    pub(crate) threads: usize,
    /// Main memory, in MiB.
    pub(crate) memory_mib: u64,
    /// Name and release of the kernel.
    pub(crate) kernel: String,
}

impl Machine {
    /// Looks at this machine. What the system does not tell is `unknown` or 0.
    pub(crate) fn this() -> Self {
        let field = |file: &str, name: &str| {
            let text = std::fs::read_to_string(file).ok()?;
            let (_, value) =
                text.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| key.trim() == name)?;
            Some(value.trim().to_owned())
        };
        let kibibytes = |text: String| text.strip_suffix("kB")?.trim().parse::<u64>().ok();
        let kernel = |name: &str| std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).unwrap_or_default();
        Self {
            cpu: field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned()),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_mib: field("/proc/meminfo", "MemTotal").and_then(kibibytes).unwrap_or(0) / 1024,
            kernel: format!("{} {}", kernel("ostype").trim(), kernel("osrelease").trim()),
        }
    }
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
