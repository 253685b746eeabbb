//! Lowered programs against the reference, which interprets the source.

use ciphermill_hls::ir::{Role, State};
use ciphermill_hls::schedule::Target;
use ciphermill_hls::{Argument, Memories, Options, Source};

const NTT: &str = r"
#include <assert.h>
#include <stdint.h>
#define LOG_N 8
#define N (1 << LOG_N)
#define Q 3329
#define OMEGA 17
#define B 2
#define BANKS (2 * B)
typedef uint16_t word_t;

static void powers(word_t w[N / 2]) {
  w[0] = 1;
  for (unsigned i = 1; i < N / 2; i++) w[i] = (uint32_t)w[i - 1] * OMEGA % Q;
}

static unsigned rotate(unsigned x, unsigned by) { return (x << by | x >> (LOG_N - by)) & (N - 1); }

static unsigned parity(unsigned x) {
  unsigned p = 0;
  for (unsigned i = 0; i < LOG_N; i++) p ^= x >> i & 1;
  return p;
}

static unsigned bank(unsigned x) { return parity(x & 0x55) | parity(x & 0xaa) << 1; }

void ntt_gs(word_t a[BANKS][N / BANKS]) {
#pragma HLS array_partition variable=a complete dim=1
  static word_t w[N / 2];
  powers(w);
STAGES:
  for (unsigned i = 0; i < LOG_N; i++) {
  BUTTERFLIES:
    for (unsigned s = 0; s < N / 2; s += B) {
#pragma HLS pipeline II=1
#pragma HLS dependence variable=a inter false
      word_t even[B], odd[B];
      for (unsigned b = 0; b < B; b++) {
        unsigned e = rotate(2 * (s + b), LOG_N - i - 1), o = rotate(2 * (s + b) + 1, LOG_N - i - 1);
        word_t u = a[bank(e)][e >> 2], v = a[bank(o)][o >> 2];
        assert(u < Q);
        assert(v < Q);
        word_t sum = u + v, t = w[(s + b) >> i << i];
        even[b] = sum >= Q ? sum - Q : sum;
        odd[b] = (uint32_t)(u + Q - v) * t % Q;
      }
      for (unsigned b = 0; b < B; b++) {
        unsigned e = rotate(2 * (s + b), LOG_N - i - 1), o = rotate(2 * (s + b) + 1, LOG_N - i - 1);
        a[bank(e)][e >> 2] = even[b];
        a[bank(o)][o >> 2] = odd[b];
      }
    }
  }
}
";

fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

#[test]
fn a_transform_has_the_values_of_the_reference() {
    let source = Source::new("ntt_gs.c", NTT);
    let program = source.lower(&[], "ntt_gs").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(program.kernels.len(), 1);
    let kernel = &program.kernels[0];
    println!("{} iterations, {} nodes, {} accesses", kernel.iterations(), kernel.graph.len(), kernel.accesses.len());
    let a = program.memories.iter().position(|memory| memory.role == Role::Parameter).expect("a");
    assert_eq!((program.memories[a].range, program.memories[a].bits()), ((0, 3328), 12));
    let mut seed = 1;
    let given: Vec<i128> = (0..256).map(|_| (random(&mut seed) % 3329).into()).collect();
    let (_, expected) = source.interpret(&[], "ntt_gs", &[Argument::Elements(given.clone())]).unwrap();
    let mut state = State::before(&program, [given]);
    program.evaluate(&mut state).unwrap();
    assert_eq!(state.memories[a], expected[0]);
}

#[test]
fn banks_and_distances_of_a_transform_are_those_of_its_order() {
    use ciphermill_hls::analysis::{Dependence, Layout, Visits, conflicts, distances};
    let program = Source::new("ntt_gs.c", NTT).lower(&[], "ntt_gs").unwrap_or_else(|error| panic!("{error}"));
    let kernel = &program.kernels[0];
    let visits = Visits::of(kernel, &program.memories);
    let a = program.memories.iter().find(|memory| memory.role == Role::Parameter).expect("a");
    assert_eq!((Layout::of(a).banks, Layout::of(a).depth), (4, 64));
    assert_eq!(conflicts(kernel, &program.memories, &visits), []);
    let found = distances(kernel, &program.memories, &visits);
    let least =
        |why, ends| found.iter().filter(|one| one.why == why && one.ends == ends).map(|one| one.iterations).min();
    // A stage reads n/(4B) iterations after the write at the least, always in the stage before.
    assert_eq!((least(Dependence::ReadAfterWrite, 1), least(Dependence::ReadAfterWrite, 0)), (Some(32), None));
    // An iteration writes to where it has read.
    assert_eq!(least(Dependence::WriteAfterRead, 0), Some(0));
}

#[test]
fn a_transform_takes_its_floor_and_the_depth_of_its_pipeline() {
    let source = Source::new("ntt_gs.c", NTT);
    let design = source.compile(&[], "ntt_gs", &Target::ecp5(120.0)).unwrap_or_else(|error| panic!("{error}"));
    let one = &design.kernels[0];
    println!(
        "interval {}, gap {}, depth {}, cycles {}, accesses {:?}",
        one.schedule.interval,
        one.schedule.gap,
        one.schedule.depth,
        one.schedule.cycles(&one.kernel),
        one.schedule.accesses
    );
    assert_eq!((one.schedule.interval, one.schedule.gap), (1, 0));
    assert!(one.schedule.cycles(&one.kernel) <= 525);
}

#[test]
fn a_transform_becomes_a_module() {
    let source = Source::new("ntt_gs.c", NTT);
    let design = source.compile(&[], "ntt_gs", &Target::ecp5(120.0)).unwrap_or_else(|error| panic!("{error}"));
    let text = design.to_systemverilog(&Options { name: "ntt_gs", source: "ntt_gs.c", memories: Memories::Inside });
    if let Ok(path) = std::env::var("HLS_OUT") {
        std::fs::write(path, &text).unwrap();
    }
    assert!(text.starts_with("// Compiled from ntt_gs.c"));
}

#[test]
fn a_memory_has_the_bits_of_the_values_that_pass_through_others() {
    let text = "#include <assert.h>
#include <stdint.h>
void f(uint16_t a[8]) {
  uint16_t kept[2];
  for (unsigned i = 0; i < 8; i++) {
    uint16_t x = a[i];
    assert(x < 3329);
    if (i < 2) {
      uint16_t y = a[7 - i];
      assert(y < 3329);
      kept[i] = y;
    }
    a[i] = i < 6 ? x : kept[i - 6 & 1];
  }
}";
    let program = Source::new("f.c", text).lower(&[], "f").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(program.memories.iter().map(|memory| memory.bits()).collect::<Vec<_>>(), [12, 12]);
}

/// The arrays after a call on these elements, by the compiler and by the reference.
fn both(text: &str, given: Vec<Vec<i128>>) -> [Vec<Vec<Option<i128>>>; 2] {
    let source = Source::new("f.c", format!("#include <stdint.h>\n{text}"));
    let program = source.lower(&[], "f").unwrap_or_else(|error| panic!("{error}"));
    let arguments: Vec<Argument> = given.iter().cloned().map(Argument::Elements).collect();
    let (_, expected) = source.interpret(&[], "f", &arguments).unwrap_or_else(|error| panic!("{error}"));
    let mut state = State::before(&program, given);
    program.evaluate(&mut state).unwrap_or_else(|error| panic!("{error}"));
    [state.arrays(&program).map(<[_]>::to_vec).collect(), expected]
}

#[test]
fn elements_that_a_run_does_not_write_keep_their_bits() {
    for text in [
        "void f(uint8_t a[4], uint8_t b[4]) { for (unsigned i = 0; i < 4; i++) { if (b[i] > 100) a[i] = 1; } }",
        "void f(uint8_t a[4], uint8_t b[4]) { for (unsigned i = 0; i < 2; i++) { a[i] = i; b[i] = 1; } }",
    ] {
        let program = Source::new("f.c", format!("#include <stdint.h>\n{text}")).lower(&[], "f").expect("memories");
        assert_eq!(program.memories[0].bits(), 8, "{text}");
    }
    let whole = "void f(uint8_t a[4]) { for (unsigned i = 0; i < 4; i++) a[i] = i; }";
    let program = Source::new("f.c", format!("#include <stdint.h>\n{whole}")).lower(&[], "f").expect("memories");
    assert_eq!(program.memories[0].bits(), 2);
}

#[test]
fn a_static_array_has_zeros_and_a_variable_needs_no_value_that_is_not_selected() {
    let zeros = "void f(uint8_t a[4], uint8_t s[4]) {\n  static uint8_t t[4];\n  for (unsigned i = 0; i < 4; i++) a[i] = t[s[i] & 3];\n}";
    let [found, expected] = both(zeros, vec![vec![9; 4], vec![0, 1, 2, 3]]);
    assert_eq!((&found, &found[0]), (&expected, &vec![Some(0); 4]));
    let sums = "void f(uint8_t a[8]) {\n  uint8_t s;\n  for (unsigned i = 0; i < 8; i++) { if (i % 4 == 0) s = 0; s = s ^ a[i]; a[i] = s; }\n}";
    let [found, expected] = both(sums, vec![(1..9).collect()]);
    assert_eq!(found, expected);
}

#[test]
fn conditions_that_are_known_in_part_exclude_iterations() {
    let text = "#include <stdint.h>\nvoid f(uint8_t a[8], uint8_t b[8]) {\n  for (unsigned i = 0; i < 8; i++) {\n\
                #pragma HLS pipeline II=1\n    if (i & 1) { if (b[i] > 4) a[i] = 1; } else { if (b[i] > 7) a[i] = 2; }\n  }\n}";
    let design = Source::new("f.c", text).compile(&[], "f", &Target::ecp5(120.0));
    assert_eq!(design.unwrap_or_else(|error| panic!("{error}")).kernels[0].schedule.interval, 1);
}

#[test]
fn a_variable_hides_the_constant_of_its_name() {
    let text = "#include <stdint.h>
static const uint8_t n = 3;
static const uint8_t t[2] = {5, 6};
void f(uint8_t a[2]) {
  uint8_t n = a[0];
  uint8_t m = n;
  const uint8_t t[2] = {7, 8};
  uint8_t k = t[1];
  a[0] = m;
  a[1] = k;
}";
    let program = Source::new("f.c", text).lower(&[], "f").unwrap_or_else(|error| panic!("{error}"));
    let mut state = State::before(&program, [vec![9, 1]]);
    program.evaluate(&mut state).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(state.arrays(&program).next(), Some(&[Some(9), Some(8)][..]));
}

#[test]
fn a_variable_that_hides_another_leaves_it_constant() {
    let text = "void f(uint8_t a[6]) {
  unsigned n = 3;
  for (unsigned i = 0; i < n; i++) {
    uint8_t x = i + 5, y = 2 * x;
    for (unsigned k = 0; k < 2; k++) {
      uint8_t x = k, n = 1;
      x += y;
      n += x;
      a[2 * i + k] = n;
    }
  }
}";
    let [found, expected] = both(text, vec![vec![0; 6]]);
    assert_eq!(found, expected);
    assert_eq!(found[0], [11, 12, 13, 14, 15, 16].map(Some));
}

/// Names that hide others, in every kind of scope. Each source is evaluated as the reference does.
#[test]
fn scopes_are_those_of_the_reference() {
    let bodies = [
        // A block, before and after it.
        "unsigned n = 3; { unsigned n = 1; n += 1; a[0] = n; } for (unsigned i = 0; i < n; i++) a[1 + i] = n;",
        // Both sides of a condition.
        "unsigned n = 3; if (a[0] > 1) { uint8_t n = 4; n ^= 1; a[1] = n; } else { uint8_t n = 7; a[2] = n; } a[3] = n;",
        // An unrolled loop outside, and its variable.
        "unsigned k = 2; for (unsigned k = 0; k < 3; k++) {\n#pragma HLS unroll\n uint8_t n = k; n += 1; a[k] = n; } a[3] = k;",
        // Loops inside of a pipelined one.
        "unsigned n = 2, k = 5; for (unsigned i = 0; i < n; i++) {\n#pragma HLS pipeline\n uint8_t n = k;\n \
         for (unsigned k = 0; k < 2; k++) { unsigned n = 1; n += k; a[2 * i + k] = n; } n += 1; a[4 + i] = n + k; }",
        // A function's parameter, which it changes, and its own variables.
        "unsigned x = 2, y = 3; a[0] = g(x); a[1] = x + y; for (unsigned i = 0; i < x; i++) a[2 + i] = g(i + y);",
        // Several names in a declaration.
        "unsigned n = 1, m = n + 1; { uint8_t n = m, m = n + 4; m += n; a[0] = m; } a[1] = n + m;",
        // A variable of the function with the name of a constant outside.
        "uint8_t c = a[0]; c ^= 3; a[1] = c; for (unsigned i = 0; i < 2; i++) { uint8_t c = i; c += 1; a[2 + i] = c; }",
        // The length of a parameter is not that of the caller's variable.
        "unsigned size = 2; h(a); for (unsigned i = 0; i < size; i++) { a[i] = size; }",
        // Declarations between loops.
        "unsigned n = 2; for (unsigned i = 0; i < n; i++) { uint8_t m = i + n, n = 4; for (unsigned j = 0; j < 2; j++) \
         { uint8_t i = m + n; i += j; a[2 * j] = i; } }",
    ];
    for body in bodies {
        let text = format!(
            "static const uint8_t c = 9;\nstatic uint8_t g(uint8_t x) {{ uint8_t y = x; x = (x + 1) & 15; {{ uint8_t x = y; \
             x ^= c; y = x; }} return x + (y & 15); }}\nstatic const unsigned size = 8;\nstatic void h(uint8_t t[size]) {{ t[7] = size; }}\n\
             void f(uint8_t a[8]) {{ {body} }}"
        );
        for given in [0, 1, 2, 200] {
            let [found, expected] = both(&text, vec![vec![given; 8]]);
            assert_eq!(found, expected, "{text}");
        }
    }
}

/// Functions that return early on some of their ways. Each is evaluated as the reference does, for all values of the bits.
#[test]
fn early_returns_skip_what_follows_them_and_nothing_else() {
    let bodies = [
        "if (c) return; else if (d) return; a[1] = 2;",
        "if (c) { if (d) return; a[0] = 1; } a[1] = 2;",
        "if (c) { uint8_t x = 3; { if (d) return; } a[0] = x; } else { a[0] = 4; } a[1] = 5;",
        "{ if (c) return; } { if (d) { a[0] = 9; return; } a[0] = 7; } a[1] = 8;",
        "uint8_t x = 1; if (c) { uint8_t x = 2; if (d) return; x += 1; a[0] = x; } x += 4; a[1] = x;",
        "if (c) { if (d) { a[0] = 1; } else return; } a[1] = 6;",
    ];
    let values = [
        "if (c) return 1; else if (d) return 2; return 3;",
        "{ if (c) return 1; } return 2;",
        "if (c) { if (d) return 1; } return 2;",
        "uint8_t x = c & 1; if (c) { if (d) return x; x += 2; } else { uint8_t x = d; if (x) return 9; } return x + 4;",
    ];
    let given = |bits: i128| vec![vec![0; 2], vec![bits & 1, bits >> 1]];
    let check = |text: &str| {
        for bits in 0..4 {
            let [found, expected] = both(text, given(bits));
            assert_eq!(found, expected, "{bits}: {text}");
        }
    };
    for body in bodies {
        let function = format!("static void g(uint8_t a[2], uint8_t c, uint8_t d) {{ {body} }}");
        check(&format!(
            "{function}\nvoid f(uint8_t a[2], uint8_t b[2]) {{ for (unsigned i = 0; i < 2; i++) {{ a[0] = 1; g(a, b[0], b[1]); }} }}"
        ));
    }
    for body in values {
        let function = format!("static uint8_t g(uint8_t c, uint8_t d) {{ {body} }}");
        check(&format!(
            "{function}\nvoid f(uint8_t a[2], uint8_t b[2]) {{ for (unsigned i = 0; i < 2; i++) {{ a[i] = g(b[0], b[1]); }} }}"
        ));
    }
    // A way that no call takes need not be valid.
    let [found, expected] = both(
        "static uint8_t g(uint8_t x, unsigned n) { if (n < 4) return x; return x + (n - 4); }
         void f(uint8_t a[2]) { for (unsigned i = 0; i < 2; i++) a[i] = g(a[i], 2); }",
        vec![vec![7, 8]],
    );
    assert_eq!(found, expected);
}

#[test]
fn each_call_sees_the_static_array_of_the_others() {
    let set = "static void set(uint8_t t[2], unsigned i) { t[i] = 7; }\n";
    let same = "static uint8_t g(unsigned i) { static uint8_t t[2]; set(t, 1); return t[i]; }
        void f(uint8_t a[2]) { uint8_t x = g(0); uint8_t y = g(1); a[0] = x; a[1] = y; }";
    let same_outside =
        "static void g(uint8_t a[2], unsigned i) { static uint8_t t[2]; set(t, 0); set(t, 1); a[i] = t[a[i] & 1]; }
        void f(uint8_t a[2]) { g(a, 0); g(a, 1); }";
    let constant = "static void g(uint8_t a[2], unsigned i) { static uint8_t t[2]; set(t, i); a[i] = t[0]; }
        void f(uint8_t a[2]) { g(a, 0); g(a, 1); }";
    for text in [same_outside, constant] {
        let [found, expected] = both(&format!("{set}{text}"), vec![vec![0, 0]]);
        assert_eq!((&found, &found[0]), (&expected, &vec![Some(7), Some(7)]));
    }
    let message = |text: &str| {
        let source = Source::new("f.c", format!("#include <stdint.h>\n{set}{text}"));
        source.lower(&[], "f").err().map_or_else(String::new, |error| error.to_string())
    };
    assert!(message(same).contains("`t` is static inside of a loop"), "{}", message(same));
    let other = "static void g(uint8_t a[2], unsigned i) { static uint8_t t[2]; set(t, i); a[i] = t[a[i] & 1]; }
        void f(uint8_t a[2]) { g(a, 0); g(a, 1); }";
    assert!(message(other).contains("the table `t` is filled after its read at f.c:3:"), "{}", message(other));
}

#[test]
fn declarations_between_loops_do_not_see_the_variables_of_inner_ones() {
    let text = "static const uint8_t j = 5;
        void f(uint8_t a[4]) {
          for (unsigned i = 0; i < 2; i++) { uint8_t x = j; for (unsigned j = 0; j < 2; j++) a[2 * i + j] = x; }
        }";
    let [found, expected] = both(text, vec![vec![0; 4]]);
    assert_eq!((&found, &found[0]), (&expected, &vec![Some(5); 4]));
}

#[test]
fn a_condition_with_data_excludes_iterations_also() {
    let text =
        "void f(uint8_t a[4], uint8_t d[4]) { for (unsigned i = 0; i < 4; i++) { if (i > 0 && d[i]) a[i - 1] = 1; } }";
    let [found, expected] = both(text, vec![vec![0; 4], vec![1, 0, 1, 1]]);
    assert_eq!(found, expected);
}

#[test]
fn names_in_capitals_are_macros() {
    let text = "#define TRUE 255\n#define FALSE 7\nvoid f(uint8_t a[2]) { a[0] = TRUE; a[1] = FALSE; }";
    let [found, expected] = both(text, vec![vec![0; 2]]);
    assert_eq!((&found, &found[0]), (&expected, &vec![Some(255), Some(7)]));
}

/// Without the types, C reads `(x) + y` as a conversion. The values are those of a C compiler.
#[test]
fn names_in_parentheses_are_variables_unless_a_typedef_has_them() {
    let text = "#define N 3
typedef uint32_t word;
typedef uint8_t u8;
static const uint8_t t[4] = {3, 2, 1, 7};
static uint8_t g(uint8_t x) { return (x) ^ 1; }
static uint8_t h(uint8_t x, uint8_t y) { return (x) & (y); }
void f(uint8_t a[4], uint32_t b[8]) {
  for (unsigned i = 0; i < 4; i++) {
    uint8_t x = a[i], n = 9 - i;
    b[2 * i] = (x) * (x) + (n) * 3 + (N) * x + (i) * (x + 1) + ((x) + 70 - (n) & 15) % 7 + (t[i]) * 4
        + (t[i] * (x + n)) % 8;
    b[2 * i + 1] = (g(x)) * 4 + (g(x) * (n + (x) + 1)) + (h(x, n)) + (word)(x) + (word)(u8)(300 * x)
        + (x * (n * (x & 7))) + (x * (x)) * (n);
  }
}";
    let [found, expected] = both(text, vec![vec![5, 14, 0, 255], vec![0; 8]]);
    let of_c = [83, 752, 294, 2771, 35, 12, 66_608, 468_897];
    assert_eq!((&found, &found[1]), (&expected, &of_c.map(Some).to_vec()));
    let products = (0..60).fold("x".to_owned(), |inner, mask| format!("(x * ({inner})) & {}", 1023 - mask));
    let text = format!("void f(uint8_t a[4]) {{\n  uint16_t x = a[0];\n  a[1] = {products} & 255;\n}}");
    let [found, expected] = both(&text, vec![vec![3; 4]]);
    assert_eq!(found, expected);
}

#[test]
fn many_conditions_take_little_time() {
    let text = "#include <stdint.h>\n#include <stdbool.h>\nvoid f(uint8_t a[1], bool p[64]) {\n  for (unsigned i = 0; i < 1; i++) {\n\
                #pragma HLS pipeline\n    bool w = p[0];\n    for (unsigned k = 1; k < 63; k++) w = (w & p[k]) & (w & p[k + 1]);\n\
                \x20   if (w) a[0] = 1;\n  }\n}";
    let program = Source::new("f.c", text).lower(&[], "f");
    assert!(program.is_ok(), "{program:?}");
}

#[test]
fn the_name_of_a_source_stays_in_its_comment() {
    for name in ["a\nb.c".to_owned(), format!("{}.c", "é".repeat(60)), "é ".repeat(80)] {
        let source = Source::new(name.as_str(), "void f(unsigned char a[2]) { a[0] = 1; }");
        let design = source.compile(&[], "f", &Target::ecp5(100.0)).unwrap_or_else(|error| panic!("{error}"));
        let text = design.to_systemverilog(&Options { name: "f", source: &name, memories: Memories::Inside });
        let before = text.split("module f").next().unwrap_or_default();
        assert!(before.lines().all(|line| line.starts_with("//")), "{before}");
    }
}

#[test]
fn a_table_may_be_read_by_two_parameters() {
    let text = "static void one(uint8_t t[2]) { t[0] = 3; t[1] = 4; }
        static void sum(uint8_t t[2], const uint8_t x[2], const uint8_t y[2]) { for (unsigned i = 0; i < 2; i++) t[i] = x[i] + y[1 - i]; }
        void f(uint8_t a[2]) { static uint8_t s[2], t[2]; one(s); sum(t, s, s); for (unsigned i = 0; i < 2; i++) a[i] = t[i]; }";
    let [found, expected] = both(text, vec![vec![0; 2]]);
    assert_eq!((&found, &found[0]), (&expected, &vec![Some(7); 2]));
}
