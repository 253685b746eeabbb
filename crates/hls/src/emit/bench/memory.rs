//! Memories on the bench: streams, registers, and banks inside and outside of the module.

use std::fmt::Write as _;

use super::super::Options;
use super::super::vectors::{address_bits, elements, vector};
use super::{ElementError, OnBench, Run};
use crate::analysis::{Layout, is_block, is_registers, read_cycles};
use crate::ir::{Memory, Role, State};
use crate::pragma::{Mode, Ports};

/// The parts of the bench of a module to which each of its memories adds.
#[derive(Default)]
pub(super) struct Parts {
    /// Signals.
    pub(super) declared: String,
    /// Connections to the ports of the module.
    pub(super) connected: String,
    /// Statements before a run.
    pub(super) loaded: String,
    /// Statements of each cycle.
    pub(super) clocked: String,
    /// Statements after a run.
    pub(super) compared: String,
}

/// A memory of a module on the bench.
pub(super) struct OfMemory<'b> {
    one: &'b OnBench<'b>,
    number: usize,
    memory: &'b Memory,
}

impl<'b> OfMemory<'b> {
    /// The memory of a module with a number.
    pub(super) fn new(one: &'b OnBench<'b>, number: usize) -> Self {
        Self { one, number, memory: &one.design.program.memories[number] }
    }

    /// Whether the module has ports for it.
    pub(super) fn is_connected(&self) -> bool {
        matches!(self.memory.role, Role::Parameter | Role::Result)
    }

    fn layout(&self) -> Layout {
        Layout::of(self.memory)
    }

    /// The rows of all banks.
    pub(super) fn places(&self) -> usize {
        self.layout().banks * self.layout().depth
    }

    fn is_inside(&self) -> bool {
        let options = Options { name: self.one.name, source: "", memories: self.one.memories };
        self.one.design.is_inside(self.memory, &options)
    }

    /// Whether the host writes it before a run and reads it after the run.
    pub(super) fn is_hosted(&self) -> bool {
        self.memory.role == Role::Parameter && self.is_inside()
    }

    /// The range of the bits of an element.
    fn element(&self) -> String {
        vector(self.memory.bits())
    }

    pub(super) fn write(&self, parts: &mut Parts) -> Result<(), ElementError> {
        self.tables(parts)?;
        let memory = self.memory;
        match (memory.mode, memory.ports) {
            (Some(Mode::Stream), _) if self.one.design.is_stream_written(memory) => self.stream_out(parts),
            (Some(Mode::Stream), _) => self.stream_in(parts),
            _ if memory.role == Role::Result || is_registers(memory) => self.registers(parts),
            _ if self.is_inside() => self.inside(parts),
            (_, Ports::ReadAndWrite) => self.outside(parts),
            (_, Ports::TwoOfAny) => self.outside_with_two_ports(parts),
        }
        Ok(())
    }

    /// The elements before and after each run, in the order of banks and rows, and whether they are compared.
    fn tables(&self, parts: &mut Parts) -> Result<(), ElementError> {
        let bits = self.memory.bits();
        let contents = |of: fn(&Run) -> &State| {
            let placed = |run| placed(self.memory, &of(run).memories[self.number]);
            self.one.runs.iter().map(placed).collect::<Vec<_>>()
        };
        let (before, after) = (contents(|run| &run.before), contents(|run| &run.after));
        before.iter().chain(&after).flatten().flatten().try_for_each(|&value| self.check(value))?;
        let mut table = |name: &str, bits: u32, runs: &[Vec<Option<i128>>], of: fn(Option<i128>) -> i128| {
            let text = table(&format!("{name}_{}", self.memory.name), bits, runs, of);
            parts.declared.push_str(&text);
        };
        table("before", bits, &before, Option::unwrap_or_default);
        table("after", bits, &after, Option::unwrap_or_default);
        table("care", 1, &after, |value| i128::from(value.is_some()));
        Ok(())
    }

    /// Refuses an element that does not fit.
    fn check(&self, value: i128) -> Result<(), ElementError> {
        let most = u128::MAX >> (128 - self.memory.bits());
        match u128::try_from(value) {
            Ok(element) if element <= most => Ok(()),
            _ => Err(ElementError { module: self.one.name.to_owned(), memory: self.memory.name.clone(), value, most }),
        }
    }

    /// Connects ports of the module with signals of the bench.
    fn connect(&self, parts: &mut Parts, pairs: &[(&str, &str)]) {
        let id = &self.memory.name;
        for (port, signal) in pairs {
            let _ = write!(parts.connected, ",\n    .{id}_{port}({signal}_{id})");
        }
    }

    /// Compares a vector or an array of the bench, by places, with the expected elements.
    fn compare(&self, parts: &mut Parts, found: &str) {
        let (id, name, places) = (&self.memory.name, self.one.name, self.places());
        let _ = writeln!(
            parts.compared,
            "        for (int i = 0; i < {places}; i++) if (care_{id}[run][i] && {found}_{id}[i] !== after_{id}[run][i])
          $fatal(1, \"{name}: {id}: place %0d of run %0d is %0d, not %0d\", i, run, {found}_{id}[i], after_{id}[run][i]);"
        );
    }

    /// The signals of a stream, and the number of elements that have passed.
    fn stream(&self, parts: &mut Parts) {
        let (id, element) = (&self.memory.name, self.element());
        let _ =
            writeln!(parts.declared, "  logic valid_{id}, ready_{id};\n  logic{element} data_{id};\n  int at_{id};");
        let _ = writeln!(parts.loaded, "        at_{id} <= 0;");
    }

    fn stream_out(&self, parts: &mut Parts) {
        let (id, element, places) = (&self.memory.name, self.element(), self.places());
        self.stream(parts);
        self.connect(parts, &[("valid_o", "valid"), ("ready_i", "ready"), ("data_o", "data")]);
        let _ = writeln!(parts.declared, "  logic{element} kept_{id}[{places}];");
        let _ = writeln!(
            parts.clocked,
            "      ready_{id} <= $urandom_range(3) != 0;
      if (valid_{id} && ready_{id}) begin
        kept_{id}[at_{id}] <= data_{id};
        at_{id} <= at_{id} + 1;
      end"
        );
        self.compare(parts, "kept");
    }

    /// An offered element stays until the module takes it.
    fn stream_in(&self, parts: &mut Parts) {
        let (id, bits, places) = (&self.memory.name, self.memory.bits(), self.places());
        self.stream(parts);
        self.connect(parts, &[("valid_i", "valid"), ("ready_o", "ready"), ("data_i", "data")]);
        let _ =
            writeln!(parts.declared, "  assign data_{id} = valid_{id} ? before_{id}[run][at_{id}] : {bits}'(slot);");
        let _ = writeln!(
            parts.clocked,
            "      if (valid_{id} && ready_{id}) at_{id} <= at_{id} + 1;
      valid_{id} <= (valid_{id} && !ready_{id})
        || ($urandom_range(3) != 0 && at_{id} + int'(valid_{id}) < {places});"
        );
        let _ = writeln!(parts.loaded, "        valid_{id} <= 1'b0;");
    }

    fn registers(&self, parts: &mut Parts) {
        let (id, element) = (&self.memory.name, self.element());
        let banks = self.layout().banks;
        let of = elements(banks);
        if self.memory.role == Role::Parameter {
            let _ = writeln!(
                parts.declared,
                "  logic{of}{element} in_{id};
  always_comb for (int i = 0; i < {banks}; i++) in_{id}[i] = before_{id}[run][i];"
            );
            self.connect(parts, &[("i", "in")]);
        }
        if self.memory.role == Role::Result || self.memory.is_array_parameter() {
            let _ = writeln!(parts.declared, "  logic{of}{element} out_{id};");
            self.connect(parts, &[("o", "out")]);
            self.compare(parts, "out");
        }
    }

    /// A memory inside of the module: places are written one after another before a run and read after it.
    fn inside(&self, parts: &mut Parts) {
        let (id, element, Layout { banks, depth, .. }) = (&self.memory.name, self.element(), self.layout());
        let (places, bank, row) = (banks * depth, address_bits(banks), address_bits(depth));
        let (bank_of, row_of) = (vector(bank), vector(row));
        // Slots 0 to Longest - 1 write, and slots from Longest + 10 on read.
        let _ = writeln!(
            parts.declared,
            "  logic{element} kept_{id}[{places}], given_{id}, taken_{id};
  logic en_{id}, write_{id};
  logic{bank_of} bank_{id};
  logic{row_of} row_{id};
  int place_{id};
  assign place_{id} = ran ? slot - Longest - 10 : slot;
  assign en_{id} = place_{id} >= 0 && place_{id} < {places};
  assign write_{id} = !ran;
  assign bank_{id} = {bank}'(place_{id} / {depth});
  assign row_{id} = {row}'(place_{id} % {depth});
  assign given_{id} = en_{id} ? before_{id}[run][place_{id}] : '0;"
        );
        self.connect(parts, &[("en_i", "en"), ("write_i", "write"), ("row_i", "row")]);
        self.connect(parts, &[("data_i", "given"), ("data_o", "taken")]);
        if banks > 1 {
            self.connect(parts, &[("bank_i", "bank")]);
        }
        let later = read_cycles(self.memory);
        let _ = writeln!(
            parts.clocked,
            "      if (ran && place_{id} >= {later} && place_{id} < {places} + {later})
        kept_{id}[place_{id} - {later}] <= taken_{id};"
        );
        self.compare(parts, "kept");
    }

    /// The elements of a memory outside of the module, which the bench writes before a run.
    fn kept(&self, parts: &mut Parts) {
        let (id, element, places) = (&self.memory.name, self.element(), self.places());
        let _ = writeln!(parts.declared, "  logic{element} kept_{id}[{places}];");
        let _ =
            writeln!(parts.loaded, "        for (int i = 0; i < {places}; i++) kept_{id}[i] <= before_{id}[run][i];");
        self.compare(parts, "kept");
    }

    fn outside(&self, parts: &mut Parts) {
        let (id, element, Layout { banks, depth, .. }) = (&self.memory.name, self.element(), self.layout());
        let (of, row) = (elements(banks), vector(address_bits(depth)));
        self.kept(parts);
        let _ = writeln!(
            parts.declared,
            "  logic{of} re_{id}, we_{id};
  logic{of}{row} ra_{id}, wa_{id};
  logic{of}{element} rd_{id}, wd_{id};"
        );
        self.connect(parts, &[("read_en_o", "re"), ("read_addr_o", "ra"), ("read_data_i", "rd")]);
        self.connect(parts, &[("write_en_o", "we"), ("write_addr_o", "wa"), ("write_data_o", "wd")]);
        let meets = format!("(we_{id}[b] && wa_{id}[b] == ra_{id}[b]) ? 'x : ");
        let undefined = if is_block(self.memory) { meets } else { String::new() };
        let _ = writeln!(
            parts.clocked,
            "      for (int b = 0; b < {banks}; b++) begin
        if (re_{id}[b]) rd_{id}[b] <= {undefined}kept_{id}[b * {depth} + int'(ra_{id}[b])];
        if (we_{id}[b]) kept_{id}[b * {depth} + int'(wa_{id}[b])] <= wd_{id}[b];
      end"
        );
    }

    /// A read of the element that the other port writes in the same cycle is undefined.
    fn outside_with_two_ports(&self, parts: &mut Parts) {
        let (id, element, Layout { banks, depth, .. }) = (&self.memory.name, self.element(), self.layout());
        let (of, row) = (elements(banks) + &elements(2), vector(address_bits(depth)));
        self.kept(parts);
        let _ = writeln!(
            parts.declared,
            "  logic{of} en_{id}, we_{id};
  logic{of}{row} ra_{id};
  logic{of}{element} rd_{id}, wd_{id};"
        );
        self.connect(parts, &[("en_o", "en"), ("write_o", "we"), ("addr_o", "ra")]);
        self.connect(parts, &[("read_data_i", "rd"), ("write_data_o", "wd")]);
        let _ = writeln!(
            parts.clocked,
            "      for (int b = 0; b < {banks}; b++) for (int p = 0; p < 2; p++) begin
        if (en_{id}[b][p] && !we_{id}[b][p]) rd_{id}[b][p] <=
          (en_{id}[b][1 - p] && we_{id}[b][1 - p] && ra_{id}[b][0] == ra_{id}[b][1]) ? 'x
          : kept_{id}[b * {depth} + int'(ra_{id}[b][p])];
        if (en_{id}[b][p] && we_{id}[b][p]) kept_{id}[b * {depth} + int'(ra_{id}[b][p])] <= wd_{id}[b][p];
      end"
        );
    }
}

/// Elements in the order of banks and rows.
fn placed(memory: &Memory, contents: &[Option<i128>]) -> Vec<Option<i128>> {
    let layout = Layout::of(memory);
    let mut places = vec![None; layout.banks * layout.depth];
    for (element, value) in contents.iter().enumerate() {
        let (bank, row) = layout.place(memory.indices(element));
        places[bank * layout.depth + row] = *value;
    }
    places
}

/// A constant array of the elements of each run.
fn table(name: &str, bits: u32, runs: &[Vec<Option<i128>>], of: fn(Option<i128>) -> i128) -> String {
    let (count, length) = (runs.len(), runs.first().map_or(1, Vec::len));
    let row = |run: &Vec<Option<i128>>| {
        let values: Vec<String> = run.iter().map(|&value| format!("{bits}'d{}", of(value))).collect();
        format!("    '{{{}}}", values.join(", "))
    };
    let rows: Vec<String> = runs.iter().map(row).collect();
    let element = vector(bits);
    format!("  localparam logic{element} {name}[{count}][{length}] = '{{\n{}\n  }};\n", rows.join(",\n"))
}
