//! The time from DRAM to DRAM. The two halves of the scratchpad alternate: while programs work on one, the other is
//! drained and filled. If the inputs and outputs of a run need more than half of the scratchpad, nothing overlaps.
//!
//! Analytic: a recurrence over the cycles of a simulated run. Transfers use no port of the scratchpad and no link of
//! its meshes, so they do not slow down a run.

use super::Machine;
use crate::trace::Trace;

/// The time of several batches from DRAM to DRAM: analytic, over a simulated computation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DramRun {
    /// Cycles from the first byte read to the last byte written.
    pub cycles: u64,
    /// Cycles per batch in steady state, from the end of the second computation to that of the last.
    pub steady: f64,
    /// The minimum cycles for the bytes of a batch.
    pub transfer: u64,
    /// Bytes of a batch that are read.
    pub bytes_in: u64,
    /// Bytes of a batch that are written.
    pub bytes_out: u64,
}

/// The cycles in which each batch has been read, computed and written.
struct Schedule {
    read: u64,
    write: u64,
    filled: Vec<u64>,
    computed: Vec<u64>,
    written: Vec<u64>,
}

/// Schedules at least one batch; each is read, computed in `compute` cycles, and written.
///
/// Transfers share the memory's bandwidth and are served one after another. Writes precede reads, because one of the
/// `parts` of the scratchpad can only be filled when it is empty.
fn schedule(
    machine: &Machine,
    parts: usize,
    [bytes_in, bytes_out]: [u64; 2],
    compute: u64,
    batches: usize,
) -> Schedule {
    let rate = u64::from(machine.dram.bytes_per_cycle);
    let (read, write) = (bytes_in.div_ceil(rate), bytes_out.div_ceil(rate));
    let (launch, _) = super::control::launch(machine);
    let (mut filled, mut computed, mut written) = (vec![0; batches], vec![0; batches], vec![0; batches]);
    let mut free = 0;
    for batch in 0..batches + parts {
        // The results of an earlier batch leave and make room for this one.
        if batch >= parts {
            let done: u64 = computed[batch - parts];
            free = done.max(free) + write;
            written[batch - parts] = free;
        }
        if batch < batches {
            free += read;
            filled[batch] = free;
            let before = if batch > 0 { computed[batch - 1] } else { 0 };
            computed[batch] = filled[batch].max(before) + launch + compute;
        }
    }
    Schedule { read, write, filled, computed, written }
}

/// The parts of the scratchpad that alternate, for a batch of this many vectors.
fn parts(machine: &Machine, vectors: u32) -> usize {
    if vectors <= machine.scratchpad.vectors / 2 { 2 } else { 1 }
}

/// The time of at least 3 batches from DRAM to DRAM; each is read, computed in `compute` cycles, and written. A batch
/// uses `vectors` vectors of the scratchpad.
pub(super) fn dram_to_dram(
    machine: &Machine,
    vectors: u32,
    [bytes_in, bytes_out]: [u64; 2],
    compute: u64,
    batches: usize,
) -> DramRun {
    let batches = batches.max(3);
    let parts = parts(machine, vectors);
    let Schedule { read, write, computed, written, .. } =
        schedule(machine, parts, [bytes_in, bytes_out], compute, batches);
    // The last transfers do not share the memory, so they do not count for the rate.
    let steady = (computed[batches - 1] - computed[1]) as f64 / (batches - 2) as f64;
    DramRun { cycles: written[batches - 1], steady, transfer: read + write, bytes_in, bytes_out }
}

/// Traces the transfers of the memory and the state of each part of the scratchpad. The time axis is separate: the
/// traced run is the computation of each batch and begins long after the first byte is read.
pub(super) fn timeline(
    machine: &Machine,
    vectors: u32,
    bytes: [u64; 2],
    compute: u64,
    batches: usize,
    trace: &mut Trace,
) {
    let parts = parts(machine, vectors);
    let batches_at = schedule(machine, parts, bytes, compute, batches);
    let process = format!("DRAM to DRAM, analytic, separate time axis; runs: {batches}");
    let memory = trace.track(&process, "DRAM");
    let parts: Vec<_> = (0..parts)
        .map(|part| trace.track(&process, &if parts == 2 { format!("half {part}") } else { "scratchpad".to_owned() }))
        .collect();
    for batch in 0..batches {
        let part = parts[batch % parts.len()];
        let run = [("run", batch as u64)];
        for (name, end, cycles) in [
            ("fill", batches_at.filled[batch], batches_at.read),
            ("drain", batches_at.written[batch], batches_at.write),
        ] {
            trace.slice(memory, name, end - cycles, cycles, &run);
            trace.slice(part, name, end - cycles, cycles, &run);
        }
        trace.slice(part, "compute", batches_at.computed[batch] - compute, compute, &run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::CIPHERMILL;

    /// Three runs of 100 cycles, 1024 to fill and 512 to drain. The memory is never idle; each half is filled, used and
    /// drained in turn; the last drain ends in the cycle of the recurrence.
    #[test]
    fn a_trace_has_the_turns_of_the_halves() {
        let machine = Machine::from_toml(CIPHERMILL).expect("a machine");
        let (bytes, launch) = ([1 << 15, 1 << 14], super::super::control::launch(&machine).0);
        let slices = |vectors: u32, wanted: &str| -> Vec<(String, u64, u64)> {
            let mut trace = Trace::new();
            timeline(&machine, vectors, bytes, 100, 3, &mut trace);
            let mut json = Vec::new();
            trace.write(&mut json).expect("a vector");
            let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
            let events = json["traceEvents"].as_array().expect("events");
            let named = |event: &&serde_json::Value| event["name"] == "thread_name" && event["args"]["name"] == wanted;
            let Some(track) = events.iter().find(named) else { return Vec::new() };
            let mine = events.iter().filter(|event| event["ph"] == "X" && event["tid"] == track["tid"]);
            let number = |value: &serde_json::Value| value.as_u64().expect("a number");
            let name = |event: &serde_json::Value| event["name"].as_str().expect("a name").to_owned();
            let mut mine: Vec<_> =
                mine.map(|event| (name(event), number(&event["ts"]), number(&event["dur"]))).collect();
            mine.sort_by_key(|(_, start, _)| *start);
            mine
        };
        let of = |name: &str, start: u64, long: u64| (name.to_owned(), start, long);
        // The second half is filled during the first computation. Writes precede reads.
        let memory = [
            of("fill", 0, 1024),
            of("fill", 1024, 1024),
            of("drain", 2048, 512),
            of("fill", 2560, 1024),
            of("drain", 3584, 512),
            of("drain", 4096, 512),
        ];
        assert_eq!(slices(2048, "DRAM"), memory);
        let half = [of("fill", 1024, 1024), of("compute", 2048 + launch, 100), of("drain", 3584, 512)];
        assert_eq!(slices(2048, "half 1"), half);
        assert_eq!(slices(2048, "half 0").len(), 6);
        let run = dram_to_dram(&machine, 2048, bytes, 100, 3);
        assert_eq!(memory.last().map(|(_, start, long)| start + long), Some(run.cycles));
        // A batch that exceeds a half makes the memory wait for the computation.
        let whole = slices(machine.scratchpad.vectors, "scratchpad");
        let wanted = [of("fill", 0, 1024), of("compute", 1024 + launch, 100), of("drain", 1124 + launch, 512)];
        assert_eq!(whole[..3], wanted);
        assert!(slices(machine.scratchpad.vectors, "half 0").is_empty());
    }

    #[test]
    fn what_is_slower_sets_the_pace() {
        let machine = Machine::from_toml(CIPHERMILL).expect("a machine");
        // 32 KB in and out at 32 bytes per cycle take 2048 cycles, however short the computation is.
        let memory = dram_to_dram(&machine, 2048, [1 << 15, 1 << 15], 100, 20);
        assert_eq!((memory.transfer, memory.steady), (2048, 2048.0));
        // A memory that is wider than the data transfers no more than the data.
        let mut wide = machine.clone();
        wide.dram.bytes_per_cycle = 1 << 16;
        let wide = dram_to_dram(&wide, 2048, [1 << 15, 1 << 14], 100, 20);
        assert_eq!((wide.transfer, wide.bytes_in, wide.bytes_out), (2, 1 << 15, 1 << 14));
        // A long computation hides the transfers, but not the launch.
        let computation = dram_to_dram(&machine, 2048, [1 << 15, 1 << 15], 10_000, 20);
        let (launch, _) = super::super::control::launch(&machine);
        assert_eq!(computation.steady, (10_000 + launch) as f64);
        // Half of the scratchpad, and one vector more: in the second case the transfers no longer overlap.
        let half = machine.scratchpad.vectors / 2;
        for (vectors, steady) in [(half, 10_000 + launch), (half + 1, 10_000 + launch + 2048)] {
            let run = dram_to_dram(&machine, vectors, [1 << 15, 1 << 15], 10_000, 20);
            assert_eq!(run.steady, steady as f64, "{vectors} vectors");
        }
    }
}
