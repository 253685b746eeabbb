//! The counts of cores by name, and the records of runs.

use serde_json::{Map, Value};

use super::{Counts, Machine, Run};
use crate::record::{Label, Record};

impl Counts {
    /// Each count with its name in reports: first the issued instructions, then the cycles without a computation by
    /// cause.
    pub fn by_name(&self) -> [(&'static str, u64); 15] {
        // The pattern names every field, so that the compiler reports a counter that is missing here.
        let Self {
            butterflies,
            products,
            sums,
            row_loads,
            rows_read,
            scratchpad_loads,
            twiddle_loads,
            twiddle_broadcasts,
            scratchpad_stores,
            own_copies,
            remote_copies,
            no_instruction,
            operand,
            twiddle,
            unit,
        } = *self;
        [
            ("butterflies", butterflies),
            ("products", products),
            ("sums", sums),
            ("row_loads", row_loads),
            ("rows_read", rows_read),
            ("scratchpad_loads", scratchpad_loads),
            ("twiddle_loads", twiddle_loads),
            ("twiddle_broadcasts", twiddle_broadcasts),
            ("scratchpad_stores", scratchpad_stores),
            ("own_copies", own_copies),
            ("remote_copies", remote_copies),
            ("no_instruction", no_instruction),
            ("operand", operand),
            ("twiddle", twiddle),
            ("unit", unit),
        ]
    }
}

impl Run {
    /// The record of a run of arbitrary programs, without known results. `params.cores` contains the counts of each
    /// core.
    pub fn record(&self, machine: &Machine) -> Record {
        let lanes = machine.cores() * machine.core.lanes;
        let core = |(number, counts): (usize, &Counts)| {
            let counts = counts.by_name().map(|(name, count)| (name.to_owned(), count.into()));
            Value::Object(Map::from_iter([("core".to_owned(), number.into())].into_iter().chain(counts)))
        };
        Record::new(format!("arch-exec/p{lanes}"), &machine.name, Label::Simulated, self.cycles)
            .with("lanes", lanes)
            .with("launch", self.launch)
            .with("completed", self.completed)
            .with("link_cycles", self.link_cycles)
            .with("cores", self.counts.iter().enumerate().map(core).collect::<Vec<_>>())
    }
}
