//! The memory that this process may use.

use rustix::process::{Resource, getrlimit};
use std::{fs, path::Path};

/// The least of the machine's memory, the limits of the process's control groups, and its limits of address space and data,
/// in bytes.
pub(super) fn memory_bytes() -> u64 {
    let machine = rustix::system::sysinfo();
    let machine = (machine.totalram as u64).saturating_mul(u64::from(machine.mem_unit));
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let groups = group_limit(Path::new("/sys/fs/cgroup"), &groups);
    let own = [Resource::As, Resource::Data].into_iter().filter_map(|resource| getrlimit(resource).current);
    own.chain(groups).fold(machine, u64::min)
}

/// The least limit of memory among the control groups that `groups` (the text of `/proc/self/cgroup`) names and those above
/// them, in the hierarchy mounted at `mounted`. A group without a limit has none.
fn group_limit(mounted: &Path, groups: &str) -> Option<u64> {
    let limits = groups.lines().flat_map(|line| {
        let mut fields = line.splitn(3, ':').skip(1);
        let (controllers, path) = (fields.next().unwrap_or(""), fields.next().unwrap_or("/"));
        let (root, file) = match controllers {
            "" => (mounted.to_owned(), "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                (mounted.join("memory"), "memory.limit_in_bytes")
            }
            _ => return Vec::new(),
        };
        let group = root.join(path.trim_start_matches('/'));
        let above = group.ancestors().take_while(|directory| directory.starts_with(&root));
        above.filter_map(|directory| fs::read_to_string(directory.join(file)).ok()?.trim().parse().ok()).collect()
    });
    limits.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_of_the_groups_above_counts() {
        let directory = tempfile::tempdir().expect("a directory");
        let write = |path: &str, text: &str| {
            let file = directory.path().join(path);
            fs::create_dir_all(file.parent().expect("below the directory")).expect("made");
            fs::write(file, text).expect("written");
        };
        write("system.slice/memory.max", "4096\n");
        write("system.slice/own.service/memory.max", "8192\n");
        write("user.slice/memory.max", "max\n");
        write("memory/old/memory.limit_in_bytes", "1000\n");
        let limit = |groups: &str| group_limit(directory.path(), groups);
        assert_eq!(limit("0::/system.slice/own.service\n"), Some(4096));
        assert_eq!(limit("0::/user.slice\n"), None);
        assert_eq!(limit("5:cpu,memory:/old/below\n4:cpu:/system.slice\n"), Some(1000));
        assert_eq!(limit("0::/system.slice\n5:memory:/old\n"), Some(1000));
        assert_eq!(limit(""), None);
        assert!(memory_bytes() > 0);
    }
}
