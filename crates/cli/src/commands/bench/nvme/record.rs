//! The records of a run, their targets, and their table.

use std::fmt;
use std::time::Duration;

use ciphermill_math::Isa;
use serde::Serialize;

use super::super::Record;
use super::super::samples::Samples;
use super::placement::Placement;
use crate::error::CliError;
use crate::machine::{Machine, peak_rss_bytes};
use crate::output::{self, human_time};

#[derive(Serialize)]
pub(super) struct Params {
    pub(super) block_bytes: u64,
    pub(super) depth: usize,
}

/// The target of a case on loopback and two cores. Rates are medians of the windows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Asked {
    /// The minimum number of commands per second.
    OpsPerS(f64),
    /// The minimum number of bytes per second.
    BytesPerS(f64),
    /// The maximum added time beyond the floor, in nanoseconds.
    AddedBeyondFloorNs(i64),
    /// At most this share of one core.
    CpuShare(f64),
}

impl Asked {
    fn is_met(self, more: &More) -> bool {
        match self {
            Self::OpsPerS(least) => more.ops_per_s.is_some_and(|rate| rate >= least),
            Self::BytesPerS(least) => more.bytes_per_s.is_some_and(|rate| rate >= least),
            Self::AddedBeyondFloorNs(most) => {
                let floor = more.floor_ns.and_then(|floor| i64::try_from(floor).ok());
                more.added_ns.zip(floor).is_some_and(|(added, floor)| added - floor <= most)
            }
            Self::CpuShare(most) => more.cpu_share.is_some_and(|share| share <= most),
        }
    }
}

impl fmt::Display for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OpsPerS(least) => write!(f, "≥ {least:.0}/s"),
            Self::BytesPerS(least) => write!(f, "≥ {}", rate_of_bytes(*least)),
            Self::AddedBeyondFloorNs(most) => write!(f, "≤ floor + {}", signed_time(*most)),
            Self::CpuShare(most) => write!(f, "≤ {}", share(*most)),
        }
    }
}

/// The fields of these records only; `null` where a case does not have them.
#[derive(Default, Serialize)]
pub(super) struct More {
    pub(super) placement: Placement,
    /// Commands per second: the median window.
    pub(super) ops_per_s: Option<f64>,
    pub(super) bytes_per_s: Option<f64>,
    pub(super) p99_ns: Option<u64>,
    /// What serving adds to a program: the served median less the bare one.
    pub(super) added_ns: Option<i64>,
    /// The machine's time for one such step without a server, in nanoseconds.
    pub(super) floor_ns: Option<u64>,
    /// The same as bytes per second.
    pub(super) floor_bytes_per_s: Option<f64>,
    pub(super) floor: &'static str,
    /// Share of one core, for idle hosts.
    pub(super) cpu_share: Option<f64>,
    pub(super) asked: Option<Asked>,
    pub(super) met: Option<bool>,
}

impl More {
    fn result(&self) -> String {
        match *self {
            Self { added_ns: Some(added), .. } => format!("{} added", signed_time(added)),
            Self { cpu_share: Some(used), .. } => share(used),
            Self { asked: Some(Asked::BytesPerS(_)), bytes_per_s: Some(rate), .. } => rate_of_bytes(rate),
            Self { ops_per_s: Some(rate), .. } => format!("{rate:.0}/s"),
            Self { bytes_per_s: Some(rate), .. } => rate_of_bytes(rate),
            _ => String::new(),
        }
    }

    fn floor(&self) -> String {
        match *self {
            Self { floor_ns: Some(ns), .. } => human_time(ns),
            Self { floor_bytes_per_s: Some(rate), .. } => rate_of_bytes(rate),
            _ => String::new(),
        }
    }
}

fn rate_of_bytes(rate: f64) -> String {
    format!("{:.2} GB/s", rate / 1e9)
}

fn share(of_a_core: f64) -> String {
    format!("{:.2} % of a core", of_a_core * 100.0)
}

fn signed_time(ns: i64) -> String {
    format!("{}{}", if ns < 0 { "-" } else { "" }, human_time(ns.unsigned_abs()))
}

pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

/// The median in nanoseconds, as records have it.
pub(super) fn median_ns(times: &[Duration]) -> u64 {
    let mut times = times.to_vec();
    times.sort_unstable();
    Samples { times, wrong: 0 }.min_and_median().1
}

/// The records of a run.
pub(super) struct Bench {
    machine: Machine,
    records: Vec<Record<Params, More>>,
    wrong: usize,
    /// How the CPUs were kept awake.
    awake_by: Option<&'static str>,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self { machine: Machine::this(), records: Vec::new(), wrong: 0, awake_by: None }
    }

    pub(super) fn awake_by(&mut self, by: Option<&'static str>) {
        self.awake_by = self.awake_by.or(by);
    }

    /// Adds the record of a case, whose name gets the placement as its last part.
    pub(super) fn push(&mut self, case: &str, params: Params, mut times: Vec<Duration>, wrong: usize, mut more: More) {
        times.sort_unstable();
        let p99 = times.get((times.len() * 99 / 100).min(times.len().saturating_sub(1)));
        more.p99_ns = p99.map(|time| time.as_nanos() as u64);
        more.met = more.asked.map(|asked| asked.is_met(&more));
        let samples = Samples { times, wrong };
        let (min_ns, median_ns) = samples.min_and_median();
        self.wrong += wrong;
        self.records.push(Record {
            schema: "ciphermill-bench/1",
            case: format!("{case}/{}", more.placement.name()),
            params,
            isa: Some(Isa::current().name()),
            threads: self.machine.threads,
            samples: samples.times.len(),
            min_ns,
            median_ns,
            peak_rss_bytes: peak_rss_bytes(),
            correct: wrong == 0,
            kind: "measured",
            machine: self.machine.clone(),
            more,
        });
    }

    /// Shows the records; an error if a result was wrong. A figure that was not reached is none.
    pub(super) fn tell(&self, as_json: bool) -> Result<(), CliError> {
        let mut table = output::table(["case", "median", "p99", "result", "asked", "met", "floor", "of what"]);
        for record in &self.records {
            let more = &record.more;
            let timed = |ns: u64| if record.samples == 0 { String::new() } else { human_time(ns) };
            table.add_row([
                record.case.clone(),
                timed(record.median_ns),
                more.p99_ns.map(human_time).unwrap_or_default(),
                more.result(),
                more.asked.map(|asked| asked.to_string()).unwrap_or_default(),
                more.met.map_or("", |met| if met { "yes" } else { "no" }).to_owned(),
                more.floor(),
                more.floor.to_owned(),
            ]);
        }
        let record = serde_json::json!({
            "correct": self.wrong == 0, "awake_by": self.awake_by, "records": self.records,
        });
        let awake = self.awake_by.map_or(String::new(), |by| format!("; kept awake by threads of {by}"));
        output::result(as_json, &record, &format!("{table}\nmeasured on {}{awake}", self.machine.cpu))?;
        match self.wrong {
            0 => Ok(()),
            wrong => Err(CliError::WrongResults { wrong }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn met(asked: Asked, more: More) -> bool {
        let mut bench = Bench::new();
        let params = Params { block_bytes: 4096, depth: 1 };
        bench.push("case", params, vec![Duration::from_nanos(5)], 0, More { asked: Some(asked), ..more });
        assert_eq!(bench.records[0].case, "case/free");
        bench.records[0].more.met.expect("something is asked")
    }

    #[test]
    fn what_is_asked_is_met_at_its_bound_and_not_beyond() {
        let rate = |rate| More { ops_per_s: Some(rate), bytes_per_s: Some(rate * 4096.0), ..More::default() };
        assert!(met(Asked::OpsPerS(15e3), rate(15e3)) && !met(Asked::OpsPerS(15e3), rate(14_999.0)));
        assert!(met(Asked::BytesPerS(4096.0), rate(1.0)) && !met(Asked::BytesPerS(4097.0), rate(1.0)));
        let added = |added| More { added_ns: Some(added), floor_ns: Some(500), ..More::default() };
        let asked = Asked::AddedBeyondFloorNs(1000);
        assert!(met(asked, added(1500)) && met(asked, added(-3)) && !met(asked, added(1501)));
        let idle = |share| More { cpu_share: Some(share), ..More::default() };
        assert!(met(Asked::CpuShare(0.01), idle(0.01)) && !met(Asked::CpuShare(0.01), idle(0.011)));
    }

    #[test]
    fn a_figure_that_could_not_be_taken_is_not_met() {
        for asked in
            [Asked::OpsPerS(0.0), Asked::BytesPerS(0.0), Asked::AddedBeyondFloorNs(i64::MAX), Asked::CpuShare(1.0)]
        {
            assert!(!met(asked, More::default()), "{asked}");
        }
    }

    #[test]
    fn the_medians_are_of_the_sorted_values() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median_ns(&[9, 1, 4, 2].map(Duration::from_nanos)), 3);
        assert_eq!(median_ns(&[]), 0);
    }
}
