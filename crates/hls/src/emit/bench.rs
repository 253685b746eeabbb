//! A SystemVerilog test bench that runs modules and compares the final contents of their memories.
//!
//! The name of each signal of a memory ends with the memory's name, and begins with a word that begins no other name of the
//! bench. A memory may therefore have any name that the compiler accepts.

mod memory;

use std::fmt::Write as _;

use super::Memories;
use crate::compile::Design;
use crate::ir::State;
use memory::{OfMemory, Parts};

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
    let memories: Vec<_> = (0..design.program.memories.len()).map(|number| OfMemory::new(one, number)).collect();
    // The places of the longest memory inside. The host writes them before a run and reads them after it.
    let hosted = memories.iter().filter(|one| one.is_hosted());
    let longest = hosted.map(OfMemory::places).max().unwrap_or(0);
    let mut parts = Parts::default();
    for one in memories.iter().filter(|one| one.is_connected()) {
        one.write(&mut parts)?;
    }
    let Parts { declared, connected, loaded, clocked, compared } = parts;
    // The last element arrives three cycles at the most after the request for its row.
    let (read, count) = (2 * longest + 14, runs.len());
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
