//! Sources that need many steps: the compiler ends in bounded time, with a schedule or a refusal.

use std::fmt::Write;
use std::time::Duration;

use ciphermill_hls::schedule::Target;
use ciphermill_hls::{Design, Diagnostic, Source};

/// Most time of a thread for one source. Each takes a few seconds.
const LIMIT: Duration = Duration::from_secs(20);

/// The time for which this thread has run.
fn time() -> Duration {
    let path = "/proc/thread-self/schedstat";
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let nanoseconds = text.split_whitespace().next().and_then(|first| first.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or_else(|| panic!("{path}: {text}")))
}

/// The schedule of a function `f`, in bounded time.
fn compiled(text: &str) -> Result<Design, Diagnostic> {
    let source = Source::new("f.c", format!("#include <stdint.h>\n{text}"));
    let begun = time();
    let result = source.compile(&[], "f", &Target::ecp5(120.0));
    let spent = time() - begun;
    println!("{spent:?}");
    assert!(spent < LIMIT, "{spent:?} with this source:\n{:.2000}", text);
    result
}

/// Two of three reads an iteration, another pair in each third of the run.
#[test]
fn ports_that_no_gap_mends_are_checked_once() {
    let (all, third) = (1 << 19, (1 << 19) / 3);
    let text = format!(
        "void f(uint8_t a[8], uint8_t b[8]) {{
#pragma HLS bind_storage variable=a type=ram_t2p
  for (unsigned i = 0; i < {all}; i++) {{
#pragma HLS pipeline
    uint8_t x = 0, y = 0, z = 0;
    if (i < {}) x = a[i & 7];
    if (i < {third} || i >= {}) y = a[(i + 1) & 7];
    if (i >= {third}) z = a[(i + 2) & 7];
    b[i & 7] = x ^ y ^ z;
  }}
}}",
        2 * third,
        2 * third
    );
    let design = compiled(&text).unwrap_or_else(|error| panic!("{error}"));
    assert!(design.kernels[0].schedule.interval < 8, "{}", design.kernels[0].schedule.interval);
}

/// Reads of an array, their sum, and as many writes, in each of several kernels.
fn sums(kernels: usize, reads: usize) -> String {
    let mut text = format!("void f(uint8_t a[{reads}], uint8_t b[{reads}]) {{\n");
    for _ in 0..kernels {
        text += "  for (unsigned i = 0; i < 2; i++) {\n#pragma HLS pipeline\n    uint8_t x = i;\n";
        (0..reads).for_each(|read| writeln!(text, "    x ^= a[{read}];").expect("a line"));
        (0..reads).for_each(|write| writeln!(text, "    b[{write}] = x;").expect("a line"));
        text += "  }\n";
    }
    text + "}"
}

#[test]
fn many_kernels_share_the_steps() {
    let design = compiled(&sums(100, 320)).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(design.kernels.len(), 100);
}

/// The facts of all assertions hold at the last one. No two of them compare the same elements.
#[test]
fn many_assertions_are_lowered_in_time() {
    let mut text = "#include <assert.h>\nvoid f(uint8_t a[256], uint8_t b[256]) {\n".to_owned();
    for at in 0..16_000 {
        let (x, y) = (at % 256, (at + at / 256 + 1) % 256);
        writeln!(text, "  assert(b[{x}] <= b[{y}]);").expect("a line");
    }
    let design = compiled(&(text + "  a[0] = b[0];\n}")).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(design.kernels.len(), 1);
}

/// A loop in each of several kernels, with `count` statements of an iteration.
fn kernels(kernels: usize, iterations: usize, count: usize, statement: &str) -> String {
    format!(
        "void f(uint16_t a[8192]) {{
  for (unsigned k = 0; k < {kernels}; k++) {{
#pragma HLS unroll
    for (unsigned i = 0; i < {iterations}; i++) {{
#pragma HLS pipeline
      uint32_t x = i + k;
      for (unsigned j = 0; j < {count}; j++) {statement}
      a[i] = x;
    }}
  }}
}}"
    )
}

/// The refusal of a source, in bounded time.
fn refusal(text: &str) -> String {
    compiled(text).map_or_else(|error| error.to_string(), |_| "accepted".to_owned())
}

#[test]
fn kernels_share_the_room_for_indices() {
    let statement = "x = ((x * 3) ^ (j + k)) & 0xffff;";
    assert_eq!(
        refusal(&kernels(16, 8192, 1000, statement)),
        "f.c:8:48: more than 33554432 indices in all iterations of all loops; use fewer iterations or simpler indices"
    );
}

#[test]
fn kernels_share_the_room_for_operations() {
    let statement = "x = (((x ^ a[j & 3]) * 3) + (j ^ a[4]) ^ (a[5] + j)) & 0xffff;";
    assert_eq!(
        refusal(&kernels(16, 2, 7000, statement)),
        "f.c:8:72: more than 524288 operations of all loops; use fewer or shorter loops"
    );
}

/// As many constants as inner loops, or as calls.
fn with_constants(count: usize, statement: &str) -> String {
    let mut text = String::new();
    (0..count).for_each(|at| writeln!(text, "static const unsigned c{at} = {at};").expect("a line"));
    text +=
        "static uint8_t g(uint8_t x) { return x ^ 1; }\nvoid f(uint8_t a[4]) {\n  for (unsigned i = 0; i < 4; i++) {\n";
    write!(
        text,
        "#pragma HLS pipeline\n    uint8_t x = a[i];\n    for (unsigned j = 0; j < {count}; j++) {statement}\n"
    )
    .expect("a line");
    text + "    a[i] = x;\n  }\n}"
}

#[test]
fn names_are_found_without_a_copy_of_all_constants() {
    for statement in ["{ for (unsigned k = 0; k < 1; k++) x ^= 1; }", "x = g(x);"] {
        compiled(&with_constants(8000, statement)).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn arrays_of_one_name_are_numbered_at_once() {
    let text = "void f(uint8_t a[2]) {
  for (unsigned k = 0; k < 3000; k++) {
#pragma HLS unroll
    uint8_t t[2];
    for (unsigned i = 0; i < 2; i++) t[i] = a[i];
    for (unsigned i = 0; i < 2; i++) a[i] = t[i] ^ 1;
  }
}";
    let design = compiled(text).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(design.program.memories.last().map(|memory| memory.name.as_str()), Some("t_3000"));
}

/// Writes of one iteration whose index depends on data, in each of several kernels.
fn scattered(kernels: usize, writes: usize) -> String {
    let mut text = "void f(uint8_t a[256], uint8_t b[4]) {\n".to_owned();
    for _ in 0..kernels {
        text += "  for (unsigned i = 0; i < 4; i++) {\n#pragma HLS pipeline\n    uint8_t k = b[i];\n";
        writeln!(text, "    for (unsigned j = 0; j < {writes}; j++) a[k] = j & 255;\n  }}").expect("a line");
    }
    text + "}"
}

#[test]
fn dependences_of_indices_of_data_are_bounded() {
    compiled(&scattered(1, 400)).unwrap_or_else(|error| panic!("{error}"));
    let refused = |line: usize| {
        format!(
            "f.c:{line}:3: more than 262144 dependences among accesses of all loops; unroll less, or use indices that \
             depend on loop variables alone"
        )
    };
    assert_eq!(refusal(&scattered(1, 4000)), refused(3));
    assert_eq!(refusal(&scattered(3, 300)), refused(13));
}

#[test]
fn assertions_of_trusted_pairs_are_bounded() {
    let text = scattered(1, 200).replace("pipeline", "pipeline\n#pragma HLS dependence variable=a inter false");
    assert_eq!(
        refusal(&text),
        "f.c:5:1: more than 16384 pairs of accesses whose indices depend on data, in all loops; remove the pragma, or \
         unroll less"
    );
}
