//! Modules in Verilator: streams of several elements an iteration, products that share multipliers, and dependences that a pragma
//! declares to be absent and that depend on data. The latter are also in the report.

mod verilator;

use std::path::Path;

use ciphermill_hls::analysis::is_block;
use ciphermill_hls::ir::{Memory, Role, State};
use ciphermill_hls::report::Report;
use ciphermill_hls::schedule::Target;
use ciphermill_hls::{Argument, Design, Memories, OnBench, Options, Run, Scheduled, Source, bench};
use ciphermill_testing::{Need, not_run};

/// Products gathered by keys, in a memory or in registers.
const GATHER: &str = "#include <stdint.h>
void gather(uint8_t keys[32], uint16_t factors[32], uint16_t sums[16]) {
  for (unsigned i = 0; i < 32; i++) {
#pragma HLS pipeline II=1
#pragma HLS dependence variable=sums inter false
    uint8_t key = keys[i] & 15;
    sums[key] = ((uint32_t)(sums[key] & 4095) * (factors[i] & 4095) + 1) % 3329;
  }
}
void gather_registers(uint8_t keys[32], uint16_t factors[32], uint16_t sums[16]) {
#pragma HLS array_partition variable=sums complete
  for (unsigned i = 0; i < 32; i++) {
#pragma HLS pipeline II=2
#pragma HLS dependence variable=sums inter false
    uint8_t key = keys[i] & 15;
    if (factors[i] > 0) sums[key] = ((uint32_t)(sums[key] & 4095) * (factors[i] & 4095) + 1) % 3329;
  }
}
";

/// Each iteration reads two elements of a stream, one of which it does not use, and writes two. The first one takes longer.
const PAIRS: &str = "#include <stdint.h>
void pairs(uint8_t a[16], uint16_t b[16]) {
#pragma HLS interface axis port=a
#pragma HLS interface axis port=b
  for (unsigned i = 0; i < 8; i++) {
#pragma HLS pipeline
    uint8_t unused = a[2 * i];
    uint8_t used = a[2 * i + 1];
    b[2 * i] = (uint32_t)used * used * used % 3329;
    b[2 * i + 1] = used;
  }
}
";

/// Streams next to memories, which go on while a stream stalls, and several streams of a kind, of which one may stall alone.
const STALLS: &str = "#include <stdint.h>
void from_memory(uint8_t a[32], uint8_t b[32]) {
#pragma HLS interface axis port=b
  for (unsigned i = 0; i < 32; i++) {
#pragma HLS pipeline II=1
    b[i] = a[i];
  }
}
void to_memory(uint8_t a[16], uint8_t b[16], uint8_t c[16]) {
#pragma HLS interface axis port=a
#pragma HLS array_partition variable=b cyclic factor=2 dim=1
#pragma HLS bind_storage variable=c type=ram_t2p
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline II=1
    c[i] = a[i] ^ b[15 - i] ^ c[i];
  }
}
void pairs_of_streams(uint8_t a[16], uint8_t b[16], uint8_t c[16], uint8_t d[16]) {
#pragma HLS interface axis port=a
#pragma HLS interface axis port=b
#pragma HLS interface axis port=c
#pragma HLS interface axis port=d
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline II=1
    uint8_t x = a[i], y = b[i];
    c[i] = x ^ y;
    d[i] = x & y;
  }
}
";

/// Reads whose values are not used, through a table, and through a product that could share a multiplier.
const UNUSED: &str = "#include <stdint.h>
static const uint8_t w[8] = {3, 1, 4, 1, 5, 2, 6, 0};
void through_a_table(uint8_t a[8], uint8_t b[8]) {
  for (unsigned i = 0; i < 8; i++) {
#pragma HLS pipeline
    uint8_t unused = a[w[i]];
    b[i] = i;
  }
}
void through_a_product(uint16_t a[16], uint16_t b[16], uint16_t t[4096]) {
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline II=2
    uint16_t x = a[i], y = b[i];
    uint16_t unused = t[(uint32_t)(x ^ y) * (x | 1) & 4095];
    b[i] = (uint32_t)x * y & 65535;
  }
}
";

/// Products that share multipliers: in one loop, in a nest whose stages overlap, and next to a stream, which stalls them.
const SHARED: &str = "#include <stdint.h>
void shared(uint16_t a[48], uint32_t b[16]) {
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline
    uint16_t x = a[i], y = a[i + 16], z = a[i + 32];
    b[i] = ((uint32_t)x * y & 65535) * z ^ (uint32_t)y * z;
  }
}
void shared_in_stages(uint16_t a[64]) {
  for (unsigned s = 0; s < 3; s++)
    for (unsigned i = 0; i < 12; i++) {
#pragma HLS pipeline
      unsigned x = a[i], y = a[i + 16], z = a[i + 32];
      a[i] = ((uint64_t)x * y & 1023) * z & 65535;
      a[i + 16] = (uint64_t)y * (z ^ 5) & 65535;
      a[i + 32] = (uint64_t)x * (z | 1) & 65535;
    }
}
void shared_and_stalled(uint16_t a[48], uint32_t b[16]) {
#pragma HLS interface axis port=b
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline
    uint16_t x = a[i], y = a[i + 16], z = a[i + 32];
    b[i] = ((uint32_t)x * y & 65535) * z ^ (uint32_t)y * z;
  }
}
";

/// Products wider than a multiplier: of unlike operands, shared, and next to a stream, which stalls them.
const WIDE: &str = "#include <assert.h>
#include <stdint.h>
void wide(uint32_t a[16], uint64_t b[16]) {
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline II=1
    assert(b[i] < (uint64_t)1 << 50);
    b[i] = (a[i] & 8191) * b[i] >> 13;
  }
}
void wide_shared(uint32_t a[48], uint64_t b[16]) {
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline
    uint64_t x = a[i], y = a[i + 16] & 524287, z = a[i + 32];
    b[i] = x * y ^ y * z ^ x * z;
  }
}
void wide_shared_and_stalled(uint32_t a[48], uint64_t b[16]) {
#pragma HLS interface axis port=b
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline
    uint64_t x = a[i], y = a[i + 16] & 524287, z = a[i + 32];
    b[i] = x * y ^ y * z ^ x * z;
  }
}
void wider(uint64_t a[16], uint64_t b[16]) {
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline II=1
    assert(a[i] < (uint64_t)1 << 57);
    b[i] = a[i] * (a[i] >> 50 | 1);
  }
}
void wide_below_zero(uint32_t a[16], uint32_t c[16], uint32_t b[16]) {
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline II=1
    uint32_t x = a[i], y = c[i];
    b[i] = x >= y ? (uint64_t)(x - y) * y & 4294967295 : 0;
  }
}
void low_bits(uint32_t a[16], uint32_t c[16], uint32_t b[16]) {
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline II=1
    uint32_t x = a[i], y = c[i];
    b[i] = ((uint64_t)x * y & 1048575) ^ x >> 24 ^ y >> 24;
  }
}
void wide_stalled(uint32_t a[16], uint64_t b[16]) {
#pragma HLS interface axis port=b
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline II=1
    uint32_t x = a[i];
    b[i] = (uint64_t)x * (x | 1);
  }
}
";

/// Values below zero that become wider.
const BELOW: &str = "#include <stdint.h>
void below_zero(uint8_t a[16], uint8_t c[16], uint16_t b[16], uint32_t d[16]) {
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline II=1
    uint8_t x = a[i], y = c[15 - i];
    b[i] = x - y + 3000;
    d[i] = (x - y) * 37 + 70000 ^ (x < y ? y - x : x - y) * 9000;
  }
}
";

/// Names and indices of which each once made signals that were declared twice or not at all: a variable like a loop with its
/// label, an array like an access next to a stream, and products that only the indices of streams use.
const NAMES: &str = "#include <stdint.h>
void labels(uint32_t a[16], uint64_t b[16]) {
i_n8_a:
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline II=1
    uint64_t x = a[i];
    uint64_t l0_i = x * (x ^ 5);
    b[i] = l0_i;
  }
}
void accesses(uint32_t a[16], uint64_t x3[16], uint32_t s[16]) {
#pragma HLS interface axis port=s
  for (unsigned i = 0; i < 16; i++) {
#pragma HLS pipeline II=1
    x3[i] = (x3[i] & 255) + s[i] + a[i];
  }
}
void indices(uint32_t a[64], uint32_t s[64], uint32_t u[64]) {
#pragma HLS interface axis port=s
#pragma HLS interface axis port=u
  for (unsigned i = 0; i < 64; i++) {
#pragma HLS pipeline II=2
    uint32_t v = a[i];
    s[(i * i + i) - i * i] = v ^ 1;
    u[(((uint64_t)(i + 300000) * (i + 5)) + i) - (uint64_t)(i + 300000) * (i + 5)] = v ^ 3;
  }
}
";

/// Banks and a table that are too large for LUTs, alone and next to a stream, which stalls them.
const DEEP: &str = "#include <stdint.h>
static void fill(uint16_t w[600]) {
  for (unsigned i = 0; i < 600; i++) w[i] = i * 40503 >> 3 & 65535;
}
void deep(uint16_t a[600], uint16_t b[600]) {
#pragma HLS array_partition variable=a cyclic factor=2 dim=1
  static uint16_t w[600];
  fill(w);
  for (unsigned i = 0; i < 600; i++) {
#pragma HLS pipeline II=1
    b[i] = a[599 - i] ^ w[599 - i];
  }
}
void deep_in_place(uint16_t a[600]) {
#pragma HLS interface ap_memory port=a
  for (unsigned i = 0; i < 599; i++) {
#pragma HLS pipeline II=1
    a[i] = a[i + 1] ^ 21845;
  }
}
void deep_stalled(uint16_t a[600], uint16_t b[600]) {
#pragma HLS array_partition variable=a cyclic factor=2 dim=1
#pragma HLS interface axis port=b
  static uint16_t w[600];
  fill(w);
  for (unsigned i = 0; i < 600; i++) {
#pragma HLS pipeline II=1
    b[i] = a[599 - i] ^ w[599 - i];
  }
}
";

/// Memories outside of the module, of both kinds of ports and with names of the bench. In the second function, the elements of
/// `i` are read after the condition is known, just before the next iteration writes them.
const OUTSIDE: &str = "#include <stdint.h>
void outside(uint8_t b[16], uint16_t p[16], uint16_t run[16]) {
#pragma HLS interface ap_memory port=b
#pragma HLS interface ap_memory port=p
#pragma HLS array_partition variable=p cyclic factor=2
#pragma HLS bind_storage variable=p type=ram_t2p
  for (unsigned n = 0; n < 16; n++) {
#pragma HLS pipeline
    run[n] = p[15 - n] ^ b[n];
    p[n] = (uint32_t)b[n] * b[n] & 4095;
    b[n] = n;
  }
}
void outside_late(uint8_t slot[16], uint8_t i[17]) {
#pragma HLS interface ap_memory port=i
#pragma HLS bind_storage variable=i type=ram_t2p
  for (unsigned n = 0; n < 16; n++) {
#pragma HLS pipeline II=1
    if (slot[n] & 1) slot[n] = i[n + 1];
    i[n] = n;
  }
}
void outside_stalled(uint8_t a[16], uint8_t b[16], uint8_t p[16], uint8_t ran[16]) {
#pragma HLS interface axis port=a
#pragma HLS interface ap_memory port=b
#pragma HLS interface ap_memory port=p
#pragma HLS bind_storage variable=p type=ram_t2p
  for (unsigned n = 0; n < 16; n++) {
#pragma HLS pipeline II=1
    ran[n] = a[n] ^ b[n] ^ p[15 - n];
  }
}
";

/// A read of elements that nothing has written.
const UNWRITTEN: &str = "#include <stdint.h>
void unwritten(uint8_t a[8], uint8_t b[8]) {
  uint8_t t[16];
  for (unsigned i = 0; i < 8; i++) t[i] = a[i];
  for (unsigned i = 0; i < 8; i++) b[i] = t[a[i] % 8 | 8];
}
";

fn target() -> Target {
    Target::ecp5(120.0)
}

fn design(text: &str, function: &str) -> (Source, Design) {
    let source = Source::new("gather.c", text);
    let design = source.compile(&[], function, &target()).unwrap_or_else(|error| panic!("{error}"));
    (source, design)
}

/// The greatest number of iterations between two accesses whose order the schedule does not keep.
fn asserted(source: &Source, design: &Design) -> usize {
    let report = Report::of(design, source, &[], &target());
    report.kernels[0].trusted.iter().map(|one| one.asserted).max().unwrap_or(0)
}

#[test]
fn trust_is_reported() {
    let (source, design) = design(GATHER, "gather");
    let report = Report::of(&design, &source, &[], &target());
    let kernel = &report.kernels[0];
    assert_eq!(kernel.interval.reached, 1);
    let trusted: Vec<_> =
        kernel.trusted.iter().map(|one| (one.memory.as_str(), one.why.as_str(), one.place.line)).collect();
    assert_eq!(trusted, [("sums", "read after write", 5), ("sums", "write after write", 5)]);
    // Two writes are in order. A read comes before the write of earlier iterations.
    assert_eq!(kernel.trusted[1].asserted, 0);
    let (write, read) = (&kernel.accesses[kernel.trusted[0].first], &kernel.accesses[kernel.trusted[0].second]);
    assert_eq!(kernel.trusted[0].asserted as u32, write.cycle - read.cycle);
    let text = report.schedule_text();
    assert!(text.contains("Dependences that are trusted to be absent, and depend on data"), "{text}");
    assert!(text.contains(&format!("in iterations up to {} apart", write.cycle - read.cycle)), "{text}");
    assert_eq!(Report::from_json(&report.to_json()).expect("its own JSON"), report);
}

#[test]
fn without_the_pragma_nothing_is_trusted() {
    let text = GATHER.replace("#pragma HLS dependence variable=sums inter false\n", "").replace("II=1", "");
    let (source, design) = design(&text, "gather");
    let report = Report::of(&design, &source, &[], &target());
    assert!(report.kernels[0].trusted.is_empty() && report.kernels[0].interval.reached > 1);
    let options = Options { name: "gather", source: "gather.c", memories: Memories::Inside };
    assert!(!design.to_systemverilog(&options).contains("two iterations meet"));
}

#[test]
fn a_known_dependence_is_proved_and_not_trusted() {
    let text = GATHER.replace("keys[i] & 15", "i & 15").replace("32", "16");
    let (source, design) = design(&text, "gather");
    assert!(Report::of(&design, &source, &[], &target()).kernels[0].trusted.is_empty());
}

/// Keys that come again after `period` iterations, factors and sums.
fn keys(period: usize) -> Vec<Vec<i128>> {
    let keys = (0..32).map(|i| (i % period) as i128);
    vec![keys.collect(), (0..32).map(|i| 100 + 37 * i).collect(), (0..16).map(|i| 11 * i).collect()]
}

/// A run of a design on these elements of its parameters.
fn run_of(source: &Source, design: &Design, function: &str, given: Vec<Vec<i128>>) -> Run {
    let arguments: Vec<Argument> = given.iter().cloned().map(Argument::Elements).collect();
    let (_, left) = source.interpret(&[], function, &arguments).unwrap_or_else(|error| panic!("{error}"));
    Run { before: State::before(&design.program, given), after: State::after(&design.program, left, None) }
}

/// A design on the bench.
struct Module {
    name: &'static str,
    design: Design,
    memories: Memories,
    run: Run,
}

impl Module {
    fn inside(name: &'static str, design: Design, run: Run) -> Self {
        Self { name, design, memories: Memories::Inside, run }
    }

    /// The same with all memories outside of the module.
    fn outside(self, name: &'static str) -> Self {
        Self { name, memories: Memories::Outside, ..self }
    }

    fn text(&self) -> String {
        self.design.to_systemverilog(&Options { name: self.name, source: "gather.c", memories: self.memories })
    }
}

/// A module whose keys come again after `more` iterations, counted from the last unsafe one.
fn trusting(name: &'static str, function: &str, more: usize) -> Module {
    let (source, design) = design(GATHER, function);
    let mut run = run_of(&source, &design, function, keys(asserted(&source, &design) + more));
    // The results of data that break the trust are not those of the source.
    if more == 0 {
        run.after = State::new(&design.program);
    }
    Module::inside(name, design, run)
}

fn streaming() -> Module {
    let (source, design) = design(PAIRS, "pairs");
    let given = vec![(0..16).map(|i| (37 * i + 5) % 256).collect(), vec![0; 16]];
    let run = run_of(&source, &design, "pairs", given);
    Module::inside("pairs", design, run)
}

/// A function of a text on given contents.
fn module(text: &str, name: &'static str) -> Module {
    let (source, design) = design(text, name);
    let parameters = design.program.memories.iter().filter(|memory| memory.role == Role::Parameter);
    // One element has all bits, and the others are spread over all values.
    let element = |memory: &Memory, i: usize| match i {
        3 => memory.range.1,
        _ => (i as i128 + 5) * 0x9e37_79b9_7f4a_7c15 % (memory.range.1 + 1),
    };
    let given = parameters.map(|memory| (0..memory.len()).map(|i| element(memory, i)).collect()).collect();
    let run = run_of(&source, &design, name, given);
    Module::inside(name, design, run)
}

/// The modules and their bench.
fn sources(modules: &[Module]) -> String {
    // Two runs, the second of which begins in the state that the first one leaves.
    let runs = |one: &Module| vec![one.run.clone(), one.run.clone()];
    let on_bench = modules.iter().map(|one| OnBench {
        name: one.name,
        design: &one.design,
        memories: one.memories,
        runs: runs(one),
    });
    let on_bench: Vec<OnBench<'_>> = on_bench.collect();
    let texts = modules.iter().map(Module::text);
    let bench = bench(&on_bench).unwrap_or_else(|error| panic!("{error}"));
    std::iter::once(bench).chain(texts).collect()
}

/// Whether the bench ends well, and its output.
fn simulated(root: &Path, text: &str) -> (bool, String) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("bench.sv"), text).expect("room");
    let built = verilator::build(root, folder.path());
    assert!(built.status.success(), "verilator: {}", String::from_utf8_lossy(&built.stderr));
    let ran = verilator::run(folder.path());
    (ran.status.success(), String::from_utf8_lossy(&ran.stdout).into_owned() + &String::from_utf8_lossy(&ran.stderr))
}

#[test]
fn modules_keep_the_order_of_streams_and_assert_what_they_trust() {
    let Some(root) = verilator::find() else {
        return not_run(Need::Rtl, "streams and assertions of trusted dependences");
    };
    let stalls = ["from_memory", "to_memory", "pairs_of_streams"].map(|name| module(STALLS, name));
    let unused = ["through_a_table", "through_a_product"].map(|name| module(UNUSED, name));
    let shared = ["shared", "shared_in_stages", "shared_and_stalled"].map(|name| module(SHARED, name));
    let products = |one: &Module| one.design.kernels.iter().map(Scheduled::shared_products).sum::<usize>();
    assert!(shared.iter().all(|one| products(one) > 1), "{:?}", shared.each_ref().map(products));
    let wide =
        ["wide", "wide_shared", "wide_shared_and_stalled", "wider", "wide_below_zero", "low_bits", "wide_stalled"];
    let wide = wide.map(|name| module(WIDE, name));
    assert!(wide.iter().all(|one| !one.design.parts().is_empty()));
    assert!(wide[1..3].iter().all(|one| products(one) > 1));
    let cycles = |one: &Module| one.design.kernels[0].registers.iter().copied().max();
    assert!(cycles(&wide[3]) > cycles(&wide[0]), "registers after the instance");
    let names = ["labels", "accesses", "indices"].map(|name| module(NAMES, name));
    assert!(names[2].design.parts().is_empty(), "no product is in the hardware");
    let below = module(BELOW, "below_zero");
    let deep = ["deep", "deep_in_place", "deep_stalled"].map(|name| module(DEEP, name));
    assert!(deep.iter().flat_map(|one| &one.design.program.memories).filter(|one| is_block(one)).count() > 4);
    let others = [
        streaming(),
        trusting("memory_kept", "gather", 1),
        trusting("memory_broken", "gather", 0),
        trusting("registers_kept", "gather_registers", 1),
        trusting("registers_broken", "gather_registers", 0),
    ];
    let outside = ["outside", "outside_late", "outside_stalled"].map(|name| module(OUTSIDE, name)).into_iter();
    let outside = outside.chain([
        module(STALLS, "to_memory").outside("to_memory_outside"),
        module(DEEP, "deep").outside("deep_outside"),
    ]);
    let modules: Vec<Module> = stalls
        .into_iter()
        .chain(unused)
        .chain(shared)
        .chain(wide)
        .chain(names)
        .chain([below])
        .chain(deep)
        .chain(others)
        .chain(outside)
        .collect();
    for one in &modules {
        let warnings = verilator::warnings(&root, one.name, &one.text());
        assert!(warnings.is_empty(), "{}: {warnings}", one.name);
    }
    let (success, text) = simulated(&root, &sources(&modules));
    assert!(success && text.contains("all right"), "{text}");
    let raised = |one: &Module| {
        let in_module = format!("u_{}.", one.name);
        text.lines().any(|line| line.contains(&in_module) && line.contains("two iterations meet in an element of sums"))
    };
    let raised: Vec<&str> = modules.iter().filter(|one| raised(one)).map(|one| one.name).collect();
    assert_eq!(raised, ["memory_broken", "registers_broken"], "{text}");
}

#[test]
fn an_element_that_nothing_has_written_has_any_value() {
    let Some(root) = verilator::find() else {
        return not_run(Need::Rtl, "elements that nothing has written");
    };
    let (_, design) = design(UNWRITTEN, "unwritten");
    let given = vec![(0..8).collect(), vec![0; 8]];
    let after = State::after(&design.program, vec![vec![None; 8], vec![Some(0); 8]], None);
    let run = Run { before: State::before(&design.program, given), after };
    let (success, text) = simulated(&root, &sources(&[Module::inside("unwritten", design, run)]));
    assert!(!success && text.contains("unwritten: b: place 0 of run 0 is"), "{text}");
}

#[test]
fn elements_of_a_stream_follow_one_another_in_the_schedule() {
    let (_, design) = design(PAIRS, "pairs");
    let one = &design.kernels[0];
    for memory in 0..design.program.memories.len() {
        let accesses: Vec<usize> =
            (0..one.kernel.accesses.len()).filter(|&access| one.kernel.accesses[access].memory == memory).collect();
        assert_eq!(accesses.len(), 2);
        let times: Vec<u64> = (0..one.kernel.iterations())
            .flat_map(|iteration| accesses.iter().map(move |&access| (iteration, access)))
            .map(|(iteration, access)| {
                one.schedule.start(&one.kernel, iteration) + u64::from(one.schedule.accesses[access])
            })
            .collect();
        assert!(times.is_sorted_by(|first, second| first < second), "{times:?}");
        assert!(accesses.iter().all(|&access| one.is_used(access)), "an element is not taken");
    }
}
