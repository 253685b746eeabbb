//! SystemVerilog of a design.
//!
//! A module has a start and a done, the ports of the banks of its arrays, and for each kernel counters, a chain of valid bits
//! and the operations. A value that is needed in a later cycle than it comes passes registers, one for each cycle.

mod names;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crate::analysis::{Layout, is_registers};
use crate::compile::{Design, Scheduled};
use crate::ir::{Graph, Memory, Node, Op, Role, bits};
use crate::pragma::Ports;
use names::Names;

/// The bits of a node, and whether it can be below zero.
fn width(graph: &Graph, node: Node) -> (u32, bool) {
    let (least, most) = graph.range(node);
    if least < 0 { (bits((0, most.max(-1 - least))) + 1, true) } else { (bits((0, most)), false) }
}

/// Bits of an address of so many places.
fn address_bits(places: usize) -> u32 {
    bits((0, places.max(2) as i128 - 1))
}

/// The range of a vector's bits.
fn vector(bits: u32) -> String {
    if bits == 1 { String::new() } else { format!("[{}:0]", bits - 1) }
}

impl Design {
    /// The module, whose name is the function's.
    #[must_use]
    pub fn to_systemverilog(&self) -> String {
        let mut out = String::new();
        let name = &self.program.name;
        let _ = writeln!(out, "// Generated from C by ciphermill hls: change the source, not this file.");
        let _ = writeln!(out, "module {name} (");
        let mut ports = vec![
            ("input  logic".to_owned(), "clk_i".to_owned(), "Clock.".to_owned()),
            ("input  logic".to_owned(), "rst_ni".to_owned(), "Asynchronous reset, active low.".to_owned()),
            ("input  logic".to_owned(), "start_i".to_owned(), "Begins a run; counts while `idle_o` is high.".to_owned()),
            ("output logic".to_owned(), "idle_o".to_owned(), "No run is in progress.".to_owned()),
            ("output logic".to_owned(), "done_o".to_owned(), "A run ends: all results are written.".to_owned()),
        ];
        for memory in &self.program.memories {
            ports.extend(memory_ports(memory));
        }
        for (index, (kind, port, comment)) in ports.iter().enumerate() {
            let comma = if index + 1 < ports.len() { "," } else { "" };
            let _ = writeln!(out, "  {kind} {port}{comma}  // {comment}");
        }
        out.push_str(");\n");
        self.control(&mut out);
        for (index, memory) in self.program.memories.iter().enumerate() {
            self.storage(&mut out, index, memory);
        }
        for (index, kernel) in self.kernels.iter().enumerate() {
            Emission::new(self, index, kernel).write(&mut out);
        }
        for (index, memory) in self.program.memories.iter().enumerate() {
            self.arbitration(&mut out, index, memory);
        }
        out.push_str("endmodule\n");
        out
    }

    /// The kernels run one after another.
    fn control(&self, out: &mut String) {
        let count = self.kernels.len();
        let _ = writeln!(out, "  // The kernels, one after another.");
        let _ = writeln!(out, "  logic {} active_q, ends;", vector_of(count));
        let _ = writeln!(out, "  assign idle_o = active_q == '0;");
        let _ = writeln!(out, "  always_ff @(posedge clk_i or negedge rst_ni) begin");
        let _ = writeln!(out, "    if (!rst_ni) begin\n      active_q <= '0;\n      done_o   <= 1'b0;");
        let _ = writeln!(out, "    end else begin");
        let _ = writeln!(out, "      done_o <= ends[{}];", count - 1);
        let first = if count == 1 { "(idle_o && start_i)".to_owned() } else { format!("{{ends[{}:0], idle_o && start_i}}", count - 2) };
        let _ = writeln!(out, "      active_q <= (active_q & ~ends) | {first};");
        let _ = writeln!(out, "    end\n  end\n");
    }

    /// The registers of arrays that are built of them, and memories of the module's own.
    fn storage(&self, out: &mut String, index: usize, memory: &Memory) {
        let layout = Layout::of(memory);
        let (name, element) = (&memory.name, vector(memory.bits()));
        match &memory.role {
            Role::Table(elements) => {
                let banked = self.banked(memory, elements);
                let _ = writeln!(out, "  // The table {name}.");
                let _ = writeln!(out, "  function automatic logic {element} {name}_at(logic {} row);", vector(address_bits(banked.len())));
                let _ = writeln!(out, "    unique case (row)");
                for (row, value) in banked.iter().enumerate() {
                    let _ = writeln!(out, "      {}'d{row}: return {}'d{value};", address_bits(banked.len()), memory.bits());
                }
                let _ = writeln!(out, "      default: return '0;\n    endcase\n  endfunction\n");
            }
            _ if is_registers(memory) => {
                let _ = writeln!(out, "  logic [{}:0]{element} {name}_q;", layout.banks - 1);
            }
            Role::Parameter => {}
            _ => {
                let (banks, row) = (layout.banks, address_bits(layout.depth));
                let _ = writeln!(out, "  // The memory {name}: {banks} banks of {} elements.", layout.depth);
                let _ = writeln!(out, "  logic [{}:0] {name}_read_en, {name}_write_en;", banks - 1);
                let _ = writeln!(out, "  logic [{}:0]{} {name}_read_addr, {name}_write_addr;", banks - 1, vector(row));
                let _ = writeln!(out, "  logic [{}:0]{element} {name}_read_data, {name}_write_data;", banks - 1);
                let _ = writeln!(out, "  for (genvar bank = 0; bank < {banks}; bank++) begin : gen_{name}");
                let _ = writeln!(out, "    logic {element} elements[{}];", layout.depth);
                let _ = writeln!(out, "    always_ff @(posedge clk_i) begin");
                let _ = writeln!(out, "      if ({name}_read_en[bank]) {name}_read_data[bank] <= elements[{name}_read_addr[bank]];");
                let _ = writeln!(out, "      if ({name}_write_en[bank]) elements[{name}_write_addr[bank]] <= {name}_write_data[bank];");
                let _ = writeln!(out, "    end\n  end\n");
            }
        }
        let _ = index;
    }

    /// The elements of a table in the order of its rows; a table has one bank.
    fn banked<'e>(&self, _memory: &Memory, elements: &'e [i128]) -> &'e [i128] {
        elements
    }

    /// Which accesses use the ports of each bank.
    fn arbitration(&self, out: &mut String, index: usize, memory: &Memory) {
        if matches!(memory.role, Role::Table(_)) {
            return;
        }
        let layout = Layout::of(memory);
        let name = &memory.name;
        let mut reads = Vec::new();
        let mut writes = Vec::new();
        for (kernel, one) in self.kernels.iter().enumerate() {
            for (number, access) in one.kernel.accesses.iter().enumerate().filter(|(_, access)| access.memory == index) {
                let signal = format!("k{kernel}_x{number}");
                if access.written.is_some() { writes.push(signal) } else { reads.push(signal) }
            }
        }
        if is_registers(memory) {
            self.registers(out, memory, &writes, &layout);
            return;
        }
        let suffix = if memory.role == Role::Parameter { "_o" } else { "" };
        let _ = writeln!(out, "  // The ports of {name}.");
        let _ = writeln!(out, "  always_comb begin");
        for port in ["read_en", "read_addr", "write_en", "write_addr", "write_data"] {
            let _ = writeln!(out, "    {name}_{port}{suffix} = '0;");
        }
        for (kind, signals) in [("read", &reads), ("write", &writes)] {
            for signal in signals {
                let bank = if layout.banks == 1 { "0".to_owned() } else { format!("{signal}_bank") };
                let _ = writeln!(out, "    if ({signal}_en) begin");
                let _ = writeln!(out, "      {name}_{kind}_en{suffix}[{bank}] = 1'b1;");
                let _ = writeln!(out, "      {name}_{kind}_addr{suffix}[{bank}] = {signal}_row;");
                if kind == "write" {
                    let _ = writeln!(out, "      {name}_write_data{suffix}[{bank}] = {signal}_data;");
                }
                let _ = writeln!(out, "    end");
            }
        }
        let _ = writeln!(out, "  end\n");
    }

    fn registers(&self, out: &mut String, memory: &Memory, writes: &[String], layout: &Layout) {
        let name = &memory.name;
        let _ = writeln!(out, "  // The registers of {name}.");
        let _ = writeln!(out, "  always_ff @(posedge clk_i) begin");
        if memory.role == Role::Parameter {
            let _ = writeln!(out, "    if (idle_o && start_i) {name}_q <= {name}_i;");
        }
        for signal in writes {
            let bank = if layout.banks == 1 { "0".to_owned() } else { format!("{signal}_bank") };
            let _ = writeln!(out, "    if ({signal}_en) {name}_q[{bank}] <= {signal}_data;");
        }
        let _ = writeln!(out, "  end");
        if matches!(memory.role, Role::Parameter | Role::Result) {
            let _ = writeln!(out, "  assign {name}_o = {name}_q;");
        }
        out.push('\n');
    }
}

fn vector_of(count: usize) -> String {
    format!("[{}:0]", count - 1)
}

/// Direction and type, name, and comment of each port of an array.
fn memory_ports(memory: &Memory) -> Vec<(String, String, String)> {
    let layout = Layout::of(memory);
    let (name, banks) = (&memory.name, vector_of(layout.banks));
    let element = vector(memory.bits());
    let port = |direction: &str, bits: &str, suffix: &str, comment: &str| {
        (format!("{direction} logic {banks}{bits}"), format!("{name}_{suffix}"), format!("{name}: {comment}"))
    };
    match memory.role {
        Role::Parameter if is_registers(memory) => vec![
            port("input ", &element, "i", "elements at the start."),
            port("output", &element, "o", "elements at the end."),
        ],
        Role::Result => vec![port("output", &element, "o", "the function's value.")],
        Role::Parameter => {
            let row = vector(address_bits(layout.depth));
            debug_assert_eq!(memory.ports, Ports::ReadAndWrite);
            vec![
                port("output", "", "read_en_o", "a row of a bank is asked for."),
                port("output", &row, "read_addr_o", "the row."),
                port("input ", &element, "read_data_i", "its element, a cycle later."),
                port("output", "", "write_en_o", "a row of a bank is written."),
                port("output", &row, "write_addr_o", "the row."),
                port("output", &element, "write_data_o", "its element."),
            ]
        }
        Role::Local | Role::Table(_) => Vec::new(),
    }
}

/// The emission of one kernel.
struct Emission<'d> {
    design: &'d Design,
    number: usize,
    scheduled: &'d Scheduled,
    names: Names,
    /// The last cycle in which each node is needed.
    last: BTreeMap<Node, u32>,
}

impl<'d> Emission<'d> {
    fn new(design: &'d Design, number: usize, scheduled: &'d Scheduled) -> Self {
        let mut this =
            Self { design, number, scheduled, names: Names::new(number, &scheduled.kernel), last: BTreeMap::new() };
        this.uses();
        this
    }

    fn graph(&self) -> &'d Graph {
        &self.scheduled.kernel.graph
    }

    fn memory(&self, access: usize) -> &'d Memory {
        &self.design.program.memories[self.scheduled.kernel.accesses[access].memory]
    }

    /// The cycle in which a node's operation takes its operands.
    fn begin(&self, node: Node) -> u32 {
        let cycle = self.scheduled.schedule.nodes[node.index()].0;
        match self.graph().get(node).op {
            Op::Mul(..) => cycle - self.scheduled.registers[node.index()],
            _ => cycle,
        }
    }

    fn need(&mut self, node: Node, cycle: u32) {
        if self.graph().constant(node).is_some() {
            return;
        }
        let last = self.last.entry(node).or_insert(cycle);
        *last = (*last).max(cycle);
    }

    /// Finds what is needed, and until when.
    fn uses(&mut self) {
        let schedule = &self.scheduled.schedule;
        for (number, access) in self.scheduled.kernel.accesses.iter().enumerate() {
            let (cycle, address) = (schedule.accesses[number], self.scheduled.addresses[number]);
            let banks = Layout::of(self.memory(number)).banks;
            self.need(address.row, cycle);
            if banks > 1 {
                // What comes from the banks is selected a cycle later.
                let later = u32::from(access.written.is_none() && !is_registers(self.memory(number)));
                self.need(address.bank, cycle + later);
            }
            access.condition.into_iter().for_each(|condition| self.need(condition, cycle));
            access.written.into_iter().for_each(|written| self.need(written, cycle));
        }
        // Operands come before what uses them.
        let nodes: Vec<Node> = self.graph().nodes().map(|(node, _)| node).collect();
        for node in nodes.into_iter().rev() {
            if self.last.contains_key(&node) {
                let begin = self.begin(node);
                self.graph().get(node).op.operands().into_iter().for_each(|operand| self.need(operand, begin));
            }
        }
    }

    /// A node in a cycle.
    fn at(&self, node: Node, cycle: u32) -> String {
        if let Some(value) = self.graph().constant(node) {
            let (bits, signed) = width(self.graph(), node);
            return if signed { format!("-{bits}'sd{}", -value) } else { format!("{bits}'d{value}") };
        }
        let own = self.scheduled.schedule.nodes[node.index()].0;
        debug_assert!(cycle >= own, "a value before it is there");
        if cycle == own { self.names.of(node) } else { format!("{}_c{cycle}", self.names.of(node)) }
    }

    /// A node in a cycle, in so many bits.
    fn wide(&self, node: Node, cycle: u32, to: u32) -> String {
        let (bits, signed) = width(self.graph(), node);
        let text = self.at(node, cycle);
        match (self.graph().constant(node), bits == to) {
            (Some(value), _) => {
                let mask = if to >= 127 { i128::MAX } else { (1i128 << to) - 1 };
                format!("{to}'d{}", value & mask)
            }
            (None, true) => text,
            (None, false) if signed && bits < to => format!("{to}'(signed'({text}))"),
            (None, false) => format!("{to}'({text})"),
        }
    }

    fn write(&self, out: &mut String) {
        let k = self.number;
        let kernel = &self.scheduled.kernel;
        let schedule = &self.scheduled.schedule;
        let _ = writeln!(
            out,
            "  // Kernel {}: {} iterations, one in {} cycles, {} cycles long.",
            kernel.name,
            kernel.iterations(),
            schedule.interval,
            schedule.depth
        );
        self.counters(out);
        let depth = schedule.depth;
        let _ = writeln!(out, "  // An iteration is in its cycle i.");
        let _ = writeln!(out, "  logic [{depth}:0] k{k}_valid;");
        let _ = writeln!(out, "  assign k{k}_valid[0] = k{k}_issue;");
        let _ = writeln!(out, "  always_ff @(posedge clk_i or negedge rst_ni) begin");
        let _ = writeln!(out, "    if (!rst_ni) k{k}_valid[{depth}:1] <= '0;");
        let _ = writeln!(out, "    else k{k}_valid[{depth}:1] <= k{k}_valid[{}:0];", depth - 1);
        let _ = writeln!(out, "  end");
        let _ = writeln!(
            out,
            "  assign ends[{k}] = active_q[{k}] && k{k}_all_q && k{k}_valid[{}:0] == '0;\n",
            depth - 1
        );
        let late = self.late();
        // A name is declared before it is used.
        for &(node, own, last) in &late {
            let names: Vec<String> = (own + 1..=last).map(|cycle| self.at(node, cycle)).collect();
            let _ = writeln!(out, "  logic {} {};", vector(width(self.graph(), node).0), names.join(", "));
        }
        for (number, access) in self.scheduled.kernel.accesses.iter().enumerate() {
            if access.written.is_none() && matches!(self.memory(number).role, Role::Table(_)) {
                let _ = writeln!(out, "  logic {} k{k}_x{number}_q;", vector(self.memory(number).bits()));
            }
        }
        for (node, data) in self.graph().nodes().filter(|(node, _)| self.last.contains_key(node)) {
            self.node(out, node, data.op);
        }
        self.delays(out, &late);
        self.accesses(out);
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
        if most_wait > 0 {
            let _ = writeln!(out, "  logic {} k{k}_wait_q;", vector(wait_bits));
            let _ = writeln!(out, "  assign k{k}_issue = active_q[{k}] && !k{k}_all_q && k{k}_wait_q == '0;");
        } else {
            let _ = writeln!(out, "  assign k{k}_issue = active_q[{k}] && !k{k}_all_q;");
        }
        let variables: Vec<(Node, usize)> = self
            .graph()
            .nodes()
            .filter_map(|(node, data)| if let Op::Loop(level) = data.op { Some((node, level)) } else { None })
            .collect();
        let variable = |level: usize| variables.iter().find(|(_, other)| *other == level).map(|(node, _)| *node);
        let name = |level: usize| variable(level).map_or_else(String::new, |node| self.names.of(node));
        let last = |level: usize| {
            let one = &kernel.loops[level];
            one.first + one.step * (one.trips as i64 - 1)
        };
        let bits_of = |level: usize| variable(level).map_or(1, |node| width(self.graph(), node).0);
        for level in 0..kernel.loops.len() {
            let _ = writeln!(out, "  logic {} {};", vector(bits_of(level)), name(level));
        }
        // Whether a level and all levels inside of it are at their last value.
        let ends = |level: usize| {
            let at = |inner: usize| format!("{} == {}'d{}", name(inner), bits_of(inner), last(inner));
            let all: Vec<String> = (level..kernel.loops.len()).map(at).collect();
            if all.is_empty() { "1'b1".to_owned() } else { all.join(" && ") }
        };
        let _ = writeln!(out, "  always_ff @(posedge clk_i or negedge rst_ni) begin");
        let _ = writeln!(out, "    if (!rst_ni) begin");
        let reset = |out: &mut String, indent: &str| {
            let _ = writeln!(out, "{indent}k{k}_all_q <= 1'b0;");
            if most_wait > 0 {
                let _ = writeln!(out, "{indent}k{k}_wait_q <= '0;");
            }
            for level in 0..kernel.loops.len() {
                let _ = writeln!(out, "{indent}{} <= {}'d{};", name(level), bits_of(level), kernel.loops[level].first);
            }
        };
        reset(out, "      ");
        let _ = writeln!(out, "    end else if (!active_q[{k}]) begin");
        reset(out, "      ");
        let _ = writeln!(out, "    end else if (k{k}_issue) begin");
        let _ = writeln!(out, "      k{k}_all_q <= {};", ends(0));
        if most_wait > 0 {
            let innermost = kernel.loops.len().saturating_sub(1);
            let _ = writeln!(
                out,
                "      k{k}_wait_q <= {} ? {wait_bits}'d{most_wait} : {wait_bits}'d{wait};",
                ends(innermost)
            );
        }
        for level in 0..kernel.loops.len() {
            let one = &kernel.loops[level];
            let step = if one.step < 0 { format!("- {}'d{}", bits_of(level), -one.step) } else { format!("+ {}'d{}", bits_of(level), one.step) };
            let next = format!(
                "{} == {}'d{} ? {}'d{} : {} {step}",
                name(level),
                bits_of(level),
                last(level),
                bits_of(level),
                one.first,
                name(level)
            );
            if level + 1 == kernel.loops.len() {
                let _ = writeln!(out, "      {} <= {next};", name(level));
            } else {
                let _ = writeln!(out, "      if ({}) {} <= {next};", ends(level + 1), name(level));
            }
        }
        if most_wait > 0 {
            let _ = writeln!(out, "    end else if (k{k}_wait_q != '0) begin");
            let _ = writeln!(out, "      k{k}_wait_q <= k{k}_wait_q - 1'b1;");
        }
        let _ = writeln!(out, "    end\n  end");
    }

    fn node(&self, out: &mut String, node: Node, op: Op) {
        let (bits, _) = width(self.graph(), node);
        let (name, cycle) = (self.names.of(node), self.begin(node));
        let wide = |operand: Node| self.wide(operand, cycle, bits);
        // A comparison needs as many bits as its operands, and a sign where one of them has it.
        let compared = |a: Node, b: Node| {
            let (x, y) = (width(self.graph(), a), width(self.graph(), b));
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
            Op::Read(access) => self.read(access),
            Op::Add(a, b) => format!("{} + {}", wide(a), wide(b)),
            Op::Sub(a, b) => format!("{} - {}", wide(a), wide(b)),
            Op::Mul(a, b) => format!("{} * {}", wide(a), wide(b)),
            Op::And(a, b) => format!("{} & {}", wide(a), wide(b)),
            Op::Or(a, b) => format!("{} | {}", wide(a), wide(b)),
            Op::Xor(a, b) => format!("{} ^ {}", wide(a), wide(b)),
            Op::Shl(a, b) => format!("{} << {}", wide(a), self.at(b, cycle)),
            Op::Shr(a, b) => {
                let from = width(self.graph(), a).0.max(bits);
                format!("{bits}'({} >> {})", self.wide(a, cycle, from), self.at(b, cycle))
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
                let condition = if width(self.graph(), c).0 == 1 { self.at(c, cycle) } else { format!("{} != '0", self.at(c, cycle)) };
                format!("{condition} ? {} : {}", wide(a), wide(b))
            }
            // No kernel has divisions after they were expanded.
            Op::Div(..) | Op::Rem(..) => return,
        };
        let stages = self.scheduled.registers[node.index()];
        if stages == 0 {
            let _ = writeln!(out, "  logic {} {name};\n  assign {name} = {text};", vector(bits));
            return;
        }
        let _ = writeln!(out, "  logic [{}:0]{} {name}_p;", stages - 1, vector(bits));
        let _ = writeln!(out, "  logic {} {name};\n  assign {name} = {name}_p[{}];", vector(bits), stages - 1);
        let _ = writeln!(out, "  always_ff @(posedge clk_i) begin\n    {name}_p[0] <= {text};");
        for stage in 1..stages {
            let _ = writeln!(out, "    {name}_p[{stage}] <= {name}_p[{}];", stage - 1);
        }
        let _ = writeln!(out, "  end");
    }

    /// What an access reads, in the cycle in which it is there.
    fn read(&self, access: usize) -> String {
        let memory = self.memory(access);
        let (cycle, address) = (self.scheduled.schedule.accesses[access], self.scheduled.addresses[access]);
        let banks = Layout::of(memory).banks;
        if matches!(memory.role, Role::Table(_)) {
            return format!("k{}_x{access}_q", self.number);
        }
        let suffix = if memory.role == Role::Parameter { "_i" } else { "" };
        let (from, at) = if is_registers(memory) {
            (format!("{}_q", memory.name), cycle)
        } else {
            (format!("{}_read_data{suffix}", memory.name), cycle + 1)
        };
        if banks == 1 {
            return format!("{from}[0]");
        }
        format!("{from}[{}]", self.wide(address.bank, at, address_bits(banks)))
    }

    /// Nodes that are needed later than they come: with the cycle in which they come, and the last one.
    fn late(&self) -> Vec<(Node, u32, u32)> {
        let nodes = self.last.iter().map(|(&node, &last)| (node, self.scheduled.schedule.nodes[node.index()].0, last));
        nodes.filter(|(_, own, last)| last > own).collect()
    }

    /// Registers for values that are needed later than they come.
    fn delays(&self, out: &mut String, late: &[(Node, u32, u32)]) {
        if late.is_empty() {
            return;
        }
        let _ = writeln!(out, "  always_ff @(posedge clk_i) begin");
        for &(node, own, last) in late {
            for cycle in own + 1..=last {
                let _ = writeln!(out, "    {} <= {};", self.at(node, cycle), self.at(node, cycle - 1));
            }
        }
        let _ = writeln!(out, "  end");
    }

    /// The signals by which accesses reach their banks.
    fn accesses(&self, out: &mut String) {
        let k = self.number;
        for (number, access) in self.scheduled.kernel.accesses.iter().enumerate() {
            let (cycle, address) = (self.scheduled.schedule.accesses[number], self.scheduled.addresses[number]);
            let memory = self.memory(number);
            let layout = Layout::of(memory);
            let signal = format!("k{k}_x{number}");
            let row = address_bits(layout.depth);
            let what = if access.written.is_some() { "writes" } else { "reads" };
            let _ = writeln!(out, "  // Line {}: {what} {}.", access.place.line, memory.name);
            if matches!(memory.role, Role::Table(_)) {
                let row = address_bits(memory.len());
                let _ = writeln!(out, "  always_ff @(posedge clk_i) {signal}_q <= {}_at({});", memory.name, self.wide(address.row, cycle, row));
                continue;
            }
            if is_registers(memory) && access.written.is_none() {
                continue;
            }
            let condition = access.condition.map_or(String::new(), |node| format!(" && {}", self.at(node, cycle)));
            let _ = writeln!(out, "  logic {signal}_en;\n  assign {signal}_en = k{k}_valid[{cycle}]{condition};");
            if layout.banks > 1 {
                let bank = address_bits(layout.banks);
                let _ = writeln!(out, "  logic {} {signal}_bank;\n  assign {signal}_bank = {};", vector(bank), self.wide(address.bank, cycle, bank));
            }
            if !is_registers(memory) {
                let _ = writeln!(out, "  logic {} {signal}_row;\n  assign {signal}_row = {};", vector(row), self.wide(address.row, cycle, row));
            }
            if let Some(written) = access.written {
                let _ = writeln!(out, "  logic {} {signal}_data;\n  assign {signal}_data = {};", vector(memory.bits()), self.wide(written, cycle, memory.bits()));
            }
        }
        out.push('\n');
    }
}
