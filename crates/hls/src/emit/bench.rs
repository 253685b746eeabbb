//! A SystemVerilog test bench that runs modules and compares the final contents of their memories.

use std::fmt::Write as _;

use super::{Memories, Options, address_bits};
use crate::analysis::{Layout, is_registers};
use crate::compile::Design;
use crate::ir::{Memory, Role, State};
use crate::pragma::{Mode, Ports};

/// The greatest number of cycles of a run.
const LIMIT: u32 = 1 << 23;

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
#[must_use]
pub fn bench(modules: &[OnBench<'_>]) -> String {
    let mut out = String::new();
    for one in modules {
        module(&mut out, one);
    }
    out.push_str("module bench;\n  logic clk, rst_n;\n");
    let _ = writeln!(out, "  logic [{}:0] finished;", modules.len().max(1) - 1);
    out.push_str(
        "  initial begin\n    clk = 1'b0;\n    rst_n = 1'b0;\n    #3 rst_n = 1'b1;\n  end\n  always #1 clk = !clk;\n",
    );
    for (index, one) in modules.iter().enumerate() {
        let name = one.name;
        let _ = writeln!(out, "  bench_{name} u_{name} (.clk, .rst_n, .finished(finished[{index}]));");
    }
    out.push_str(
        "  always @(posedge clk) if (&finished) begin\n    $display(\"all right\");\n    $finish;\n  end\nendmodule\n",
    );
    out
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

fn table(out: &mut String, name: &str, bits: u32, runs: &[Vec<Option<i128>>], of: impl Fn(Option<i128>) -> i128) {
    let length = runs.first().map_or(1, Vec::len);
    let _ = writeln!(out, "  localparam logic [{}:0] {name}[{}][{length}] = '{{", bits - 1, runs.len());
    for (index, run) in runs.iter().enumerate() {
        let values: Vec<String> = run.iter().map(|&value| format!("{bits}'d{}", of(value))).collect();
        let _ = writeln!(out, "    '{{{}}}{}", values.join(", "), if index + 1 < runs.len() { "," } else { "" });
    }
    let _ = writeln!(out, "  }};");
}

fn module(out: &mut String, one: &OnBench<'_>) {
    let (design, name) = (one.design, one.name);
    let _ = writeln!(out, "module bench_{name} (input logic clk, input logic rst_n, output logic finished);");
    let _ = writeln!(out, "  localparam int Runs = {};", one.runs.len());
    let _ = writeln!(out, "  logic start, idle, done, ran;\n  int run, slot;");
    let mut connections = vec![".clk_i(clk), .rst_ni(rst_n), .start_i(start), .idle_o(idle), .done_o(done)".to_owned()];
    let mut load = String::new();
    let mut clocked = String::new();
    let mut check = String::new();
    // The places of the longest memory inside. The host writes them before a run and reads them after it.
    let mut longest = 0;
    for memory in &design.program.memories {
        if design.is_inside(memory, &Options { name, source: "", memories: one.memories })
            && memory.role == Role::Parameter
        {
            longest = longest.max(Layout::of(memory).banks * Layout::of(memory).depth);
        }
    }
    let _ = writeln!(out, "  localparam int Longest = {longest};");
    for (number, memory) in design.program.memories.iter().enumerate() {
        if !matches!(memory.role, Role::Parameter | Role::Result) {
            continue;
        }
        let contents = |of: fn(&Run) -> &State| {
            one.runs.iter().map(|run| placed(memory, &of(run).memories[number])).collect::<Vec<_>>()
        };
        let (before, after) = (contents(|run| &run.before), contents(|run| &run.after));
        let (id, bits, layout) = (&memory.name, memory.bits(), Layout::of(memory));
        let (banks, depth) = (layout.banks, layout.depth);
        table(out, &format!("Before_{id}"), bits, &before, Option::unwrap_or_default);
        table(out, &format!("After_{id}"), bits, &after, Option::unwrap_or_default);
        table(out, &format!("Care_{id}"), 1, &after, |value| i128::from(value.is_some()));
        let element = format!("[{}:0]", bits - 1);
        let compare = |found: &str| {
            format!(
                "        for (int i = 0; i < {}; i++) if (Care_{id}[run][i] && {found} !== After_{id}[run][i])\n          \
                 $fatal(1, \"{name}: {id}: place %0d of run %0d is %0d, not %0d\", i, run, {found}, After_{id}[run][i]);\n",
                banks * depth
            )
        };
        let banked = format!("[{}:0]", banks - 1);
        let row = format!("[{}:0]", address_bits(depth) - 1);
        if memory.mode == Some(Mode::Stream) {
            let _ = writeln!(out, "  logic {id}_valid, {id}_ready;\n  logic {element} {id}_data;\n  int {id}_at;");
            let _ = writeln!(load, "        {id}_at <= 0;");
            if design.is_stream_written(memory) {
                connections
                    .push(format!(".{id}_valid_o({id}_valid), .{id}_ready_i({id}_ready), .{id}_data_o({id}_data)"));
                let _ = writeln!(out, "  logic {element} {id}[{}];", banks * depth);
                let _ = writeln!(clocked, "      {id}_ready <= $urandom_range(3) != 0;");
                let _ = writeln!(
                    clocked,
                    "      if ({id}_valid && {id}_ready) begin\n        {id}[{id}_at] <= {id}_data;\n        {id}_at <= {id}_at + 1;\n      end"
                );
                check.push_str(&compare(&format!("{id}[i]")));
            } else {
                connections
                    .push(format!(".{id}_valid_i({id}_valid), .{id}_ready_o({id}_ready), .{id}_data_i({id}_data)"));
                let _ = writeln!(out, "  assign {id}_data = {id}_valid ? Before_{id}[run][{id}_at] : {bits}'(slot);");
                // An offered element stays until the module takes it.
                let _ = writeln!(
                    clocked,
                    "      if ({id}_valid && {id}_ready) {id}_at <= {id}_at + 1;\n      {id}_valid <= ({id}_valid && !{id}_ready) || \
                     ($urandom_range(3) != 0 && {id}_at + int'({id}_valid) < {});",
                    banks * depth
                );
                let _ = writeln!(load, "        {id}_valid <= 1'b0;");
            }
        } else if memory.role == Role::Result || is_registers(memory) {
            let gives = memory.role == Role::Result || !memory.lengths.is_empty();
            if gives {
                let _ = writeln!(out, "  logic {banked}{element} {id}_out;");
                connections.push(format!(".{id}_o({id}_out)"));
                check.push_str(&compare(&format!("{id}_out[i]")));
            }
            if memory.role == Role::Parameter {
                let _ = writeln!(out, "  logic {banked}{element} {id}_in;");
                let _ =
                    writeln!(out, "  always_comb for (int i = 0; i < {banks}; i++) {id}_in[i] = Before_{id}[run][i];");
                connections.push(format!(".{id}_i({id}_in)"));
            }
        } else {
            let _ = writeln!(out, "  logic {element} {id}[{}];", banks * depth);
            let inside = design.is_inside(memory, &Options { name, source: "", memories: one.memories });
            if inside {
                on_bench_inside(out, &mut connections, &mut clocked, memory, &layout);
                check.push_str(&compare(&format!("{id}[i]")));
                continue;
            }
            let _ =
                writeln!(load, "        for (int i = 0; i < {}; i++) {id}[i] <= Before_{id}[run][i];", banks * depth);
            check.push_str(&compare(&format!("{id}[i]")));
            match memory.ports {
                Ports::ReadAndWrite => {
                    let _ =
                        writeln!(out, "  logic {banked} {id}_re, {id}_we;\n  logic {banked}{row} {id}_ra, {id}_wa;");
                    let _ = writeln!(out, "  logic {banked}{element} {id}_rd, {id}_wd;");
                    connections.push(format!(
                        ".{id}_read_en_o({id}_re), .{id}_read_addr_o({id}_ra), .{id}_read_data_i({id}_rd)"
                    ));
                    connections.push(format!(
                        ".{id}_write_en_o({id}_we), .{id}_write_addr_o({id}_wa), .{id}_write_data_o({id}_wd)"
                    ));
                    let _ = writeln!(
                        clocked,
                        "      for (int b = 0; b < {banks}; b++) begin\n        if ({id}_re[b]) {id}_rd[b] <= {id}[b * {depth} + int'({id}_ra[b])];\n        \
                         if ({id}_we[b]) {id}[b * {depth} + int'({id}_wa[b])] <= {id}_wd[b];\n      end"
                    );
                }
                Ports::TwoOfAny => {
                    let _ =
                        writeln!(out, "  logic {banked}[1:0] {id}_en, {id}_we;\n  logic {banked}[1:0]{row} {id}_a;");
                    let _ = writeln!(out, "  logic {banked}[1:0]{element} {id}_rd, {id}_wd;");
                    connections.push(format!(".{id}_en_o({id}_en), .{id}_write_o({id}_we), .{id}_addr_o({id}_a)"));
                    connections.push(format!(".{id}_read_data_i({id}_rd), .{id}_write_data_o({id}_wd)"));
                    let _ = writeln!(
                        clocked,
                        "      for (int b = 0; b < {banks}; b++) for (int p = 0; p < 2; p++) begin\n        \
                         if ({id}_en[b][p]) {id}_rd[b][p] <= {id}[b * {depth} + int'({id}_a[b][p])];\n        \
                         if ({id}_en[b][p] && {id}_we[b][p]) {id}[b * {depth} + int'({id}_a[b][p])] <= {id}_wd[b][p];\n      end"
                    );
                }
            }
        }
    }
    let _ = writeln!(out, "  {name} u_dut ({});", connections.join(",\n    "));
    let _ = writeln!(out, "  always @(posedge clk) begin\n    if (!rst_n) begin");
    let _ = writeln!(
        out,
        "      run <= 0;\n      slot <= 0;\n      start <= 1'b0;\n      ran <= 1'b0;\n      finished <= 1'b0;\n    end else begin"
    );
    out.push_str(&clocked);
    let _ = writeln!(out, "      slot <= slot + 1;\n      start <= slot == {longest};");
    let _ = writeln!(out, "      if (slot == 0) begin\n{load}      end");
    let _ = writeln!(out, "      if (slot == {longest} + {LIMIT}) $fatal(1, \"{name}: a run does not end\");");
    let _ = writeln!(
        out,
        "      if (slot > {longest} && done) begin\n        ran <= 1'b1;\n        slot <= {longest} + 10;\n      end"
    );
    // The last element arrives two cycles after the request for its row.
    let _ = writeln!(
        out,
        "      if (ran && slot == {} && !finished) begin\n{check}        slot <= 0;\n        ran <= 1'b0;",
        2 * longest + 13
    );
    let _ = writeln!(out, "        if (run + 1 == Runs) finished <= 1'b1;\n        else run <= run + 1;\n      end");
    let _ = writeln!(out, "    end\n  end\nendmodule\n");
}

/// A memory inside of the module: places are written one after another before a run and read after it.
fn on_bench_inside(
    out: &mut String,
    connections: &mut Vec<String>,
    clocked: &mut String,
    memory: &Memory,
    layout: &Layout,
) {
    let (id, bits, banks, depth) = (&memory.name, memory.bits(), layout.banks, layout.depth);
    let (bank, row) = (address_bits(banks), address_bits(depth));
    let places = banks * depth;
    let _ = writeln!(
        out,
        "  logic {id}_en, {id}_write;\n  logic [{}:0] {id}_bank;\n  logic [{}:0] {id}_row;",
        bank - 1,
        row - 1
    );
    let _ = writeln!(out, "  logic [{}:0] {id}_given, {id}_taken;\n  int {id}_place;", bits - 1);
    // Slots 0 to Longest - 1 write, and slots from Longest + 10 on read.
    let _ = writeln!(out, "  assign {id}_place = ran ? slot - Longest - 10 : slot;");
    let _ = writeln!(out, "  assign {id}_en = {id}_place >= 0 && {id}_place < {places};\n  assign {id}_write = !ran;");
    let _ = writeln!(
        out,
        "  assign {id}_bank = {bank}'({id}_place / {depth});\n  assign {id}_row = {row}'({id}_place % {depth});"
    );
    let _ = writeln!(out, "  assign {id}_given = {id}_en ? Before_{id}[run][{id}_place] : '0;");
    connections.push(format!(".{id}_en_i({id}_en), .{id}_write_i({id}_write), .{id}_row_i({id}_row)"));
    connections.push(format!(".{id}_data_i({id}_given), .{id}_data_o({id}_taken)"));
    if banks > 1 {
        connections.push(format!(".{id}_bank_i({id}_bank)"));
    }
    let _ = writeln!(
        clocked,
        "      if (ran && {id}_place > 1 && {id}_place <= {places} + 1) {id}[{id}_place - 2] <= {id}_taken;"
    );
}
