//! From DRAM to DRAM: two halves of the scratchpad take turns. While programs work on one, the other is emptied and filled. Where a run's
//! inputs and outputs take more than half of it, there is one part, and nothing overlaps.
//!
//! Analytic: a recurrence over the cycles that a simulated run took. Fills and drains take no port of the scratchpad and no link of its
//! networks, so that a run is not slowed down by them.

use super::Machine;

/// What a number of batches takes from DRAM to DRAM: analytic, over a simulated computation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DramRun {
    /// Cycles from the first byte read to the last one written.
    pub cycles: u64,
    /// Cycles of a batch once the halves take turns: from the end of the second computation to that of the last, each.
    pub steady: f64,
    /// Cycles that the bytes of a batch take at least.
    pub transfer: u64,
    /// Bytes of a batch that are read.
    pub bytes_in: u64,
    /// Bytes of a batch that are written.
    pub bytes_out: u64,
}

/// When each batch has been computed, and has been written.
struct Turns {
    read: u64,
    write: u64,
    computed: Vec<u64>,
    written: Vec<u64>,
}

/// Batches, each read, computed in `compute` cycles, and written; at least 3.
///
/// The transfers share the bandwidth of the memory and are served one behind the other: what is to be written goes before what is to be
/// read, as one of the `parts` of the scratchpad can only be filled when it is empty.
fn take_turns(machine: &Machine, parts: usize, [bytes_in, bytes_out]: [u64; 2], compute: u64, batches: usize) -> Turns {
    let rate = u64::from(machine.dram.bytes_per_cycle);
    let (read, write) = (bytes_in.div_ceil(rate), bytes_out.div_ceil(rate));
    let (launch, _) = super::control::launch(machine);
    let (mut there, mut computed, mut written) = (vec![0; batches], vec![0; batches], vec![0; batches]);
    let mut free = 0;
    for batch in 0..batches + parts {
        // As many batches behind as there are parts: its results leave, and make room for this one.
        if batch >= parts {
            let done: u64 = computed[batch - parts];
            free = done.max(free) + write;
            written[batch - parts] = free;
        }
        if batch < batches {
            free += read;
            there[batch] = free;
            let before = if batch > 0 { computed[batch - 1] } else { 0 };
            computed[batch] = there[batch].max(before) + launch + compute;
        }
    }
    Turns { read, write, computed, written }
}

/// Batches from DRAM to DRAM, each read, computed in `compute` cycles, and written; at least 3. A batch takes `vectors` of the scratchpad.
pub(super) fn dram_to_dram(
    machine: &Machine,
    vectors: u32,
    [bytes_in, bytes_out]: [u64; 2],
    compute: u64,
    batches: usize,
) -> DramRun {
    let batches = batches.max(3);
    let parts = if vectors <= machine.scratchpad.vectors / 2 { 2 } else { 1 };
    let Turns { read, write, computed, written } = take_turns(machine, parts, [bytes_in, bytes_out], compute, batches);
    // The last transfers have the memory to themselves: they say nothing of the rate.
    let steady = (computed[batches - 1] - computed[1]) as f64 / (batches - 2) as f64;
    DramRun { cycles: written[batches - 1], steady, transfer: read + write, bytes_in, bytes_out }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::array::CIPHERMILL;

    #[test]
    fn what_is_slower_sets_the_pace() {
        let machine = Machine::from_toml(CIPHERMILL).expect("a machine");
        // 32 KB in and out at 32 bytes a cycle: 2048 cycles, however short the computation is.
        let memory = dram_to_dram(&machine, 2048, [1 << 15, 1 << 15], 100, 20);
        assert_eq!((memory.transfer, memory.steady), (2048, 2048.0));
        // A memory that carries more in a cycle than there is carries no more than there is.
        let mut wide = machine.clone();
        wide.dram.bytes_per_cycle = 1 << 16;
        let wide = dram_to_dram(&wide, 2048, [1 << 15, 1 << 14], 100, 20);
        assert_eq!((wide.transfer, wide.bytes_in, wide.bytes_out), (2, 1 << 15, 1 << 14));
        // A long computation hides the transfers, but for its own start.
        let computation = dram_to_dram(&machine, 2048, [1 << 15, 1 << 15], 10_000, 20);
        let (launch, _) = super::super::control::launch(&machine);
        assert_eq!(computation.steady, (10_000 + launch) as f64);
        // Half of the scratchpad, and a vector more: then one waits for the other.
        let half = machine.scratchpad.vectors / 2;
        for (vectors, steady) in [(half, 10_000 + launch), (half + 1, 10_000 + launch + 2048)] {
            let run = dram_to_dram(&machine, vectors, [1 << 15, 1 << 15], 10_000, 20);
            assert_eq!(run.steady, steady as f64, "{vectors} vectors");
        }
    }
}
