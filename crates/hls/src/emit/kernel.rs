//! One kernel of a module: counters, valid bits, operations, registers, accesses.

use std::fmt::Write as _;

use super::Options;
use super::names::Names;
use super::products::{First, is_by_tiles};
use super::vectors::{address_bits, vector};
use crate::analysis::{Layout, is_registers, read_cycles};
use crate::compile::{Design, Scheduled};
use crate::ir::{Graph, Memory, Node, Op, Role, bits};
use crate::lifetimes::Lifetimes;
use crate::pragma::{Mode, Ports};

/// The emission of one kernel.
pub(super) struct Emission<'d> {
    pub(super) design: &'d Design,
    pub(super) options: &'d Options<'d>,
    pub(super) number: usize,
    pub(super) scheduled: &'d Scheduled,
    names: Names,
    lifetimes: Lifetimes,
}

impl<'d> Emission<'d> {
    pub(super) fn new(design: &'d Design, options: &'d Options<'d>, number: usize, scheduled: &'d Scheduled) -> Self {
        let names = Names::new(number, &scheduled.kernel);
        let lifetimes = Lifetimes::of(scheduled, &design.program.memories);
        Self { design, options, number, scheduled, names, lifetimes }
    }

    fn graph(&self) -> &'d Graph {
        &self.scheduled.kernel.graph
    }

    pub(super) fn memory(&self, access: usize) -> &'d Memory {
        &self.design.program.memories[self.scheduled.kernel.accesses[access].memory]
    }

    pub(super) fn is_stream(&self, access: usize) -> bool {
        self.memory(access).mode == Some(Mode::Stream)
    }

    /// Whether the value of a read is used. An element of a stream is taken even if its value is not used.
    fn is_read(&self, access: usize) -> bool {
        self.lifetimes.nodes().any(|node| self.graph().get(node).op == Op::Read(access))
    }

    /// The bits of a node's signal, and whether the highest one is a sign.
    fn width(&self, node: Node) -> (u32, bool) {
        self.scheduled.widths.get(self.graph(), node)
    }

    /// The bits of each operand of a product that it needs, and whether the highest one is a sign.
    fn factors(&self, product: Node, operands: [Node; 2]) -> [(u32, bool); 2] {
        self.scheduled.widths.factors(self.graph(), product, operands)
    }

    /// The accesses that the hardware has.
    pub(super) fn accesses(&self) -> impl Iterator<Item = (usize, &'d crate::ir::Access)> {
        let scheduled = self.scheduled;
        scheduled.kernel.accesses.iter().enumerate().filter(|(number, _)| scheduled.is_used(*number))
    }

    /// The signal of a node that the module computes without a register, and its bits.
    pub(super) fn wire(&self, node: Node) -> Option<(String, u32)> {
        let is_wire = match self.graph().get(node).op {
            Op::Const(_) | Op::Loop(_) | Op::Read(_) => false,
            _ => self.lifetimes.last(node).is_some() && self.scheduled.registers[node.index()] == 0,
        };
        is_wire.then(|| (self.names.of(node), self.width(node).0))
    }

    /// The cycle in which a node's operation reads its operands.
    fn begin(&self, node: Node) -> u32 {
        self.scheduled.schedule.nodes[node.index()].0 - self.scheduled.registers[node.index()]
    }

    /// The signal of a node in a cycle.
    pub(super) fn at(&self, node: Node, cycle: u32) -> String {
        if let Some(value) = self.graph().constant(node) {
            let (bits, signed) = self.width(node);
            return if signed { format!("-{bits}'sd{}", value.unsigned_abs()) } else { format!("{bits}'d{value}") };
        }
        let own = self.scheduled.schedule.nodes[node.index()].0;
        debug_assert!(cycle >= own, "a value before its cycle");
        if cycle == own { self.names.of(node) } else { format!("{}_c{cycle}", self.names.of(node)) }
    }

    /// The signal of a node in a cycle, in `to` bits.
    pub(super) fn wide(&self, node: Node, cycle: u32, to: u32) -> String {
        if let Some(value) = self.graph().constant(node) {
            let mask = u128::MAX >> 128u32.saturating_sub(to).min(127);
            return format!("{to}'d{}", value as u128 & mask);
        }
        let (bits, signed) = self.width(node);
        let text = self.at(node, cycle);
        match bits == to {
            true => text,
            false if signed && bits < to => format!("{to}'(signed'({text}))"),
            false => format!("{to}'({text})"),
        }
    }

    /// ` && kN_run`, if the kernel may stall.
    pub(super) fn and_run(&self) -> String {
        self.run().map(|signal| format!(" && {signal}")).unwrap_or_default()
    }

    /// `kN_run`, if the kernel may stall.
    pub(super) fn run(&self) -> Option<String> {
        self.scheduled.waits(self.design).then(|| format!("k{}_run", self.number))
    }

    /// `if (kN_run) `, if the kernel may stall.
    pub(super) fn if_run(&self) -> String {
        self.run().map(|signal| format!("if ({signal}) ")).unwrap_or_default()
    }

    pub(super) fn write(&self, out: &mut String) {
        let k = self.number;
        let kernel = &self.scheduled.kernel;
        let depth = self.scheduled.schedule.depth;
        let _ =
            writeln!(out, "  // Kernel {}: while k{k}_valid[i] is high, an iteration is in its cycle i.", kernel.name);
        self.declare_waiting(out);
        self.counters(out);
        let _ = writeln!(out, "  logic [{}:0] k{k}_valid;", depth - 1);
        let _ = writeln!(out, "  assign k{k}_valid[0] = k{k}_issue;");
        if depth > 1 {
            let (last, run) = (depth - 1, self.if_run());
            let _ = writeln!(out, "  always_ff @(posedge clk_i or negedge rst_ni) begin");
            let _ = writeln!(out, "    if (!rst_ni) k{k}_valid[{last}:1] <= '0;");
            let _ = writeln!(out, "    else {run}k{k}_valid[{last}:1] <= k{k}_valid[{}:0];", last - 1);
            let _ = writeln!(out, "  end");
        }
        // In the last cycle of the last iteration.
        let all = match depth {
            1 => format!("k{k}_all_q"),
            _ => format!("k{k}_all_q && k{k}_valid[{}:0] == '0{}", depth - 2, self.and_run()),
        };
        let _ = writeln!(out, "  assign ends[{k}] = active_q[{k}] && {all};\n");
        let late = self.late();
        // A name is declared before it is used.
        for &(node, own, last) in &late {
            let names: Vec<String> = (own + 1..=last).map(|cycle| self.at(node, cycle)).collect();
            for names in names.chunks(6) {
                let _ = writeln!(out, "  logic{} {};", vector(self.width(node).0), names.join(", "));
            }
        }
        for (number, access) in self.accesses() {
            let memory = self.memory(number);
            let held = matches!(memory.role, Role::Table(_)) || self.is_stream(number);
            if access.written.is_none() && held && self.is_read(number) {
                let _ = writeln!(out, "  logic{} k{k}_x{number}_q;", vector(memory.bits()));
            }
        }
        self.held(out);
        self.declare_multipliers(out);
        for (node, data) in self.graph().nodes().filter(|(node, _)| self.lifetimes.last(*node).is_some()) {
            self.node(out, node, data.op);
        }
        self.multipliers(out);
        self.delays(out, &late);
        self.connect(out);
        self.waiting(out);
        self.trusted(out);
    }

    /// The loops' variables.
    fn counters(&self, out: &mut String) {
        let k = self.number;
        let kernel = &self.scheduled.kernel;
        let schedule = &self.scheduled.schedule;
        let _ = writeln!(out, "  logic k{k}_issue, k{k}_all_q;");
        let wait = schedule.interval.max(1) - 1;
        let most_wait = wait + schedule.gap;
        let wait_bits = bits((0, i128::from(most_wait)));
        let active = self.design.is_active(k);
        if most_wait > 0 {
            let _ = writeln!(out, "  logic{} k{k}_wait_q;", vector(wait_bits));
            let _ = writeln!(out, "  assign k{k}_issue = {active} && !k{k}_all_q && k{k}_wait_q == '0;");
        } else {
            let _ = writeln!(out, "  assign k{k}_issue = {active} && !k{k}_all_q;");
        }
        let variable = |level: usize| {
            let of = |(node, data): (Node, &crate::ir::NodeData)| (data.op == Op::Loop(level)).then_some(node);
            self.graph().nodes().find_map(of)
        };
        // A loop of one iteration has a constant instead of a counter.
        let counter = |level: usize| variable(level).filter(|_| kernel.loops[level].trips > 1);
        let levels: Vec<(usize, Node)> =
            (0..kernel.loops.len()).filter_map(|level| Some((level, counter(level)?))).collect();
        let name = |node: Node| self.names.of(node);
        let number = |node: Node, value: i64| format!("{}'d{value}", self.width(node).0);
        let last = |level: usize| {
            kernel.loops[level].first + kernel.loops[level].step * (kernel.loops[level].trips as i64 - 1)
        };
        for &(_, node) in &levels {
            let _ = writeln!(out, "  logic{} {};", vector(self.width(node).0), name(node));
        }
        for (level, one) in kernel.loops.iter().enumerate().filter(|(_, one)| one.trips == 1) {
            if let Some(node) = variable(level).filter(|node| self.lifetimes.last(*node).is_some()) {
                let (bits, value) = (vector(self.width(node).0), number(node, one.first));
                let _ = writeln!(out, "  localparam logic{bits} {} = {value};", name(node));
            }
        }
        // Whether a level and all levels inside of it are at their last value.
        let ends = |from: usize| {
            let all: Vec<String> = levels
                .iter()
                .filter(|(level, _)| *level >= from)
                .map(|&(level, node)| format!("{} == {}", name(node), number(node, last(level))))
                .collect();
            if all.is_empty() { "1'b1".to_owned() } else { all.join(" && ") }
        };
        let reset = |out: &mut String| {
            let _ = writeln!(out, "      k{k}_all_q <= 1'b0;");
            if most_wait > 0 {
                let _ = writeln!(out, "      k{k}_wait_q <= '0;");
            }
            for &(level, node) in &levels {
                let _ = writeln!(out, "      {} <= {};", name(node), number(node, kernel.loops[level].first));
            }
        };
        let run = self.and_run();
        let _ = writeln!(out, "  always_ff @(posedge clk_i or negedge rst_ni) begin");
        let _ = writeln!(out, "    if (!rst_ni) begin");
        reset(out);
        let _ = writeln!(out, "    end else if (ends[{k}]) begin");
        reset(out);
        let _ = writeln!(out, "    end else if (k{k}_issue{run}) begin");
        let _ = writeln!(out, "      k{k}_all_q <= {};", ends(0));
        if most_wait > 0 {
            let innermost = kernel.loops.len().saturating_sub(1);
            let (long, short) = (format!("{wait_bits}'d{most_wait}"), format!("{wait_bits}'d{wait}"));
            let waits = if schedule.gap == 0 { short } else { format!("{} ? {long} : {short}", ends(innermost)) };
            let _ = writeln!(out, "      k{k}_wait_q <= {waits};");
        }
        for (position, &(level, node)) in levels.iter().enumerate() {
            let one = &kernel.loops[level];
            let (sign, step) = if one.step < 0 { ("-", -one.step) } else { ("+", one.step) };
            let at_end = format!("{} == {}", name(node), number(node, last(level)));
            let next = format!("{at_end} ? {} : {} {sign} {}", number(node, one.first), name(node), number(node, step));
            if position + 1 == levels.len() {
                let _ = writeln!(out, "      {} <= {next};", name(node));
            } else {
                let _ = writeln!(out, "      if ({}) {} <= {next};", ends(level + 1), name(node));
            }
        }
        if most_wait > 0 {
            let _ = writeln!(out, "    end else if (k{k}_wait_q != '0{run}) begin");
            let _ = writeln!(out, "      k{k}_wait_q <= k{k}_wait_q - 1'b1;");
        }
        let _ = writeln!(out, "    end\n  end");
    }

    fn node(&self, out: &mut String, node: Node, op: Op) {
        let (bits, _) = self.width(node);
        let (name, cycle) = (self.names.of(node), self.begin(node));
        let wide = |operand: Node| self.wide(operand, cycle, bits);
        // A comparison needs as many bits as its operands, and a sign if one of them has it.
        let compared = |a: Node, b: Node| {
            let (x, y) = (self.width(a), self.width(b));
            let signed = x.1 || y.1;
            let to = |of: (u32, bool)| of.0 + u32::from(signed && !of.1);
            let to = to(x).max(to(y));
            let of = |node: Node| {
                let text = self.wide(node, cycle, to);
                if signed { format!("signed'({text})") } else { text }
            };
            (of(a), of(b))
        };
        let text = match op {
            Op::Const(_) | Op::Loop(_) => return,
            Op::Read(access) => {
                let (all, text) = (self.memory(access).bits(), self.read(access));
                if all == bits { text } else { format!("{bits}'({text})") }
            }
            Op::Add(a, b) => format!("{} + {}", wide(a), wide(b)),
            Op::Sub(a, b) => format!("{} - {}", wide(a), wide(b)),
            Op::Mul(a, b) => format!("{} * {}", wide(a), wide(b)),
            Op::And(a, b) => format!("{} & {}", wide(a), wide(b)),
            Op::Or(a, b) => format!("{} | {}", wide(a), wide(b)),
            Op::Xor(a, b) => format!("{} ^ {}", wide(a), wide(b)),
            Op::Shl(a, b) => format!("{} << {}", wide(a), self.at(b, cycle)),
            Op::Shr(a, b) => {
                let (of_a, signed) = self.width(a);
                let from = of_a.max(bits);
                let shifted = self.wide(a, cycle, from);
                let by = self.at(b, cycle);
                if signed {
                    format!("{bits}'(signed'({shifted}) >>> {by})")
                } else {
                    format!("{bits}'({shifted} >> {by})")
                }
            }
            Op::Lt(a, b) => {
                let (a, b) = compared(a, b);
                format!("{a} < {b}")
            }
            Op::Eq(a, b) => {
                let (a, b) = compared(a, b);
                format!("{a} == {b}")
            }
            Op::Select(c, a, b) => {
                let condition = self.at(c, cycle);
                let condition = if self.width(c).0 == 1 { condition } else { format!("{condition} != '0") };
                format!("{condition} ? {} : {}", wide(a), wide(b))
            }
            // Divisions have been expanded.
            Op::Div(..) | Op::Rem(..) => return,
        };
        let (shared, cycles) = (self.shared_product(node, bits), self.scheduled.registers[node.index()]);
        if cycles == 0 || shared.is_some() {
            let text = shared.unwrap_or(text);
            let _ = writeln!(out, "  logic{} {name};\n  assign {name} = {text};", vector(bits));
            return;
        }
        let first = match op {
            Op::Mul(a, b) if is_by_tiles(self.factors(node, [a, b]), cycles) => {
                let [of_a, of_b] = self.factors(node, [a, b]).map(|(bits, _)| bits);
                // The wider operand is cut into the longer tiles.
                let mut operands = [(a, of_a), (b, of_b)];
                operands.sort_by_key(|(_, bits)| std::cmp::Reverse(*bits));
                First::Tiles(operands.map(|(operand, bits)| (self.wide(operand, cycle, bits), bits)))
            }
            _ => First::Operation(text),
        };
        first.declare(out, &name, bits, cycles);
        let result = first.result(&name, cycles);
        let _ = writeln!(out, "  logic{} {name};\n  assign {name} = {result};", vector(bits));
        first.write(out, &name, bits, cycles, self.run().as_deref());
    }

    /// The signal of the element that an access reads, in the cycle of its arrival.
    fn read(&self, access: usize) -> String {
        let memory = self.memory(access);
        let (cycle, address) = (self.scheduled.schedule.accesses[access], self.scheduled.addresses[access]);
        let banks = Layout::of(memory).banks;
        if matches!(memory.role, Role::Table(_)) || self.is_stream(access) {
            return format!("k{}_x{access}_q", self.number);
        }
        let at = cycle + read_cycles(memory);
        let from = if is_registers(memory) { format!("{}_q", memory.name) } else { self.data_of(memory) };
        let port = match memory.ports {
            Ports::TwoOfAny if !is_registers(memory) => format!("[{}]", self.scheduled.schedule.ports[access]),
            _ => String::new(),
        };
        let bank = if banks == 1 { "0".to_owned() } else { self.wide(address.bank, at, address_bits(banks)) };
        format!("{from}[{bank}]{port}")
    }

    /// Nodes that are used in later cycles, each with the cycle of its value and the last cycle of its use.
    fn late(&self) -> Vec<(Node, u32, u32)> {
        let of = |node: Node| {
            let own = self.scheduled.schedule.nodes[node.index()].0;
            (node, own, self.lifetimes.last(node).unwrap_or(own))
        };
        let nodes = self.lifetimes.nodes().map(of);
        nodes.filter(|(_, own, last)| last > own).collect()
    }

    /// Registers for values that are used in later cycles.
    fn delays(&self, out: &mut String, late: &[(Node, u32, u32)]) {
        if late.is_empty() {
            return;
        }
        let run = self.if_run();
        let open = if run.is_empty() { "" } else { "begin" };
        let _ = writeln!(out, "  always_ff @(posedge clk_i) begin");
        if !run.is_empty() {
            let _ = writeln!(out, "    {run}{open}");
        }
        for &(node, own, last) in late {
            for cycle in own + 1..=last {
                let _ = writeln!(out, "    {} <= {};", self.at(node, cycle), self.at(node, cycle - 1));
            }
        }
        if !run.is_empty() {
            let _ = writeln!(out, "    end");
        }
        let _ = writeln!(out, "  end");
    }

    /// The signals from accesses to their banks.
    fn connect(&self, out: &mut String) {
        let k = self.number;
        for (number, access) in self.accesses() {
            let (cycle, address) = (self.scheduled.schedule.accesses[number], self.scheduled.addresses[number]);
            let memory = self.memory(number);
            let layout = Layout::of(memory);
            let signal = format!("k{k}_x{number}");
            let what = if access.written.is_some() { "writes" } else { "reads" };
            let condition = access.condition.map_or(String::new(), |node| format!(" && {}", self.at(node, cycle)));
            if matches!(memory.role, Role::Table(_)) {
                let row = address_bits(memory.len());
                let from = format!("{}_at({})", memory.name, self.wide(address.row, cycle, row));
                let _ = writeln!(out, "  always_ff @(posedge clk_i) {}{signal}_q <= {from};", self.if_run());
                continue;
            }
            if is_registers(memory) && access.written.is_none() {
                continue;
            }
            let _ = writeln!(out, "  // Line {}: {what} {}.", access.place.line, memory.name);
            // The request of a stream does not depend on the stall signal.
            let run = if self.is_stream(number) { String::new() } else { self.and_run() };
            let _ = writeln!(out, "  logic {signal}_en;\n  assign {signal}_en = k{k}_valid[{cycle}]{condition}{run};");
            if let Some(written) = access.written {
                let bits = memory.bits();
                let data = self.wide(written, cycle, bits);
                let _ = writeln!(out, "  logic{} {signal}_data;\n  assign {signal}_data = {data};", vector(bits));
            }
            if self.is_stream(number) {
                if access.written.is_none() && self.is_read(number) {
                    let run = self.if_run();
                    let _ = writeln!(out, "  always_ff @(posedge clk_i) {run}{signal}_q <= {}_data_i;", memory.name);
                }
                continue;
            }
            if layout.banks > 1 {
                let bits = address_bits(layout.banks);
                let bank = self.wide(address.bank, cycle, bits);
                let _ = writeln!(out, "  logic{} {signal}_bank;\n  assign {signal}_bank = {bank};", vector(bits));
            }
            if !is_registers(memory) {
                let bits = address_bits(layout.depth);
                let row = self.wide(address.row, cycle, bits);
                let _ = writeln!(out, "  logic{} {signal}_row;\n  assign {signal}_row = {row};", vector(bits));
            }
        }
        out.push('\n');
    }
}
