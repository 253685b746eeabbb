//! The results of the comparison: a record for each program that took the RTL's cycles, in docs/arch/lane.json, and the
//! table of docs/hw/rvfhe_lane.md. `CIPHERMILL_WRITE_DOCS=1` writes both; without it they are compared.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ciphermill_arch::record::{Label, Record};
use ciphermill_cosim::Configuration;

/// The configurations that the file has, as the table has its columns.
const CONFIGURATIONS: [&str; 3] = ["l4_a2", "l4_a1", "l32_a2"];
const FILE: &str = "docs/arch/lane.json";
const PAGE: &str = "docs/hw/rvfhe_lane.md";

/// Programs that were compared, cycles from the first issue of each core that was, to its last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Compared {
    /// Programs.
    pub programs: u64,
    /// Their cores.
    pub cores: u64,
    /// Instructions that issued.
    pub issues: u64,
    /// Cycles in the model.
    pub cycles: u64,
    /// Cycles in the RTL, counted there.
    pub cycles_rtl: u64,
}

impl Compared {
    pub(crate) fn add(&mut self, other: Self) {
        self.programs += other.programs;
        self.cores += other.cores;
        self.issues += other.issues;
        self.cycles += other.cycles;
        self.cycles_rtl += other.cycles_rtl;
    }

    /// `arch-lane/<configuration>/<case>`.
    pub(crate) fn record(&self, configuration: &Configuration, case: &str) -> Record {
        let deviation = (self.cycles as f64 - self.cycles_rtl as f64) / self.cycles_rtl as f64;
        let case = format!("{}{case}", prefix(configuration));
        let mut record = Record::new(case, "lane", Label::RtlChecked, self.cycles)
            .with("lanes", configuration.parameter("Lanes"))
            .with("adders", configuration.parameter("Adders"))
            .with("programs", self.programs)
            .with("cores_compared", self.cores)
            .with("issues", self.issues)
            .with("cycles_rtl", self.cycles_rtl)
            .with("deviation", deviation);
        record.correct = Some(true);
        record
    }
}

fn prefix(configuration: &Configuration) -> String {
    format!("arch-lane/{}/", configuration.name)
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn writes() -> bool {
    std::env::var_os("CIPHERMILL_WRITE_DOCS").is_some_and(|value| value == "1")
}

/// Compares a configuration's records of a kind, which their cases begin with, with those of the file, or writes them there; and the page
/// with the file.
pub(crate) fn keep(configuration: &Configuration, kind: &str, records: &[Record]) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _one_at_a_time = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let path = root().join(FILE);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|_| "[]".to_owned());
    let mut all: Vec<Record> = serde_json::from_str(&text).expect("records");
    let begin = format!("{}{kind}", prefix(configuration));
    let (kept, mut others): (Vec<_>, _) = all.into_iter().partition(|record| record.case.starts_with(&begin));
    if !writes() {
        assert!(
            kept == records,
            "{FILE} has other records of {begin} than these; `make arch` writes them:\n{records:?}"
        );
        others.extend(kept);
        page(&others);
        return;
    }
    others.extend_from_slice(records);
    all = others;
    let place = |record: &Record| {
        let configuration =
            CONFIGURATIONS.iter().position(|name| record.case.starts_with(&format!("arch-lane/{name}/")));
        (configuration, record.case.ends_with("/random"))
    };
    all.sort_by_key(place);
    let lines: Vec<String> = all.iter().map(|record| serde_json::to_string(record).expect("JSON")).collect();
    std::fs::write(&path, format!("[\n{}\n]\n", lines.join(",\n"))).expect("it is written");
    page(&all);
}

/// The table of the page, from the records of the file.
fn page(records: &[Record]) {
    let total = |configuration: &str, random: bool| {
        let begin = format!("arch-lane/{configuration}/");
        let mut total = Compared::default();
        for record in
            records.iter().filter(|one| one.case.starts_with(&begin) && one.case.ends_with("/random") == random)
        {
            let number = |name: &str| record.params[name].as_u64().expect("a count");
            total.add(Compared {
                programs: number("programs"),
                cores: number("cores_compared"),
                issues: number("issues"),
                cycles: record.cycles,
                cycles_rtl: number("cycles_rtl"),
            });
        }
        total
    };
    let mut out =
        format!("\n| rtl-checked, fixed seed | `{}` |\n|{}\n", CONFIGURATIONS.join("` | `"), " --- |".repeat(4));
    for (what, random) in [("compiled transforms", false), ("random programs", true)] {
        let totals = CONFIGURATIONS.map(|configuration| total(configuration, random));
        type Count = fn(&Compared) -> u64;
        let rows: [(&str, Count); 5] = [
            ("number", |of| of.programs),
            ("cores that were compared", |of| of.cores),
            ("issues", |of| of.issues),
            ("cycles in the simulator", |of| of.cycles),
            ("cycles in the RTL", |of| of.cycles_rtl),
        ];
        for (row, of) in rows {
            let cells = totals.iter().map(|total| thousands(of(total))).collect::<Vec<_>>();
            writeln!(out, "| {what}: {row} | {} |", cells.join(" | ")).expect("a string");
        }
    }
    out.push('\n');
    keep_part("lane", &out);
}

/// As `111,919`.
fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group).into_owned());
    groups.collect::<Vec<_>>().join(",")
}

/// Compares the part of the page between two marks, or writes it there.
fn keep_part(name: &str, part: &str) {
    let path = root().join(PAGE);
    let text = std::fs::read_to_string(&path).expect("a page");
    let (begin, end) =
        (format!("<!-- {name} by crates/cosim/tests/array_lane -->\n"), format!("<!-- end of {name} -->"));
    let start = text.find(&begin).unwrap_or_else(|| panic!("{PAGE}: where {name} begins")) + begin.len();
    let stop = text.find(&end).unwrap_or_else(|| panic!("{PAGE}: where {name} ends"));
    if writes() {
        std::fs::write(&path, [&text[..start], part, &text[stop..]].concat()).expect("it is written");
        return;
    }
    assert!(&text[start..stop] == part, "{PAGE} has other {name} than these; `make arch` writes them:\n{part}");
}
