//! Assertions of the dependences that a pragma declares to be absent, and that depend on data.
//!
//! The second access of a trusted pair may come before the first access of an earlier iteration. The module keeps the places of
//! the second access for as many cycles. When the first access comes, it must not meet one of them.

use std::fmt::Write as _;
use std::ops::RangeInclusive;

use super::kernel::Emission;
use super::vectors::{address_bits, vector};
use crate::analysis::{Layout, Trusted, is_registers};
use crate::compile::{Design, Scheduled};

impl Scheduled {
    /// For each number of iterations at which the second access of a trusted pair comes too early: by how many cycles it comes
    /// before the first access. The list is empty if the schedule keeps the order in any case.
    pub(crate) fn early(&self, design: &Design, one: &Trusted) -> Vec<u32> {
        let cycles = &self.schedule.accesses;
        let needed = one.why.cycles(&design.program.memories[self.kernel.accesses[one.first].memory]);
        let late = (cycles[one.first] + needed).saturating_sub(cycles[one.second]);
        let trips = self.kernel.loops.last().map_or(1, |one| one.trips) as u32;
        let apart = (1..trips).map(|apart| apart.saturating_mul(self.schedule.interval));
        apart.take_while(|apart| *apart < late).map(|apart| late - needed - apart).collect()
    }
}

impl Emission<'_> {
    /// The assertions of a kernel.
    pub(super) fn trusted(&self, out: &mut String) {
        let is_present = |one: &Trusted| self.scheduled.is_used(one.first) && self.scheduled.is_used(one.second);
        let pairs = self.scheduled.trusted.iter().filter(|one| is_present(one));
        let pairs: Vec<_> = pairs.map(|one| (one, self.scheduled.early(self.design, one))).collect();
        for (number, (one, early)) in pairs.iter().enumerate() {
            if let (Some(most), Some(least)) = (early.first(), early.last()) {
                self.pair(out, one, &format!("k{}_t{number}", self.number), *least..=*most);
            }
        }
    }

    /// A pair whose second access may come before the first access by this number of cycles.
    fn pair(&self, out: &mut String, one: &Trusted, signal: &str, cycles: RangeInclusive<u32>) {
        let (least, most) = (*cycles.start(), *cycles.end());
        let (name, line, interval) = (&self.memory(one.first).name, one.place.line, self.scheduled.schedule.interval);
        let bits = vector(self.place_bits(one.first));
        let _ = writeln!(out, "`ifndef SYNTHESIS");
        let _ = writeln!(out, "  // Line {line}: iterations are trusted not to depend on one another through {name}.");
        let _ = writeln!(out, "  logic {signal}_first;\n  logic{bits} {signal}_first_at;");
        let _ = writeln!(out, "  logic [{most}:0] {signal}_second;\n  logic [{most}:0]{bits} {signal}_second_at;");
        for (access, name, at) in [(one.first, "first", ""), (one.second, "second", "[0]")] {
            let _ = writeln!(out, "  assign {signal}_{name}{at} = {};", self.happens(access));
            let _ = writeln!(out, "  assign {signal}_{name}_at{at} = {};", self.place(access));
        }
        if most > 0 {
            self.history(out, signal, most);
        }
        let _ = writeln!(out, "  always_ff @(posedge clk_i or negedge rst_ni) begin");
        let _ =
            writeln!(out, "    if (rst_ni) for (int cycles = {least}; cycles <= {most}; cycles += {interval}) begin");
        let _ = writeln!(out, "      assert (!({signal}_first && {signal}_second[cycles] &&");
        let _ = writeln!(out, "                {signal}_first_at == {signal}_second_at[cycles]))");
        let _ = writeln!(out, "        else $error(\"two iterations meet in an element of {name}, line {line}\");");
        let _ = writeln!(out, "    end\n  end\n`endif\n");
    }

    /// The second accesses of earlier cycles.
    fn history(&self, out: &mut String, signal: &str, most: u32) {
        let run = self.if_run();
        let _ = writeln!(out, "  always_ff @(posedge clk_i or negedge rst_ni) begin");
        let _ = writeln!(out, "    if (!rst_ni) {signal}_second[{most}:1] <= '0;");
        let _ = writeln!(out, "    else {run}{signal}_second[{most}:1] <= {signal}_second[{}:0];", most - 1);
        let _ = writeln!(out, "  end\n  always_ff @(posedge clk_i) begin");
        let _ = writeln!(out, "    {run}{signal}_second_at[{most}:1] <= {signal}_second_at[{}:0];", most - 1);
        let _ = writeln!(out, "  end");
    }

    /// Whether an access happens in this cycle.
    fn happens(&self, access: usize) -> String {
        let cycle = self.scheduled.schedule.accesses[access];
        let condition = self.scheduled.kernel.accesses[access].condition;
        let condition = condition.map_or(String::new(), |node| format!(" && {}", self.at(node, cycle)));
        format!("k{}_valid[{cycle}]{condition}{}", self.number, self.and_run())
    }

    /// The bits of the bank and of the row of an access.
    fn parts(&self, access: usize) -> (u32, u32) {
        let (memory, layout) = (self.memory(access), Layout::of(self.memory(access)));
        let bank = if layout.banks > 1 { address_bits(layout.banks) } else { 0 };
        (bank, if is_registers(memory) { 0 } else { address_bits(layout.depth) })
    }

    fn place_bits(&self, access: usize) -> u32 {
        let (bank, row) = self.parts(access);
        (bank + row).max(1)
    }

    /// The bank and the row of an access as one number.
    fn place(&self, access: usize) -> String {
        let (cycle, address) = (self.scheduled.schedule.accesses[access], self.scheduled.addresses[access]);
        match self.parts(access) {
            (0, 0) => "1'b0".to_owned(),
            (bank, 0) => self.wide(address.bank, cycle, bank),
            (0, row) => self.wide(address.row, cycle, row),
            (bank, row) => {
                format!("{{{}, {}}}", self.wide(address.bank, cycle, bank), self.wide(address.row, cycle, row))
            }
        }
    }
}
