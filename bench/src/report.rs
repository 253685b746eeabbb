//! Rows, the results file and the tables.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use ciphermill_bench_peers::Peer;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::Failure;
use crate::harness::{Clock, Stats};
use crate::machine::{Machine, said_by};

/// Of each row.
const SCHEMA: &str = "ciphermill-side-by-side/1";

/// Ours beside one peer.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Row {
    schema: &'static str,
    pub(crate) case: String,
    params: Map<String, Value>,
    pub(crate) isa: &'static str,
    threads: usize,
    samples: usize,
    ours_ns: f64,
    min_ns: f64,
    median_ns: f64,
    pub(crate) peer: &'static str,
    peer_version: &'static str,
    peer_licence: &'static str,
    peer_threads: usize,
    peer_ns: f64,
    peer_median_ns: f64,
    ratio: f64,
    pub(crate) correct: bool,
    kind: &'static str,
    cpu: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    note: String,
}

/// A time to a tenth of a nanosecond: more would be noise.
fn tenths(ns: f64) -> f64 {
    (ns * 10.0).round() / 10.0
}

/// What rows of one case have in common.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) params: Map<String, Value>,
    pub(crate) note: String,
}

impl Case {
    pub(crate) fn new(name: impl Into<String>, params: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        let params = params.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        Self { name: name.into(), params, note: String::new() }
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// A row; `isa` names our path, `threads` are ours and the peer's.
    pub(crate) fn row(
        &self,
        isa: &'static str,
        threads: (usize, usize),
        ours: Stats,
        peer: Peer,
        theirs: Stats,
        cpu: &str,
    ) -> Row {
        Row {
            schema: SCHEMA,
            case: self.name.clone(),
            params: self.params.clone(),
            isa,
            threads: threads.0,
            samples: ours.samples,
            ours_ns: tenths(ours.min_ns),
            min_ns: tenths(ours.min_ns),
            median_ns: tenths(ours.median_ns),
            peer: peer.name,
            peer_version: peer.version,
            peer_licence: peer.licence,
            peer_threads: threads.1,
            peer_ns: tenths(theirs.min_ns),
            peer_median_ns: tenths(theirs.median_ns),
            ratio: (theirs.min_ns / ours.min_ns * 1000.0).round() / 1000.0,
            correct: ours.correct && theirs.correct,
            kind: "measured",
            cpu: cpu.to_owned(),
            note: self.note.clone(),
        }
    }
}

/// What was measured, and what was not.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) rows: Vec<Row>,
    /// Cases without a row, with the reason.
    pub(crate) notes: Vec<String>,
}

impl Report {
    /// Adds a row and shows it at once: of the long runs, which would otherwise be silent for minutes.
    pub(crate) fn tell(&mut self, row: Row) {
        let (ours, theirs) = (time(row.ours_ns), time(row.peer_ns));
        eprintln!(
            "  {} {}, {} threads: {ours}, {} {theirs}, ratio {}",
            row.case, row.isa, row.threads, row.peer, row.ratio
        );
        self.rows.push(row);
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// Notes that one side does not offer a size of a kernel.
    pub(crate) fn lacks(&mut self, kernel: &str, side: &str, n: usize) {
        let start = format!("{kernel}: no row where {side} does not offer N = ");
        match self.notes.iter_mut().find(|note| note.starts_with(&start)) {
            Some(note) if note.ends_with(&format!(" {n}")) => {}
            Some(note) => note.push_str(&format!(", {n}")),
            None => self.notes.push(format!("{start}{n}")),
        }
    }

    /// The results file: its head indented, one row per line.
    pub(crate) fn to_json(
        &self,
        machine: &Machine,
        clock: Clock,
        started: &str,
        wall_s: u64,
    ) -> Result<String, Failure> {
        let records = [":!/bench/*.json", ":!/evidence"];
        let dirty = !said_by("git", &[&["status", "--porcelain", "--", ":/"][..], &records].concat()).is_empty();
        let commit = said_by("git", &["rev-parse", "HEAD"]) + if dirty { " with uncommitted changes" } else { "" };
        let command = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
        let mut text = String::from("{\n");
        let head = [
            ("schema", Value::from(SCHEMA)),
            ("command", Value::from(format!("ciphermill-bench {command}"))),
            ("commit", Value::from(commit)),
            ("started", Value::from(started)),
            ("wall_s", Value::from(wall_s)),
            ("clock", Value::from(clock.name())),
            ("machine", serde_json::to_value(machine)?),
            ("peers_compiled_with", Value::from("-C target-cpu=native")),
            ("notes", Value::from(self.notes.clone())),
        ];
        for (key, value) in head {
            writeln!(text, "  \"{key}\": {value},")?;
        }
        text.push_str("  \"rows\": [\n");
        for (i, row) in self.rows.iter().enumerate() {
            let comma = if i + 1 < self.rows.len() { "," } else { "" };
            writeln!(text, "    {}{comma}", serde_json::to_string(row)?)?;
        }
        text.push_str("  ]\n}\n");
        Ok(text)
    }

    /// A table for each group of families, which have peers of their own.
    pub(crate) fn tables(&self) -> Vec<Table> {
        let of = |prefix: &str| self.rows.iter().filter(|row| row.case.starts_with(prefix)).collect::<Vec<_>>();
        let groups = ["ntt-", "fft-", "hmvp", "modexp", "modmul", "paillier"];
        let rest = self.rows.iter().filter(|row| !groups.iter().any(|prefix| row.case.starts_with(prefix)));
        let [ntt, fft, hmvp, modexp, modmul, paillier] = groups.map(of);
        let groups = [ntt, fft, rest.collect(), hmvp, modexp, modmul, paillier];
        groups.iter().filter(|rows| !rows.is_empty()).map(|rows| Self::table(rows)).collect()
    }

    /// One line per case, path and number of threads: ours, and every peer with its ratio.
    fn table(rows: &[&Row]) -> Table {
        let mut peers: Vec<&str> = Vec::new();
        for row in rows {
            if !peers.contains(&row.peer) {
                peers.push(row.peer);
            }
        }
        let mut table = Table::new();
        table.load_style(presets::UTF8_FULL_CONDENSED).set_content_arrangement(ContentArrangement::Disabled);
        let head = ["case", "isa", "threads", "ours"].into_iter().map(str::to_owned);
        table.set_header(head.chain(peers.iter().flat_map(|&peer| [peer.to_owned(), "ratio".to_owned()])));
        for column in table.column_iter_mut().skip(2) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let mut lines: Vec<(&Row, BTreeMap<&str, &Row>)> = Vec::new();
        for &row in rows {
            let of_row = |line: &&mut (&Row, BTreeMap<&str, &Row>)| {
                (&line.0.case, line.0.isa, line.0.threads) == (&row.case, row.isa, row.threads)
            };
            match lines.iter_mut().find(of_row) {
                Some(line) => drop(line.1.insert(row.peer, row)),
                None => lines.push((row, BTreeMap::from([(row.peer, row)]))),
            }
        }
        for (row, by_peer) in lines {
            let mut cells = vec![row.case.clone(), row.isa.to_owned(), row.threads.to_string(), time(row.ours_ns)];
            for peer in &peers {
                match by_peer.get(peer) {
                    Some(row) if row.correct => cells.extend([time(row.peer_ns), format!("{:.2}", row.ratio)]),
                    Some(row) => cells.extend([time(row.peer_ns), "WRONG".to_owned()]),
                    None => cells.extend(["–".to_owned(), String::new()]),
                }
            }
            table.add_row(cells);
        }
        table
    }
}

fn time(ns: f64) -> String {
    match ns {
        ns if ns < 1e3 => format!("{ns:.0} ns"),
        ns if ns < 1e6 => format!("{:.2} µs", ns / 1e3),
        ns if ns < 1e9 => format!("{:.2} ms", ns / 1e6),
        ns => format!("{:.2} s", ns / 1e9),
    }
}
