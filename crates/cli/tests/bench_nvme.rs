//! `bench nvme` as an operator runs it: with its default number of hosts, and the shortest loads.

use crate::support::Bench;

/// Every idle host has its connections, and all results are right.
#[test]
fn all_default_hosts_connect_and_every_load_is_measured() {
    let bench = Bench::new();
    let record = bench.run(["bench", "nvme", "--json", "--seconds", "1", "--samples", "2"]).json();
    assert_eq!(record["correct"], true, "{record}");
    let records = record["records"].as_array().unwrap_or_else(|| panic!("no records: {record}"));
    let has =
        |case: &str| records.iter().any(|record| record["case"].as_str().is_some_and(|name| name.starts_with(case)));
    for case in ["nvme/idle/64hosts", "nvme/compute-on-write/table5", "nvme/read/4k", "raw/fdatasync/4k"] {
        assert!(has(case), "{case} is missing: {record}");
    }
}
