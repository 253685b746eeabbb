//! Sources whose schedules need many steps: the compiler ends in bounded time, with a schedule or a refusal.

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
