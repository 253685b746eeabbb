//! The proofs of hw/formal/proof_hls_*.sv: modules of small kernels, each next to the unscheduled program as one function.
//!
//! `hw/flow/prove.py hls` proves that a module leaves in its memories what the function gives, for all contents.
//! `CIPHERMILL_REWRITE_GOLDEN=1 cargo test -p ciphermill-hls --test proofs` writes the files.

mod reference;

use std::fmt::Write as _;
use std::path::Path;

use ciphermill_hls::analysis::{Layout, is_registers};
use ciphermill_hls::ir::{Memory, Role};
use ciphermill_hls::schedule::Target;
use ciphermill_hls::{Design, Memories, Options, Source};
use reference::Reference;

/// The name of a kernel, and a condition for its schedule, without which the proof would be about something else.
type Kernel = (&'static str, fn(&Design) -> bool);
const KERNELS: [Kernel; 8] = [
    ("sums", |design| design.kernels[0].schedule.interval > 1),
    ("remainders", |design| design.kernels[0].schedule.interval == 1),
    ("windows", |design| design.kernels[0].schedule.interval == 2),
    ("stages", |design| design.kernels[0].schedule.gap > 0),
    ("banks", |design| design.kernels[0].schedule.interval == 1),
    ("strides", |design| design.kernels[0].schedule.interval == 1),
    ("tables", |design| design.program.memories.iter().any(|one| matches!(one.role, Role::Table(_)))),
    ("counts", |design| design.kernels[0].schedule.interval > 1),
];

#[test]
fn proofs_are_those_of_the_compiler() {
    let formal = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hw/formal");
    let source = Source::read(&formal.join("hls.c")).unwrap_or_else(|error| panic!("{error}"));
    let listed = std::fs::read_to_string(formal.join("proofs.toml")).expect("hw/formal/proofs.toml");
    let mut missing = String::new();
    for (name, is_as_meant) in KERNELS {
        let design = source.compile(&[], name, &Target::ecp5(120.0)).unwrap_or_else(|error| panic!("{name}: {error}"));
        let schedule = &design.kernels[0].schedule;
        assert!(is_as_meant(&design), "{name}: interval {}, gap {}", schedule.interval, schedule.gap);
        let (made, steps) = (proof(name, &design), Run::of(&design).end + 2);
        let path = formal.join(format!("proof_hls_{name}.sv"));
        if std::env::var_os("CIPHERMILL_REWRITE_GOLDEN").is_some() {
            std::fs::write(&path, &made).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        }
        let known = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert!(made == known, "{} is not what the compiler makes", path.display());
        // The last step is the one in which the result is compared.
        let entry = format!("top = \"proof_hls_{name}\"\nmethod = \"bmc\"\ndepth = {steps}\n");
        if !listed.contains(&entry) {
            missing.push_str(&entry);
        }
    }
    assert!(missing.is_empty(), "hw/formal/proofs.toml lacks\n{missing}");
}

/// The cycles of a proof: reset, writes, the run, a read of every memory.
struct Run {
    start: u64,
    done: u64,
    end: u64,
}

impl Run {
    fn of(design: &Design) -> Self {
        let start = 1 + parameters(design).map(|memory| memory.len() as u64).max().unwrap_or(0);
        let done = start + design.run_cycles();
        Self { start, done, end: done + 4 }
    }
}

fn parameters(design: &Design) -> impl Iterator<Item = &Memory> {
    let all = design.program.memories.iter().filter(|memory| memory.role == Role::Parameter);
    all.inspect(|memory| assert!(!is_registers(memory), "{} is not a memory", memory.name))
}

/// The module, and the proof around it.
fn proof(name: &str, design: &Design) -> String {
    let options = Options { name: &format!("hls_{name}"), source: "hw/formal/hls.c", memories: Memories::Inside };
    let (run, reference) = (Run::of(design), Reference::of(&design.program));
    let mut text = format!("{}\n", design.to_systemverilog(&options));
    let _ =
        writeln!(text, "// hls_{name} leaves what the unscheduled program leaves, for all contents of its memories.");
    let _ = writeln!(text, "module proof_hls_{name} (\n  input logic clk_i\n);");
    let _ = writeln!(text, "  logic [7:0] cycle_q;\n  logic       idle, done;\n  initial cycle_q = '0;");
    let _ = writeln!(text, "  always_ff @(posedge clk_i) if (cycle_q != 8'd{}) cycle_q <= cycle_q + 1'b1;\n", run.end);
    let mut ports = String::new();
    parameters(design).for_each(|memory| host(&mut text, &mut ports, memory, &run));
    let _ = writeln!(
        text,
        "  hls_{name} u_dut (\n    .clk_i, .rst_ni(cycle_q != '0), .start_i(cycle_q == 8'd{}),",
        run.start
    );
    let _ = writeln!(text, "    .idle_o(idle), .done_o(done){ports}\n  );\n");
    let _ = write!(
        text,
        "  // The unscheduled program.\n{}  always_comb begin\n{}  end\n\n",
        reference.declarations(),
        reference.statements()
    );
    let _ = writeln!(text, "  always_comb begin");
    let _ = writeln!(text, "    length: assert (cycle_q == '0 || done == (cycle_q == 8'd{}));", run.done);
    for memory in parameters(design) {
        let id = &memory.name;
        let _ = writeln!(
            text,
            "    {id}_right: assert (cycle_q != 8'd{} || {id}_data == {id}_after[{id}_place_q]);",
            run.end
        );
    }
    text + "  end\nendmodule\n"
}

/// The host's side of a memory: it writes any contents, and reads any element.
fn host(text: &mut String, ports: &mut String, memory: &Memory, run: &Run) {
    let (id, layout, length, bits) = (&memory.name, Layout::of(memory), memory.len(), memory.bits());
    let width = |count: usize| (count.max(2) - 1).ilog2() + 1;
    let (place, bank, row) = (width(length), width(layout.banks), width(layout.depth));
    let _ = writeln!(text, "  // Any contents of {id}, and any element.");
    let _ = writeln!(
        text,
        "  logic [{}:0][{}:0] {id}_q;\n  logic [{}:0] {id}_place_q, {id}_place;",
        length - 1,
        bits - 1,
        place - 1
    );
    let _ = writeln!(text, "  logic {id}_writes;\n  logic [{}:0] {id}_data;", bits - 1);
    let _ = writeln!(text, "  logic [{}:0] {id}_bank;\n  logic [{}:0] {id}_row;", bank - 1, row - 1);
    let _ = writeln!(
        text,
        "  always_ff @(posedge clk_i) begin\n    {id}_q       <= {id}_q;\n    {id}_place_q <= {id}_place_q;\n  end"
    );
    let _ = writeln!(text, "  assign {id}_writes = cycle_q != '0 && cycle_q <= 8'd{length};");
    let _ = writeln!(text, "  assign {id}_place  = {id}_writes ? {place}'(cycle_q - 8'd1) : {id}_place_q;");
    let _ = writeln!(text, "  always_comb begin\n    {id}_bank = '0;\n    {id}_row  = '0;\n    case ({id}_place)");
    for element in 0..length {
        let (at_bank, at_row) = layout.place(memory.indices(element));
        let _ = writeln!(
            text,
            "      {place}'d{element}: begin\n        {id}_bank = {bank}'d{at_bank};\n        {id}_row  = {row}'d{at_row};\n      end"
        );
    }
    let _ = writeln!(text, "      default: ;\n    endcase\n  end\n");
    let _ = write!(ports, ",\n    .{id}_en_i({id}_writes || cycle_q > 8'd{}), .{id}_write_i({id}_writes)", run.done);
    if layout.banks > 1 {
        let _ = write!(ports, ", .{id}_bank_i({id}_bank)");
    }
    let _ = write!(ports, ",\n    .{id}_row_i({id}_row), .{id}_data_i({id}_q[{id}_place]), .{id}_data_o({id}_data)");
}
