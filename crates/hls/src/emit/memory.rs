//! Memories of a module, and the connections between accesses and banks.

use std::fmt::Write as _;

use super::vectors::{address_bits, elements, vector};
use super::{Memories, Options, Port};
use crate::analysis::{Layout, is_block, is_registers, read_cycles};
use crate::compile::{Design, Scheduled};
use crate::ir::{Access, Memory, Role};
use crate::pragma::{Mode, Ports};

/// The signals of an access in its kernel.
struct Signal {
    name: String,
    writes: bool,
    port: u8,
}

impl Design {
    /// The ports of the module for a memory.
    pub(super) fn ports_of(&self, memory: &Memory, options: &Options) -> Vec<Port> {
        let layout = Layout::of(memory);
        let (name, banks, element) = (&memory.name, elements(layout.banks), vector(memory.bits()));
        let port = |input: bool, bits: &str, suffix: &str, comment: &str| {
            Port::new(input, bits, format!("{name}_{suffix}"), format!("{name}: {comment}"))
        };
        let row = vector(address_bits(layout.depth));
        let banks_of = layout.banks;
        let with = |bits: &str, of: &str| format!("{}{}", bits, of);
        match memory.role {
            Role::Local | Role::Table(_) => Vec::new(),
            Role::Result => vec![port(false, &with(&banks, &element), "o", "the function's value at the end.")],
            Role::Parameter if memory.mode == Some(Mode::Stream) => {
                if self.is_stream_written(memory) {
                    vec![
                        port(false, "", "valid_o", "stream: the element is valid."),
                        port(true, "", "ready_i", "stream: the receiver takes the element."),
                        port(false, &element, "data_o", "stream: the element."),
                    ]
                } else {
                    vec![
                        port(true, "", "valid_i", "stream: the element is valid."),
                        port(false, "", "ready_o", "stream: the module takes the element."),
                        port(true, &element, "data_i", "stream: the element."),
                    ]
                }
            }
            // A value; the function cannot return a new one.
            Role::Parameter if memory.lengths.is_empty() => {
                vec![port(true, &with(&banks, &element), "i", "the value at the start.")]
            }
            Role::Parameter if is_registers(memory) => vec![
                port(true, &with(&banks, &element), "i", "elements at the start."),
                port(false, &with(&banks, &element), "o", "elements at the end."),
            ],
            Role::Parameter if self.is_inside(memory, options) => {
                let bank = vector(address_bits(banks_of));
                let mut ports = vec![
                    port(
                        true,
                        "",
                        "en_i",
                        "the host reads or writes an element while idle_o is high and start_i is low.",
                    ),
                    port(true, "", "write_i", "the host writes."),
                ];
                if banks_of > 1 {
                    ports.push(port(true, &bank, "bank_i", "the bank of the element."));
                }
                ports.push(port(true, &row, "row_i", "the row of the element."));
                ports.push(port(true, &element, "data_i", "the element to write."));
                let later = if is_block(memory) { "three" } else { "two" };
                ports.push(port(false, &element, "data_o", &format!("the element of a read, {later} cycles later.")));
                ports
            }
            Role::Parameter => match memory.ports {
                Ports::ReadAndWrite => vec![
                    port(false, &banks, "read_en_o", "a row of a bank is read."),
                    port(false, &with(&banks, &row), "read_addr_o", "the row."),
                    port(
                        true,
                        &with(&banks, &element),
                        "read_data_i",
                        "its element, from the next cycle to the next read.",
                    ),
                    port(false, &banks, "write_en_o", "a row of a bank is written."),
                    port(false, &with(&banks, &row), "write_addr_o", "the row."),
                    port(false, &with(&banks, &element), "write_data_o", "its element."),
                ],
                Ports::TwoOfAny => vec![
                    port(false, &with(&banks, &elements(2)), "en_o", "a row is read or written at a port of a bank."),
                    port(false, &with(&banks, &elements(2)), "write_o", "the row is written."),
                    port(false, &with(&banks, &with(&elements(2), &row)), "addr_o", "the row."),
                    port(false, &with(&banks, &with(&elements(2), &element)), "write_data_o", "the element to write."),
                    port(
                        true,
                        &with(&banks, &with(&elements(2), &element)),
                        "read_data_i",
                        "the element, from the next cycle to the next read.",
                    ),
                ],
            },
        }
    }

    /// Whether the banks of a memory are in the module.
    pub(super) fn is_inside(&self, memory: &Memory, options: &Options) -> bool {
        match memory.role {
            Role::Local => true,
            Role::Parameter => options.memories == Memories::Inside && memory.mode.is_none() && !is_registers(memory),
            _ => false,
        }
    }

    /// Whether the module writes a stream, as one of its parameters; otherwise it reads it.
    #[must_use]
    pub fn is_stream_written(&self, memory: &Memory) -> bool {
        self.signals_of(memory).iter().any(|signal| signal.writes)
    }

    fn signals_of(&self, memory: &Memory) -> Vec<Signal> {
        let number = self.program.memories.iter().position(|other| std::ptr::eq(other, memory));
        let mut signals = Vec::new();
        for (kernel, one) in self.kernels.iter().enumerate() {
            for (index, access) in one.kernel.accesses.iter().enumerate() {
                if Some(access.memory) == number && one.is_used(index) {
                    let name = format!("k{kernel}_x{index}");
                    signals.push(Signal { name, writes: access.written.is_some(), port: one.schedule.ports[index] });
                }
            }
        }
        signals
    }

    /// The tables, registers and memories in the module.
    pub(super) fn storage(&self, out: &mut String, memory: &Memory, options: &Options) {
        let layout = Layout::of(memory);
        let (name, element) = (&memory.name, vector(memory.bits()));
        let (banks, depth) = (layout.banks, layout.depth);
        match &memory.role {
            Role::Table(contents) => {
                if self.signals_of(memory).is_empty() {
                    return;
                }
                let row = address_bits(contents.len());
                let _ = writeln!(out, "  // The table {name}.");
                let _ = writeln!(out, "  function automatic logic{element} {name}_at(logic{} row);", vector(row));
                let _ = writeln!(out, "    case (row)");
                for (row_of, value) in contents.iter().enumerate() {
                    let _ = writeln!(out, "      {row}'d{row_of}: {name}_at = {}'d{value};", memory.bits());
                }
                let _ = writeln!(out, "      default: {name}_at = '0;\n    endcase\n  endfunction\n");
            }
            _ if is_registers(memory) => {
                let _ = writeln!(out, "  logic{}{element} {name}_q;", elements(banks));
            }
            _ if !self.is_inside(memory, options) => self.output(out, memory, options),
            _ => {
                let row = vector(address_bits(depth));
                let _ = writeln!(out, "  // The memory {name}: {banks} banks of {depth} elements.");
                let ports = if memory.ports == Ports::TwoOfAny { elements(2) } else { String::new() };
                let of = format!("{}{ports}", elements(banks));
                match memory.ports {
                    Ports::ReadAndWrite => {
                        let _ = writeln!(out, "  logic{of} {name}_read_en, {name}_write_en;");
                        let _ = writeln!(out, "  logic{of}{row} {name}_read_addr, {name}_write_addr;");
                    }
                    Ports::TwoOfAny => {
                        let _ = writeln!(out, "  logic{of} {name}_en, {name}_write;");
                        let _ = writeln!(out, "  logic{of}{row} {name}_addr;");
                    }
                }
                let _ = writeln!(out, "  logic{of}{element} {name}_read_data, {name}_write_data;");
                let _ = writeln!(out, "  for (genvar bank = 0; bank < {banks}; bank++) begin : gen_{name}");
                let style = if is_block(memory) { "(* ram_style = \"block\" *) " } else { "" };
                let _ = writeln!(out, "    {style}logic{element} contents[{depth}];");
                if is_block(memory) {
                    let _ = writeln!(
                        out,
                        "    // A block memory does not define a read of the element that another port writes."
                    );
                }
                let _ = writeln!(out, "    always_ff @(posedge clk_i) begin");
                let undefined = if is_block(memory) {
                    format!("({name}_write_en[bank] && {name}_write_addr[bank] == {name}_read_addr[bank]) ? 'x : ")
                } else {
                    String::new()
                };
                let assigned = match memory.ports {
                    Ports::ReadAndWrite => vec![
                        format!("if ({name}_read_en[bank]) {name}_read_data[bank] <= {undefined}contents[{name}_read_addr[bank]];"),
                        format!("if ({name}_write_en[bank]) contents[{name}_write_addr[bank]] <= {name}_write_data[bank];"),
                    ],
                    Ports::TwoOfAny => (0..2)
                        .flat_map(|port| {
                            let (at, other) = (format!("[bank][{port}]"), format!("[bank][{}]", 1 - port));
                            let meets = format!("{name}_en{other} && {name}_write{other} && {name}_addr[bank][0] == {name}_addr[bank][1]");
                            [
                                format!("if ({name}_en{at} && !{name}_write{at}) {name}_read_data{at} <= ({meets}) ? 'x : contents[{name}_addr{at}];"),
                                format!("if ({name}_en{at} && {name}_write{at}) contents[{name}_addr{at}] <= {name}_write_data{at};"),
                            ]
                        })
                        .collect(),
                };
                for line in assigned {
                    let _ = writeln!(out, "      {line}");
                }
                let _ = writeln!(out, "    end\n  end\n");
                self.output(out, memory, options);
            }
        }
    }

    /// The elements that a memory with ports returns, in the cycle after the request.
    pub(super) fn returned(&self, memory: &Memory, options: &Options) -> String {
        format!("{}_read_data{}", memory.name, if self.is_inside(memory, options) { "" } else { "_i" })
    }

    /// The registers behind the data of a block memory. A kernel that stalls has its own.
    fn output(&self, out: &mut String, memory: &Memory, options: &Options) {
        let reads = |one: &Scheduled| {
            let is_read = |access: &Access| {
                access.written.is_none() && std::ptr::eq(&self.program.memories[access.memory], memory)
            };
            !one.waits(self) && one.kernel.accesses.iter().any(is_read)
        };
        let is_hosted = memory.role == Role::Parameter && self.is_inside(memory, options);
        if is_block(memory) && (is_hosted || self.kernels.iter().any(reads)) {
            let (name, returned) = (&memory.name, self.returned(memory, options));
            let _ = writeln!(out, "  // The data of the block memory {name} comes late in a cycle.");
            let _ = writeln!(out, "  logic{} {name}_read_data_q;", returned_bits(memory));
            let _ = writeln!(out, "  always_ff @(posedge clk_i) {name}_read_data_q <= {returned};\n");
        }
    }

    /// The connections of accesses to the ports of each bank.
    pub(super) fn arbitration(&self, out: &mut String, memory: &Memory, options: &Options) {
        if matches!(memory.role, Role::Table(_)) {
            return;
        }
        let layout = Layout::of(memory);
        let mut signals = self.signals_of(memory);
        if memory.mode == Some(Mode::Stream) {
            self.stream(out, memory);
        } else if is_registers(memory) {
            self.registers(out, memory, &signals, &layout);
        } else {
            let inside = self.is_inside(memory, options);
            if inside && memory.role == Role::Parameter {
                signals.extend(host(out, memory, &layout));
            }
            banks(out, memory, &signals, &layout, inside);
        }
    }

    /// A stream is connected to its one kernel.
    fn stream(&self, out: &mut String, memory: &Memory) {
        let (name, signals) = (&memory.name, self.signals_of(memory));
        let any = |suffix: &str| {
            signals.iter().map(|signal| format!("{}_{suffix}", signal.name)).collect::<Vec<_>>().join(" || ")
        };
        let _ = writeln!(out, "  // The stream {name}.");
        let is_own = |one: &Scheduled| {
            one.kernel.accesses.iter().any(|access| std::ptr::eq(&self.program.memories[access.memory], memory))
        };
        let kernel = self.kernels.iter().position(is_own).unwrap_or(0);
        if self.is_stream_written(memory) {
            let sent = self.kernels[kernel].has_sent(self);
            let unsent = if sent { format!(" && !k{kernel}_of_{name}_sent_q") } else { String::new() };
            let _ = writeln!(out, "  assign {name}_valid_o = ({}) && k{kernel}_given{unsent};", any("en"));
            let data: Vec<String> = signals
                .iter()
                .map(|signal| format!("({{{}{{{}_en}}}} & {}_data)", memory.bits(), signal.name, signal.name))
                .collect();
            let _ = writeln!(out, "  assign {name}_data_o = {};\n", data.join(" | "));
        } else {
            let _ = writeln!(out, "  assign {name}_ready_o = ({}) && k{kernel}_run;\n", any("en"));
        }
    }

    fn registers(&self, out: &mut String, memory: &Memory, signals: &[Signal], layout: &Layout) {
        let name = &memory.name;
        let _ = writeln!(out, "  // The registers of {name}.");
        let mut lines = Vec::new();
        if memory.role == Role::Parameter {
            lines.push(format!("if (idle_o && start_i) {name}_q <= {name}_i;"));
        }
        for signal in signals.iter().filter(|signal| signal.writes).map(|signal| &signal.name) {
            let bank = if layout.banks == 1 { "0".to_owned() } else { format!("{signal}_bank") };
            lines.push(format!("if ({signal}_en) {name}_q[{bank}] <= {signal}_data;"));
        }
        if !lines.is_empty() {
            let _ = writeln!(out, "  always_ff @(posedge clk_i) begin");
            for line in lines {
                let _ = writeln!(out, "    {line}");
            }
            let _ = writeln!(out, "  end");
        }
        if memory.role == Role::Result || memory.is_array_parameter() {
            let _ = writeln!(out, "  assign {name}_o = {name}_q;");
        }
        out.push('\n');
    }
}

/// The dimensions of the elements that a memory with ports returns.
pub(super) fn returned_bits(memory: &Memory) -> String {
    let ports = if memory.ports == Ports::TwoOfAny { elements(2) } else { String::new() };
    format!("{}{ports}{}", elements(Layout::of(memory).banks), vector(memory.bits()))
}

/// The host's reads and writes of a memory, while no run is in progress.
fn host(out: &mut String, memory: &Memory, layout: &Layout) -> [Signal; 2] {
    let name = &memory.name;
    let (bank, row) = (vector(address_bits(layout.banks)), vector(address_bits(layout.depth)));
    let _ = writeln!(out, "  // The host's access to {name}.");
    for (kind, sign) in [("read", "!"), ("write", "")] {
        let _ = writeln!(out, "  logic {name}_host_{kind}_en;");
        let _ = writeln!(
            out,
            "  assign {name}_host_{kind}_en = {name}_en_i && {sign}{name}_write_i && idle_o && !start_i;"
        );
        if layout.banks > 1 {
            let _ = writeln!(
                out,
                "  logic{bank} {name}_host_{kind}_bank;\n  assign {name}_host_{kind}_bank = {name}_bank_i;"
            );
        }
        let _ = writeln!(out, "  logic{row} {name}_host_{kind}_row;\n  assign {name}_host_{kind}_row = {name}_row_i;");
    }
    let element = vector(memory.bits());
    let _ = writeln!(out, "  logic{element} {name}_host_write_data;\n  assign {name}_host_write_data = {name}_data_i;");
    let port = if memory.ports == Ports::TwoOfAny { "[0]" } else { "" };
    let data = format!("{name}_read_data{}", if is_block(memory) { "_q" } else { "" });
    if layout.banks > 1 {
        let last = read_cycles(memory) - 1;
        let before = if last == 1 { "0".to_owned() } else { format!("{}:0", last - 1) };
        let _ = writeln!(out, "  logic [{last}:0]{bank} {name}_host_q;");
        let _ =
            writeln!(out, "  always_ff @(posedge clk_i) {name}_host_q <= {{{name}_host_q[{before}], {name}_bank_i}};");
        let _ = writeln!(out, "  assign {name}_data_o = {data}[{name}_host_q[{last}]]{port};\n");
    } else {
        let _ = writeln!(out, "  assign {name}_data_o = {data}[0]{port};\n");
    }
    let signal = |kind: &str, writes: bool| Signal { name: format!("{name}_host_{kind}"), writes, port: 0 };
    [signal("read", false), signal("write", true)]
}

/// The ports of the banks. Each port has registers, which hold the request of the access that uses it.
fn banks(out: &mut String, memory: &Memory, signals: &[Signal], layout: &Layout, inside: bool) {
    let name = &memory.name;
    let suffix = if inside { "" } else { "_o" };
    let (row, element) = (address_bits(layout.depth), memory.bits());
    let ports = if memory.ports == Ports::TwoOfAny { elements(2) } else { String::new() };
    let of = format!("{}{ports}", elements(layout.banks));
    // The parts of a port, with their bits.
    let (row_of, element_of) = (vector(row), vector(element));
    let parts: Vec<(&str, &str)> = match memory.ports {
        Ports::ReadAndWrite => vec![
            ("read_en", ""),
            ("read_addr", &row_of),
            ("write_en", ""),
            ("write_addr", &row_of),
            ("write_data", &element_of),
        ],
        Ports::TwoOfAny => vec![("en", ""), ("write", ""), ("addr", &row_of), ("write_data", &element_of)],
    };
    let _ = writeln!(
        out,
        "  // The ports of {name}. At most one access uses a port in a cycle, so rows and elements are joined by OR."
    );
    for (part, bits) in &parts {
        let _ = writeln!(out, "  logic{of}{bits} {name}_{part}_d;");
    }
    let _ = writeln!(out, "  always_comb begin");
    for (part, _) in &parts {
        let _ = writeln!(out, "    {name}_{part}_d = '0;");
    }
    let _ = writeln!(out, "    for (int unsigned bank = 0; bank < {}; bank++) begin", layout.banks);
    for signal in signals {
        let (kind, at) = match (memory.ports, signal.writes) {
            (Ports::ReadAndWrite, true) => ("write_", "[bank]".to_owned()),
            (Ports::ReadAndWrite, false) => ("read_", "[bank]".to_owned()),
            (Ports::TwoOfAny, _) => ("", format!("[bank][{}]", signal.port)),
        };
        let one = &signal.name;
        let bank_bits = address_bits(layout.banks);
        let condition = if layout.banks == 1 {
            format!("{one}_en")
        } else {
            format!("{one}_en && {one}_bank == {bank_bits}'(bank)")
        };
        let _ = writeln!(out, "      if ({condition}) begin");
        let _ = writeln!(out, "        {name}_{kind}en_d{at} = 1'b1;");
        let target = format!("{name}_{kind}addr_d{at}");
        let _ = writeln!(out, "        {target} = {target} | {row}'({one}_row);");
        if signal.writes {
            if memory.ports == Ports::TwoOfAny {
                let _ = writeln!(out, "        {name}_write_d{at} = 1'b1;");
            }
            let target = format!("{name}_write_data_d{at}");
            let _ = writeln!(out, "        {target} = {target} | {element}'({one}_data);");
        }
        let _ = writeln!(out, "      end");
    }
    let _ = writeln!(out, "    end\n  end");
    let enables = |part: &str| part.ends_with("en");
    let _ = writeln!(out, "  always_ff @(posedge clk_i or negedge rst_ni) begin\n    if (!rst_ni) begin");
    for (part, _) in parts.iter().filter(|(part, _)| enables(part)) {
        let _ = writeln!(out, "      {name}_{part}{suffix} <= '0;");
    }
    let _ = writeln!(out, "    end else begin");
    for (part, _) in parts.iter().filter(|(part, _)| enables(part)) {
        let _ = writeln!(out, "      {name}_{part}{suffix} <= {name}_{part}_d;");
    }
    let _ = writeln!(out, "    end\n  end\n  always_ff @(posedge clk_i) begin");
    for (part, _) in parts.iter().filter(|(part, _)| !enables(part)) {
        let _ = writeln!(out, "    {name}_{part}{suffix} <= {name}_{part}_d;");
    }
    let _ = writeln!(out, "  end\n");
}
