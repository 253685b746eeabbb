//! Metrics in Prometheus' text exposition format, version 0.0.4.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::fs;
use std::sync::Arc;

use ciphermill_blockspace::adapter::{BlockSpace, BlockSpaceMetrics};
use ciphermill_blockspace::volume::{SpaceUsage, Volume};
use ciphermill_nvme::server::TargetMetrics;

/// The text, family by family.
#[derive(Debug, Default)]
pub(super) struct Exposition(String);

impl Exposition {
    /// Text that has families of its own already.
    pub(super) fn append(&mut self, text: &str) {
        self.0.push_str(text);
    }

    fn family(&mut self, kind: &str, name: &str, help: &str) {
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    pub(super) fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family("gauge", name, help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    pub(super) fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.family("counter", name, help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    /// A family with one sample for each set of labels. Values of labels are escaped.
    pub(super) fn labelled<V: Display>(
        &mut self,
        kind: &str,
        name: &str,
        help: &str,
        samples: impl IntoIterator<Item = (Vec<(&'static str, String)>, V)>,
    ) {
        self.family(kind, name, help);
        for (labels, value) in samples {
            let labels: Vec<_> = labels.iter().map(|(label, text)| format!("{label}=\"{}\"", escaped(text))).collect();
            let _ = writeln!(self.0, "{name}{{{}}} {value}", labels.join(","));
        }
    }

    pub(super) fn into_text(self) -> String {
        self.0
    }
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// The counters of the NVMe target.
pub(super) fn target(out: &mut Exposition, metrics: &TargetMetrics) {
    for (name, help, value) in [
        ("connections", "TCP connections open, those before Connect included.", metrics.connections_open),
        ("hosts", "Hosts with a connection, or with commands of one that is gone.", metrics.hosts),
        ("controllers", "Controllers.", metrics.controllers),
        ("commands_under_way", "Commands that a namespace works on.", metrics.commands_under_way),
        ("buffer_bytes", "Bytes of data buffers in use.", metrics.buffer_bytes),
        (
            "buffer_peak_bytes",
            "The most bytes of data buffers that were in use at one time.",
            metrics.buffer_bytes_peak,
        ),
    ] {
        out.gauge(&format!("ciphermill_nvme_{name}"), help, value);
    }
    for (name, help, value) in [
        ("connections_total", "TCP connections accepted.", metrics.connections_total),
        ("connections_refused_total", "Connections that never came past Connect.", metrics.connections_refused),
        (
            "handshakes_refused_total",
            "Connections refused at once: their source had its share before Connect.",
            metrics.handshakes_refused,
        ),
        (
            "shares_refused_total",
            "Connects refused: the host's share was used up, or the rest was kept for others.",
            metrics.shares_refused,
        ),
        ("read_bytes_total", "Bytes of blocks that hosts read.", metrics.bytes_read),
        ("written_bytes_total", "Bytes of blocks that hosts wrote.", metrics.bytes_written),
        ("protocol_errors_total", "Connections ended because the host broke the protocol.", metrics.protocol_errors),
        ("timeouts_total", "Connections ended because the host was too slow.", metrics.timeouts),
        ("data_digest_errors_total", "Data digests that were wrong.", metrics.data_digest_errors),
        ("keep_alive_expiries_total", "Controllers whose keep-alive timeout ran out.", metrics.keep_alive_expiries),
    ] {
        out.counter(&format!("ciphermill_nvme_{name}"), help, value);
    }
    let of = |queue: &'static str, counts: &BTreeMap<u8, u64>| -> Vec<_> {
        let label = |opcode: u8| vec![("queue", queue.to_owned()), ("opcode", format!("{opcode:#04x}"))];
        counts.iter().map(|(&opcode, &count)| (label(opcode), count)).collect()
    };
    let commands = [of("admin", &metrics.admin_commands), of("io", &metrics.io_commands)].concat();
    out.labelled("counter", "ciphermill_nvme_commands_total", "Commands by queue and opcode.", commands);
    let errors = metrics.errors.iter().map(|(&kind, &count)| (vec![("type", status_type(kind).to_owned())], count));
    let help = "Commands that failed, by the type of their status.";
    out.labelled("counter", "ciphermill_nvme_command_errors_total", help, errors);
}

fn status_type(code: u8) -> &'static str {
    match code {
        0 => "generic",
        1 => "command_specific",
        2 => "media",
        3 => "path",
        7 => "vendor",
        _ => "other",
    }
}

/// The contents and counters of the volume of all namespaces.
pub(super) fn volume(out: &mut Exposition, volume: &Volume, namespaces: &[u32]) {
    let usages: Vec<_> = namespaces.iter().map(|&nsid| (nsid, volume.space_usage(nsid))).collect();
    type Field = fn(&SpaceUsage) -> u64;
    let fields: [(&str, &str, Field); 3] = [
        ("mapped_blocks", "Blocks that are mapped.", |usage| usage.mapped),
        ("data_blocks", "Blocks with content on the disk.", |usage| usage.data),
        ("labels", "Labels: objects that are bound or declared.", |usage| usage.labels),
    ];
    for (name, help, field) in fields {
        let samples = usages.iter().map(|(nsid, usage)| (vec![("namespace", nsid.to_string())], field(usage)));
        out.labelled("gauge", &format!("ciphermill_volume_{name}"), help, samples);
    }
    let (usage, metrics) = (volume.usage(), volume.metrics());
    for (name, help, value) in [
        ("file_bytes", "Length of the block file.", usage.file_bytes),
        ("free_bytes", "Free bytes within the block file.", usage.free_bytes),
        ("queued_bytes", "Bytes that wait to be written.", metrics.queued_bytes),
        ("failed", "1 when the medium failed to sync, so that nothing is written any more.", volume.is_failed().into()),
    ] {
        out.gauge(&format!("ciphermill_volume_{name}"), help, value);
    }
    for (name, help, value) in [
        ("groups_total", "Groups of changes made durable, each with one sync.", metrics.groups),
        ("changes_total", "Changes made durable.", metrics.changes),
        ("data_bytes_total", "Bytes of block content made durable.", metrics.data_bytes),
        ("written_bytes_total", "Bytes written to the block file.", metrics.written_bytes),
        ("refused_total", "Changes refused: busy, quota, no space, failed medium.", metrics.refused),
        ("checkpoints_total", "Checkpoints of the block map.", metrics.checkpoints),
    ] {
        out.counter(&format!("ciphermill_volume_{name}"), help, value);
    }
    for (name, help, nanoseconds) in [
        ("sync_seconds_total", "Time spent in syncs of the block file.", metrics.sync_ns),
        ("checkpoint_seconds_total", "Time spent in checkpoints.", metrics.checkpoint_ns),
        ("stall_seconds_total", "Time that changes waited for a checkpoint.", metrics.stall_ns),
    ] {
        out.counter(&format!("ciphermill_volume_{name}"), help, nanoseconds as f64 / 1e9);
    }
}

/// The contents and counters of each namespace.
pub(super) fn namespaces(out: &mut Exposition, namespaces: &[Arc<BlockSpace>]) {
    type Field = fn(&BlockSpaceMetrics) -> u64;
    let fields: [(&str, &str, &str, Field); 11] = [
        ("gauge", "bound_objects", "Objects that can be read at a place.", |m| m.bound),
        ("gauge", "declared_objects", "Objects declared whose blocks are awaited.", |m| m.declared),
        ("gauge", "bound_blocks", "Blocks of bound objects.", |m| m.bound_blocks),
        ("gauge", "sessions", "Results and open objects held for reading.", |m| m.sessions),
        ("counter", "completions_total", "Objects completed.", |m| m.completed),
        ("counter", "direct_completions_total", "Objects completed by a single command.", |m| m.completed_directly),
        ("counter", "failed_completions_total", "Completions that failed.", |m| m.failed),
        (
            "counter",
            "shares_refused_total",
            "Declarations and reservations refused: the host's share was used up.",
            |m| m.shares_refused,
        ),
        ("counter", "denied_total", "Commands refused, because the host lacks a right.", |m| m.denied),
        (
            "counter",
            "stored_without_program_total",
            "Objects of compute-on-write types that were stored as written: their key has no program.",
            |m| m.stored_without_program,
        ),
        (
            "counter",
            "computed_reads_total",
            "Reads of blocks that ran a program; reads by number of register are not counted here.",
            |m| m.computed_reads,
        ),
    ];
    let metrics: Vec<_> = namespaces.iter().map(|space| (space.space().0, space.metrics())).collect();
    for (kind, name, help, field) in fields {
        let samples = metrics.iter().map(|(nsid, metrics)| (vec![("namespace", nsid.to_string())], field(metrics)));
        out.labelled(kind, &format!("ciphermill_namespace_{name}"), help, samples);
    }
}

/// Memory of this process that is resident (proc(5), statm).
pub(super) fn resident_bytes() -> Option<u64> {
    let statm = fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    pages.checked_mul(rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_families_described() {
        let mut out = Exposition::default();
        out.gauge("a", "A thing.", 1);
        out.labelled("counter", "b_total", "B.", [(vec![("x", "q\"\\\n".to_owned()), ("y", "2".to_owned())], 0.5)]);
        let text = "# HELP a A thing.\n# TYPE a gauge\na 1\n# HELP b_total B.\n# TYPE b_total counter\n\
                    b_total{x=\"q\\\"\\\\\\n\",y=\"2\"} 0.5\n";
        assert_eq!(out.into_text(), text);
    }

    #[test]
    fn commands_and_errors_are_told_apart() {
        let mut metrics = TargetMetrics::default();
        metrics.admin_commands.insert(6, 2);
        metrics.io_commands.insert(2, 9);
        metrics.errors.insert(7, 1);
        let mut out = Exposition::default();
        target(&mut out, &metrics);
        let text = out.into_text();
        for line in [
            "ciphermill_nvme_commands_total{queue=\"admin\",opcode=\"0x06\"} 2",
            "ciphermill_nvme_commands_total{queue=\"io\",opcode=\"0x02\"} 9",
            "ciphermill_nvme_command_errors_total{type=\"vendor\"} 1",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
    }
}
