//! SystemVerilog of a design.
//!
//! A module has start and done signals and the ports of its arrays. Each kernel has counters, a chain of valid bits, and its
//! operations. A value that is used in later cycles passes one register for each cycle. A kernel that reads or writes a stream
//! stalls as a whole while the stream stalls.

pub(crate) mod bench;
mod kernel;
mod memory;
mod names;
mod products;
mod sharing;
mod stall;
mod trusted;
mod vectors;
mod zeros;

use std::fmt::Write as _;

use crate::analysis::is_registers;
use crate::compile::{Design, Scheduled};
use crate::ir::{Memory, Role, bits};
use crate::pragma::Mode;
use crate::schedule::MULTIPLIER_BITS;
use kernel::Emission;
pub(crate) use products::{is_by_tiles, registers_of_tiles};
use vectors::{elements, vector};
pub use zeros::ZeroBits;

/// Where the banks of a function's arrays are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Memories {
    /// In the module. A host reads and writes them between runs. Arrays with a pragma `interface` are outside.
    #[default]
    Inside,
    /// Outside of the module. The module has the ports of the banks.
    Outside,
}

/// How a module is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options<'o> {
    /// The module's name: not a keyword, and not `prim_mul`, which is the name of the module in [`Design::parts`].
    pub name: &'o str,
    /// The name of the source, for the module's first line.
    pub source: &'o str,
    /// Where the banks of the function's arrays are.
    pub memories: Memories,
}

/// Characters of a line.
const LINE: usize = 120;

/// A module whose lines are not longer than [`LINE`], if they have spaces.
fn wrapped(module: &str) -> String {
    let mut out = String::with_capacity(module.len());
    for line in module.lines() {
        let indent = line.len() - line.trim_start().len();
        let mut rest = line;
        let mut begin = String::new();
        // A text in quotes must stay whole.
        while begin.len() + rest.len() > LINE && !line.contains('"') {
            let most = LINE - begin.len();
            let spaces = rest.match_indices(' ').map(|(at, _)| at).take_while(|at| *at < most);
            let Some(at) = spaces.last().filter(|at| *at > indent) else { break };
            let _ = writeln!(out, "{begin}{}", &rest[..at]);
            rest = rest[at..].trim_start();
            // A comment goes on as a comment, also one at the end of a line.
            let comment = if line[..line.len() - rest.len()].contains("//") { "// " } else { "    " };
            begin = format!("{}{comment}", " ".repeat(indent));
        }
        let _ = writeln!(out, "{begin}{rest}");
    }
    out
}

/// A port of the module.
struct Port {
    input: bool,
    bits: String,
    name: String,
    comment: String,
}

impl Port {
    fn new(input: bool, bits: impl Into<String>, name: impl Into<String>, comment: impl Into<String>) -> Self {
        Self { input, bits: bits.into(), name: name.into(), comment: comment.into() }
    }
}

impl Scheduled {
    /// Whether the kernel reads or writes a stream, and may therefore stall.
    pub(crate) fn waits(&self, design: &Design) -> bool {
        self.kernel.accesses.iter().any(|access| design.program.memories[access.memory].mode == Some(Mode::Stream))
    }
}

impl Design {
    /// The module.
    #[must_use]
    pub fn to_systemverilog(&self, options: &Options<'_>) -> String {
        let Options { name, source, .. } = options;
        // A file may have any name, and a line of the module ends its comment.
        let source = source.replace(char::is_control, "?");
        let mut out = String::new();
        let _ =
            writeln!(out, "// Compiled from {source} by `ciphermill hls compile`: change the source, not this file.");
        let _ = writeln!(out, "//");
        for one in &self.kernels {
            let schedule = &one.schedule;
            let _ = writeln!(
                out,
                "//   {}: {} iterations, one in {}, {} cycles each, {} in all",
                one.kernel.name,
                one.kernel.iterations(),
                if schedule.interval == 1 { "a cycle".to_owned() } else { format!("{} cycles", schedule.interval) },
                schedule.depth,
                schedule.cycles(&one.kernel)
            );
        }
        if self.parts().is_empty() {
            let _ = writeln!(out, "module {name} (");
        } else {
            let _ = writeln!(out, "module {name} #(");
            let tile = MULTIPLIER_BITS;
            let _ = writeln!(out, "  // Bits of the first factor of a multiplier (18 for an ECP5, 26 for a DSP48E2).");
            let _ = writeln!(out, "  parameter int unsigned TileA = {tile},");
            let _ = writeln!(out, "  // Bits of its second factor (18 for an ECP5, 17 for a DSP48E2).");
            let _ = writeln!(out, "  parameter int unsigned TileB = {tile}\n) (");
        }
        let mut ports = vec![
            Port::new(true, "", "clk_i", "Clock."),
            Port::new(true, "", "rst_ni", "Asynchronous reset, active low."),
            Port::new(true, "", "start_i", "Begins a run while idle_o is high."),
            Port::new(false, "", "idle_o", "No run is in progress."),
            Port::new(false, "", "done_o", "A run has ended in the cycle before."),
        ];
        for memory in &self.program.memories {
            ports.extend(self.ports_of(memory, options));
        }
        let type_of = |port: &Port| format!("{} logic{}", if port.input { "input " } else { "output" }, port.bits);
        let widest = ports.iter().map(|port| type_of(port).len()).max().unwrap_or(0);
        for (index, port) in ports.iter().enumerate() {
            let comma = if index + 1 < ports.len() { "," } else { "" };
            let _ = writeln!(out, "  {:widest$} {}{comma}  // {}", type_of(port), port.name, port.comment);
        }
        out.push_str(");\n");
        self.control(&mut out);
        for memory in &self.program.memories {
            self.storage(&mut out, memory, options);
        }
        for (index, kernel) in self.kernels.iter().enumerate() {
            Emission::new(self, options, index, kernel).write(&mut out);
        }
        for memory in &self.program.memories {
            self.arbitration(&mut out, memory, options);
        }
        self.length(&mut out);
        out.push_str("endmodule\n");
        wrapped(&out)
    }

    /// The number of cycles from `start_i` to `done_o`, if no stream stalls.
    #[must_use]
    pub fn run_cycles(&self) -> u64 {
        // The end of a kernel is detected in its last cycle, or one cycle later if an iteration has only one cycle.
        let of = |one: &Scheduled| one.schedule.cycles(&one.kernel) + u64::from(one.schedule.depth == 1);
        self.start_cycles() + self.kernels.iter().map(of).sum::<u64>()
    }

    /// The number of cycles from `start_i` to the first iteration: 0 or 1.
    #[must_use]
    pub fn start_cycles(&self) -> u64 {
        u64::from(!self.begins_at_once())
    }

    /// Whether the first iteration begins in the cycle of `start_i`. Values of parameters in registers are loaded in that cycle,
    /// and the ready signal of a stream must not depend on `start_i`, so in these cases it begins one cycle later.
    pub(crate) fn begins_at_once(&self) -> bool {
        let is_loaded = |memory: &Memory| memory.role == Role::Parameter && is_registers(memory);
        !self.program.memories.iter().any(is_loaded) && !self.kernels[0].waits(self)
    }

    /// The condition under which a kernel is active.
    fn is_active(&self, kernel: usize) -> String {
        match kernel {
            0 if self.begins_at_once() => "(active_q[0] || (idle_o && start_i))".to_owned(),
            _ => format!("active_q[{kernel}]"),
        }
    }

    /// The control, which runs the kernels one after another.
    fn control(&self, out: &mut String) {
        let count = self.kernels.len();
        let _ = writeln!(out, "  // The kernels, one after another.");
        let _ = writeln!(out, "  logic{} active_q, ends;", elements(count));
        let _ = writeln!(out, "  assign idle_o = active_q == '0;");
        let _ = writeln!(out, "  always_ff @(posedge clk_i or negedge rst_ni) begin");
        let _ = writeln!(out, "    if (!rst_ni) begin\n      active_q <= '0;\n      done_o   <= 1'b0;");
        let _ = writeln!(out, "    end else begin");
        let _ = writeln!(out, "      done_o   <= ends[{}];", count - 1);
        let first = match count {
            1 => "(idle_o && start_i)".to_owned(),
            _ => format!("{{ends[{}:0], idle_o && start_i}}", count - 2),
        };
        let _ = writeln!(out, "      active_q <= (active_q & ~ends) | {first};");
        let _ = writeln!(out, "    end\n  end\n");
    }

    /// An assertion that a run has as many cycles as the schedule.
    fn length(&self, out: &mut String) {
        if self.kernels.iter().any(|one| one.waits(self)) {
            return;
        }
        let cycles = self.run_cycles();
        let width = bits((0, i128::from(cycles) + 1));
        let _ = writeln!(out, "`ifndef SYNTHESIS");
        let _ = writeln!(out, "  // From start to done.");
        let _ = writeln!(out, "  logic{} cycles_q;", vector(width));
        let _ = writeln!(out, "  always_ff @(posedge clk_i or negedge rst_ni) begin");
        let _ = writeln!(out, "    if (!rst_ni) cycles_q <= '0;");
        let _ = writeln!(out, "    else cycles_q <= idle_o ? {width}'d1 : cycles_q + 1'b1;");
        let _ = writeln!(
            out,
            "    if (rst_ni && done_o) assert (cycles_q == {width}'d{cycles}) else $error(\"a run of another length\");"
        );
        let _ = writeln!(out, "  end\n`endif");
    }
}
