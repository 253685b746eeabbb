//! A graph of 60,000 operations in one chain passes all steps on a small stack.

use ciphermill_hls::ir::State;
use ciphermill_hls::report::Report;
use ciphermill_hls::schedule::Target;
use ciphermill_hls::{Argument, Memories, Options, Source};

/// The stack of a thread of Rust, in bytes.
const STACK: usize = 2 << 20;
const LINKS: usize = 15_000;

/// Each link adds four operations, each of which needs the one before.
fn chain() -> Source {
    let text = format!(
        "void f(unsigned char a[4]) {{
  for (unsigned i = 0; i < 4; i++) {{
#pragma HLS pipeline
    unsigned char x = a[i];
    for (unsigned k = 0; k < {LINKS}; k++) {{
      x = (x >> 1) ^ 3;
      x = (x >> 1) ^ 5;
    }}
    a[i] = x;
  }}
}}"
    );
    Source::new("chain.c", text)
}

fn compiles() {
    // At a slow clock the chain fits the greatest depth of a pipeline.
    let (source, target) = (chain(), Target::ecp5(1.0));
    let design = source.compile(&[], "f", &target).unwrap_or_else(|error| panic!("{error}"));
    assert!(design.kernels[0].kernel.graph.len() >= 4 * LINKS, "{}", design.kernels[0].kernel.graph.len());
    let given: Vec<i128> = vec![0, 77, 128, 255];
    let mut state = State::before(&design.program, [given.clone()]);
    design.program.evaluate(&mut state).unwrap_or_else(|error| panic!("{error}"));
    let (_, expected) = source.interpret(&[], "f", &[Argument::Elements(given)]).expect("the reference");
    assert_eq!(state.arrays(&design.program).next(), Some(&expected[0][..]));
    let options = Options { name: "chain", source: "chain.c", memories: Memories::Inside };
    assert!(design.to_systemverilog(&options).ends_with("endmodule\n"));
    let report = Report::of(&design, &source, &[], &target);
    assert!(report.picture().contains("</svg>") && !report.schedule_text().is_empty());
}

#[test]
fn a_long_chain_needs_no_deep_stack() {
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(compiles).expect("a thread");
    assert!(thread.join().is_ok(), "a step fails");
}

/// Functions inside of one another, each with many blocks around its call: refused or compiled, on the same stack.
#[test]
fn blocks_and_calls_inside_of_one_another_have_a_bound() {
    let blocks = 240;
    let (open, close) = ("{".repeat(blocks), "}".repeat(blocks));
    let mut text = format!("static void g0(unsigned char a[4]) {open} a[0] = 1; {close}\n");
    for number in 1..64 {
        text += &format!("static void g{number}(unsigned char a[4]) {open} g{}(a); {close}\n", number - 1);
    }
    text += "void f(unsigned char a[4]) { g63(a); }";
    let compile = move || {
        Source::new("blocks.c", text).compile(&[], "f", &Target::ecp5(100.0)).err().map(|error| error.to_string())
    };
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(compile).expect("a thread");
    let error = thread.join().expect("no overflow").expect("a refusal");
    assert!(error.contains("nested more than 512 deep"), "{error}");
}
