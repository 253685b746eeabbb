//! A SystemVerilog test bench that runs modules and compares the final contents of their memories.
//!
//! The name of each signal of a memory ends with the memory's name, and begins with a word that begins no other name of the
//! bench. A memory may therefore have any name that the compiler accepts.

use std::fmt::Write as _;

use super::{Memories, Options, address_bits, elements, vector};
use crate::analysis::{Layout, is_registers};
use crate::compile::Design;
use crate::ir::{Memory, Role, State};
use crate::pragma::{Mode, Ports};

/// The greatest number of cycles of a run.
const LIMIT: u32 = 1 << 23;

/// An element that its memory in the module cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an element of `{memory}` of the module {module} is {value}; use 0 to {most}, or mend the width of the memory")]
pub struct ElementError {
    /// The name of the module.
    pub module: String,
    /// The name of the memory.
    pub memory: String,
    /// The element.
    pub value: i128,
    /// The greatest element of the memory.
    pub most: u128,
}

/// A run of a module.
#[derive(Clone, Debug)]
pub struct Run {
    /// The memories before the run. Elements of parameters without a value are 0.
    pub before: State,
    /// The expected memories after the run. Elements without a value are not compared.
    pub after: State,
}

/// A module on a bench.
#[derive(Clone, Debug)]
pub struct OnBench<'d> {
    /// The module's name.
    pub name: &'d str,
    /// The design.
    pub design: &'d Design,
    /// Where the module's banks are.
    pub memories: Memories,
    /// Its runs, one after another.
    pub runs: Vec<Run>,
}

/// The module `bench`, which runs all modules. It ends with `$finish` if all results are as expected, and with `$fatal`
/// otherwise.
///
/// It needs a simulator with delays, such as Verilator with `--binary --timing`. Streams stall at random.
///
/// # Errors
/// An element before or after a run that does not fit into its memory.
pub fn bench(modules: &[OnBench<'_>]) -> Result<String, ElementError> {
    let benches: Vec<String> = modules.iter().map(module).collect::<Result<_, _>>()?;
    Ok(benches.concat() + &top(modules))
}

/// The module that connects the benches of all modules with the clock and the reset.
fn top(modules: &[OnBench<'_>]) -> String {
    let last = modules.len().max(1) - 1;
    let mut out = format!(
        "module bench;
  logic clk, rst_n;
  logic [{last}:0] finished;
  initial begin
    clk = 1'b0;
    rst_n = 1'b0;
    #4 rst_n = 1'b1;
  end
  always #1 clk = !clk;
"
    );
    for (index, OnBench { name, .. }) in modules.iter().enumerate() {
        let _ = writeln!(out, "  bench_{name} u_{name} (.clk, .rst_n, .finished(finished[{index}]));");
    }
    // Before the reset, `finished` may have any value.
    out += "  always @(posedge clk) if (rst_n && &finished) begin
    $display(\"all right\");
    $finish;
  end
endmodule
";
    out
}

/// The bench of one module: the elements before a run are written, the module runs, and its memories are compared.
fn module(one: &OnBench<'_>) -> Result<String, ElementError> {
    let OnBench { name, design, runs, .. } = one;
    let of = |number: usize| OfMemory { one, number, memory: &design.program.memories[number] };
    let memories: Vec<OfMemory<'_>> = (0..design.program.memories.len()).map(of).collect();
    // The places of the longest memory inside. The host writes them before a run and reads them after it.
    let hosted = memories.iter().filter(|one| one.is_hosted());
    let longest = hosted.map(OfMemory::places).max().unwrap_or(0);
    let mut parts = Parts::default();
    for one in memories.iter().filter(|one| matches!(one.memory.role, Role::Parameter | Role::Result)) {
        one.write(&mut parts)?;
    }
    let Parts { declared, connected, loaded, clocked, compared } = parts;
    // The last element arrives two cycles after the request for its row.
    let (read, count) = (2 * longest + 13, runs.len());
    Ok(format!(
        "module bench_{name} (input logic clk, input logic rst_n, output logic finished);
  localparam int Runs = {count};
  localparam int Longest = {longest};
  logic start, idle, done, ran;
  int run, slot;
{declared}  {name} u_dut (.clk_i(clk), .rst_ni(rst_n), .start_i(start), .idle_o(idle), .done_o(done){connected});
  always @(posedge clk) begin
    if (!rst_n) begin
      run <= 0;
      slot <= 0;
      start <= 1'b0;
      ran <= 1'b0;
      finished <= 1'b0;
    end else begin
{clocked}      slot <= slot + 1;
      start <= slot == Longest;
      if (slot == 0) begin
{loaded}      end
      if (slot == Longest + {LIMIT}) $fatal(1, \"{name}: a run does not end\");
      if (slot > Longest && done) begin
        ran <= 1'b1;
        slot <= Longest + 10;
      end
      if (ran && slot == {read} && !finished) begin
{compared}        slot <= 0;
        ran <= 1'b0;
        if (run + 1 == Runs) finished <= 1'b1;
        else run <= run + 1;
      end
    end
  end
endmodule
"
    ))
}

/// The parts of the bench of a module to which each of its memories adds.
#[derive(Default)]
struct Parts {
    /// Signals.
    declared: String,
    /// Connections to the ports of the module.
    connected: String,
    /// Statements before a run.
    loaded: String,
    /// Statements of each cycle.
    clocked: String,
    /// Statements after a run.
    compared: String,
}

/// A memory of a module on the bench.
struct OfMemory<'b> {
    one: &'b OnBench<'b>,
    number: usize,
    memory: &'b Memory,
}

impl OfMemory<'_> {
    fn layout(&self) -> Layout {
        Layout::of(self.memory)
    }

    /// The rows of all banks.
    fn places(&self) -> usize {
        self.layout().banks * self.layout().depth
    }

    fn is_inside(&self) -> bool {
        let options = Options { name: self.one.name, source: "", memories: self.one.memories };
        self.one.design.is_inside(self.memory, &options)
    }

    /// Whether the host writes it before a run and reads it after the run.
    fn is_hosted(&self) -> bool {
        self.memory.role == Role::Parameter && self.is_inside()
    }

    /// The range of the bits of an element.
    fn element(&self) -> String {
        vector(self.memory.bits())
    }

    fn write(&self, parts: &mut Parts) -> Result<(), ElementError> {
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
        let _ = writeln!(
            parts.clocked,
            "      if (ran && place_{id} > 1 && place_{id} <= {places} + 1) kept_{id}[place_{id} - 2] <= taken_{id};"
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
        let _ = writeln!(
            parts.clocked,
            "      for (int b = 0; b < {banks}; b++) begin
        if (re_{id}[b]) rd_{id}[b] <= kept_{id}[b * {depth} + int'(ra_{id}[b])];
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Source;
    use crate::schedule::Target;

    /// A bench of a module whose elements have 4 bits, with an expected element.
    fn expecting(value: i128) -> Result<String, ElementError> {
        let text = "void f(unsigned char a[4]) { for (unsigned i = 0; i < 4; i++) a[i] = i * 5; }";
        let design = Source::new("f.c", text).compile(&[], "f", &Target::ecp5(100.0)).expect("a design");
        let before = State::before(&design.program, [vec![0; 4]]);
        let after = State::after(&design.program, vec![vec![Some(value), None, None, None]], None);
        let runs = vec![Run { before, after }];
        bench(&[OnBench { name: "f", design: &design, memories: Memories::Inside, runs }])
    }

    #[test]
    fn an_element_that_does_not_fit_is_refused() {
        assert!(expecting(15).is_ok_and(|text| text.contains("4'd15")));
        assert_eq!(
            expecting(16).map_err(|error| error.to_string()),
            Err("an element of `a` of the module f is 16; use 0 to 15, or mend the width of the memory".to_owned())
        );
        assert!(expecting(-1).is_err());
    }
}
