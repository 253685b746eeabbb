//! Memory and disk: the free amounts, and the needs of a parameter set.

use std::fs;
use std::path::{Path, PathBuf};

use ciphermill_tfhe::{Backend, ParameterSet};

use crate::error::CliError;
use crate::machine;
use ciphermill_client::{ClientError, files};

/// Where the demo works: the directory asked for, else `/var/tmp`, which, unlike `/tmp`, is a disk on every system, else the
/// temporary directory.
pub(super) fn work_directory(asked: Option<&Path>) -> PathBuf {
    let var_tmp = Path::new("/var/tmp");
    match asked {
        Some(directory) => directory.to_owned(),
        None if var_tmp.is_dir() => var_tmp.to_owned(),
        None => std::env::temp_dir(),
    }
}

/// Bytes of memory and of disk that a set needs: 4 GB and 6 GB at the paper's dimensions. The loaded keys take most of the
/// memory; on the disk the seeded key stands twice for a moment, and the rest is room for the store.
fn needs(parameters: &ParameterSet) -> (u64, u64) {
    let s = parameters.spec();
    let rows = (s.lwe_dimension.0 * s.glwe_dimension.glwe_size() * s.pbs.level_count.0) as u64;
    let size = s.polynomial_size.get() as u64;
    let seeded = rows * size * s.torus.bytes() as u64;
    // Sized by what a key of 64-bit words takes, the most that any back end needs.
    (s.loaded_key_bytes(Backend::Ntt) * 8 / 5 + (64 << 20), 57 * seeded / 10 + (16 << 20))
}

/// Refuses to start a run that would fail halfway.
pub(super) fn check(parameters: &ParameterSet, directory: &Path) -> Result<(), CliError> {
    let (memory, disk) = needs(parameters);
    let smaller = "try a smaller set, such as --params MESSAGE_4_2M64 or --params TEST_SMALL_U64";
    if let Some(free) = free_memory().filter(|&free| free < memory) {
        let what = format!("{} needs {memory} bytes of memory and {free} are free; {smaller}", parameters.name);
        return Err(CliError::Resources(what));
    }
    files::require_space(&[(&directory.join("store"), disk)]).map_err(|error| match error {
        ClientError::NoSpace { needed, free, .. } => CliError::Resources(format!(
            "{} needs {needed} bytes of disk and {} has {free} free; choose another --dir, or {smaller}",
            parameters.name,
            directory.display()
        )),
        other => other.into(),
    })
}

/// The smaller of the kernel's available memory and the rest of the control group's limit, in bytes; none if neither can be read.
fn free_memory() -> Option<u64> {
    let group =
        |file: &str| fs::read_to_string(Path::new("/sys/fs/cgroup").join(file)).ok()?.trim().parse::<u64>().ok();
    let left = group("memory.max").and_then(|max| Some(max.saturating_sub(group("memory.current")?)));
    let available = machine::proc_bytes("/proc/meminfo", "MemAvailable:");
    [left, available].into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ciphermill_tfhe::SecurityPolicy;

    fn needs_of(name: &str) -> (u64, u64) {
        let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
        needs(&ParameterSet::named(name, policy).expect("a named set"))
    }

    #[test]
    fn the_papers_dimensions_need_4_and_6_gigabytes() {
        let (memory, disk) = needs_of("NVME_TFHE_PAPER");
        assert!((3_900_000_000..4_100_000_000).contains(&memory), "{memory}");
        assert!((5_900_000_000..6_100_000_000).contains(&disk), "{disk}");
        let (memory, disk) = needs_of("MESSAGE_4_2M64");
        assert!(memory < 500_000_000 && disk < 1_000_000_000, "{memory} {disk}");
    }

    #[test]
    fn the_system_tells_what_is_free() {
        assert!(free_memory().expect("a /proc") > 1 << 20);
    }
}
