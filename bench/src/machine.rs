//! The machine, and where on it the work runs.

use std::fs;
use std::process::Command;

use rayon::{ThreadPool, ThreadPoolBuilder};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::Serialize;

use crate::Failure;

/// Flags of `/proc/cpuinfo` that decide which path a kernel runs on. `scripts/evidence.sh` records the same.
const FLAGS: [&str; 8] = ["avx2", "fma", "bmi2", "adx", "avx512f", "avx512dq", "avx512vl", "avx512ifma"];

/// The machine of a record. Its CPU's name alone does not distinguish generations: some are all called "AMD EPYC".
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    pub(crate) cpu: String,
    pub(crate) cpu_family: Option<u32>,
    pub(crate) cpu_model: Option<u32>,
    pub(crate) cpu_stepping: Option<u32>,
    /// The flags among `avx2` … `avx512ifma` that the CPU offers.
    pub(crate) isa_offered: Vec<&'static str>,
    pub(crate) cores: usize,
    pub(crate) memory_mib: u64,
    pub(crate) kernel: String,
    pub(crate) rustc: String,
}

impl Machine {
    pub(crate) fn this() -> Self {
        let field = |file: &str, name: &str| {
            let text = fs::read_to_string(file).ok()?;
            let (_, value) =
                text.lines().filter_map(|line| line.split_once(':')).find(|(key, _)| key.trim() == name)?;
            Some(value.trim().to_owned())
        };
        let memory = field("/proc/meminfo", "MemTotal")
            .and_then(|value| value.split(' ').next()?.parse::<u64>().ok())
            .map_or(0, |kib| kib >> 10);
        let number = |name: &str| field("/proc/cpuinfo", name).and_then(|value| value.parse::<u32>().ok());
        let flags = field("/proc/cpuinfo", "flags").unwrap_or_default();
        Self {
            cpu_family: number("cpu family"),
            cpu_model: number("model"),
            cpu_stepping: number("stepping"),
            isa_offered: FLAGS.into_iter().filter(|flag| flags.split(' ').any(|offered| offered == *flag)).collect(),
            cpu: field("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".to_owned()),
            cores: cores().len(),
            memory_mib: memory,
            kernel: said_by("uname", &["-sr"]),
            rustc: said_by("rustc", &["--version"]),
        }
    }
}

/// What a command prints, or `unknown`.
pub(crate) fn said_by(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output();
    match output {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).trim().to_owned(),
        _ => "unknown".to_owned(),
    }
}

/// One CPU of each core that this process may use, the last first: the first ones serve most interrupts.
pub(crate) fn cores() -> Vec<usize> {
    let Ok(allowed) = sched_getaffinity(None) else { return Vec::new() };
    let mut siblings = Vec::new();
    let mut cpus: Vec<usize> = (0..CpuSet::MAX_CPU)
        .filter(|&cpu| allowed.is_set(cpu))
        .filter(|cpu| {
            let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
            let list = fs::read_to_string(path).unwrap_or_else(|_| cpu.to_string());
            let new = !siblings.contains(&list);
            siblings.push(list);
            new
        })
        .collect();
    cpus.reverse();
    cpus
}

/// Threads pinned to one core each.
pub(crate) struct Pools {
    /// One thread.
    pub(crate) one: ThreadPool,
    /// Two threads, where there are two cores.
    pub(crate) two: Option<ThreadPool>,
}

impl Pools {
    pub(crate) fn new() -> Result<Self, Failure> {
        let cores = cores();
        if cores.is_empty() {
            return Err("the system does not tell which CPUs this process may use".into());
        }
        let pool = |threads: usize| -> Result<ThreadPool, Failure> {
            let cores = cores.clone();
            let pool = ThreadPoolBuilder::new().num_threads(threads).build()?;
            // All of them to the same cores, as a thread that one of them starts inherits where it may run.
            let pinned = pool.broadcast(move |_| {
                let mut set = CpuSet::new();
                for &core in &cores[..threads] {
                    set.set(core);
                }
                sched_setaffinity(None, &set)
            });
            pinned.into_iter().collect::<Result<(), _>>()?;
            Ok(pool)
        };
        Ok(Self { one: pool(1)?, two: if cores.len() >= 2 { Some(pool(2)?) } else { None } })
    }

    /// The widest.
    pub(crate) fn widest(&self) -> &ThreadPool {
        self.two.as_ref().unwrap_or(&self.one)
    }
}
