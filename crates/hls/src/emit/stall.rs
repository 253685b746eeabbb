//! The stall of a kernel while a stream stalls.
//!
//! All registers of the kernel keep their values. The registers at the ports of memories and the memories go on, so the data of
//! the cycle before the stall is held for the kernel.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::kernel::Emission;
use super::memory::returned_bits;
use crate::analysis::{is_block, is_registers};
use crate::compile::{Design, Scheduled};
use crate::ir::{Access, Memory, Role};
use crate::pragma::Mode;

impl Scheduled {
    /// Whether the kernel writes several streams. Then one of them may take its element earlier than another one.
    pub(super) fn has_sent(&self, design: &Design) -> bool {
        let memories = &design.program.memories;
        let writes_stream =
            |access: &&Access| access.written.is_some() && memories[access.memory].mode == Some(Mode::Stream);
        let streams: BTreeSet<usize> =
            self.kernel.accesses.iter().filter(writes_stream).map(|access| access.memory).collect();
        streams.len() > 1
    }
}

impl Emission<'_> {
    fn may_stall(&self) -> bool {
        self.scheduled.waits(self.design)
    }

    /// The accesses of each stream that the kernel reads, or of each one that it writes.
    fn streams(&self, written: bool) -> BTreeMap<&str, Vec<usize>> {
        let mut found: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        let is_meant = |number: usize| self.is_stream(number);
        for (number, access) in self.accesses().filter(|(number, _)| is_meant(*number)) {
            if access.written.is_some() == written {
                found.entry(&self.memory(number).name).or_default().push(number);
            }
        }
        found
    }

    pub(super) fn declare_waiting(&self, out: &mut String) {
        if self.may_stall() {
            let k = self.number;
            let _ = writeln!(out, "  logic k{k}_taken, k{k}_given, k{k}_run;");
        }
    }

    /// The signals that stall the kernel.
    pub(super) fn waiting(&self, out: &mut String) {
        if !self.may_stall() {
            return;
        }
        let k = self.number;
        let given: Vec<String> = self
            .streams(false)
            .into_iter()
            .flat_map(|(name, accesses)| {
                accesses.into_iter().map(move |number| format!("(!k{k}_x{number}_en || {name}_valid_i)"))
            })
            .collect();
        let taken: Vec<String> = self
            .streams(true)
            .into_iter()
            .flat_map(|(name, accesses)| {
                let sent = if self.scheduled.has_sent(self.design) {
                    format!(" || k{k}_of_{name}_sent_q")
                } else {
                    String::new()
                };
                accesses.into_iter().map(move |number| format!("(!k{k}_x{number}_en || {name}_ready_i{sent})"))
            })
            .collect();
        let all = |of: Vec<String>| if of.is_empty() { "1'b1".to_owned() } else { of.join(" && ") };
        let _ = writeln!(
            out,
            "  // The kernel runs if each stream offers the requested element and takes the written one."
        );
        if self.scheduled.has_sent(self.design) {
            self.sent(out);
        }
        let _ = writeln!(out, "  assign k{k}_given = {};", all(given));
        let _ = writeln!(out, "  assign k{k}_taken = {};", all(taken));
        let _ = writeln!(out, "  assign k{k}_run = k{k}_given && k{k}_taken;\n");
    }

    /// Whether each stream has taken its element in an earlier cycle of the stall.
    fn sent(&self, out: &mut String) {
        let k = self.number;
        for name in self.streams(true).keys() {
            let sent = format!("k{k}_of_{name}_sent_q");
            let _ = writeln!(out, "  logic {sent};\n  always_ff @(posedge clk_i or negedge rst_ni) begin");
            let _ = writeln!(out, "    if (!rst_ni) {sent} <= 1'b0;");
            let _ =
                writeln!(out, "    else {sent} <= !k{k}_run && ({sent} || ({name}_valid_o && {name}_ready_i));\n  end");
        }
    }

    /// The memories outside of registers that the kernel reads.
    fn read_memories(&self) -> BTreeMap<&str, &Memory> {
        let has_port = |memory: &Memory| !matches!(memory.role, Role::Table(_)) && !is_registers(memory);
        let reads = self.accesses().filter(|(number, access)| access.written.is_none() && !self.is_stream(*number));
        let memories = reads.map(|(number, _)| self.memory(number)).filter(|memory| has_port(memory));
        memories.map(|memory| (memory.name.as_str(), memory)).collect()
    }

    /// The elements that a memory returns to the kernel: for a block memory, behind its register.
    pub(super) fn data_of(&self, memory: &Memory) -> String {
        let (name, register) = (&memory.name, if is_block(memory) { "_q" } else { "" });
        match self.may_stall() {
            true => format!("k{}_of_{name}_data{register}", self.number),
            false if is_block(memory) => format!("{name}_read_data_q"),
            false => self.design.returned(memory, self.options),
        }
    }

    /// The data of memories, which a stall does not change.
    pub(super) fn held(&self, out: &mut String) {
        let (k, memories) = (self.number, self.read_memories());
        if !self.may_stall() || memories.is_empty() {
            return;
        }
        let _ = writeln!(out, "  // Whether the kernel was stalled in the cycle before, and the data of memories.");
        let _ = writeln!(out, "  logic k{k}_stalled_q;\n  always_ff @(posedge clk_i or negedge rst_ni) begin");
        let _ = writeln!(out, "    if (!rst_ni) k{k}_stalled_q <= 1'b0;\n    else k{k}_stalled_q <= !k{k}_run;\n  end");
        for (name, memory) in memories {
            let returned = self.design.returned(memory, self.options);
            let bits = returned_bits(memory);
            let (data, held) = (format!("k{k}_of_{name}_data"), format!("k{k}_of_{name}_held_q"));
            let _ = writeln!(out, "  logic{bits} {data}, {held};");
            let _ = writeln!(out, "  assign {data} = k{k}_stalled_q ? {held} : {};", returned);
            let _ = writeln!(out, "  always_ff @(posedge clk_i) {held} <= {data};");
            if is_block(memory) {
                let run = self.if_run();
                let _ = writeln!(out, "  logic{bits} {data}_q;\n  always_ff @(posedge clk_i) {run}{data}_q <= {data};");
            }
        }
    }
}
