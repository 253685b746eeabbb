//! Golden messages: each mistake has a source, and the whole text with file, line, column, bound and way out.

mod loops;
mod macros;
mod names;
mod pragmas;
mod rows;
mod streams;
mod texts;
mod values;

use ciphermill_hls::Source;
use ciphermill_hls::schedule::Target;

/// The mistake, the source without its first includes, and the message.
type Case = (&'static str, &'static str, &'static str);

const INCLUDES: &str = "#include <assert.h>\n#include <stdbool.h>\n#include <stdint.h>\n";

fn message(text: &str) -> String {
    let source = Source::new("f.c", format!("{INCLUDES}{text}")).with_header("self.h", "#include \"self.h\"\n");
    match source.compile(&[], "f", &Target::ecp5(120.0)) {
        Ok(_) => "accepted".to_owned(),
        Err(error) => error.to_string(),
    }
}

fn check(cases: &[Case]) {
    for (what, source, expected) in cases {
        assert_eq!(message(source), *expected, "{what}:\n{source}");
    }
}

#[test]
fn each_mistake_has_its_message() {
    for cases in [loops::ASSIGNED, loops::HIDDEN] {
        check(cases);
    }
    for cases in [macros::VALUES, macros::NAMES, macros::CONDITIONS] {
        check(cases);
    }
    for cases in [values::LOOPS, values::BANKS, values::VALUES] {
        check(cases);
    }
    for cases in [names::FUNCTIONS, names::TYPES, names::NAMES] {
        check(cases);
    }
    for cases in [texts::MACROS, texts::STATEMENTS, texts::BOUNDS] {
        check(cases);
    }
    for cases in [streams::STREAMS, streams::SETTINGS, pragmas::PRAGMAS] {
        check(cases);
    }
}

/// A source whose size would fill this file: deep, long, or many.
fn large(before: &str, part: impl Fn(usize) -> String, count: usize, after: &str) -> String {
    (0..count).fold(before.to_owned(), |text, at| text + &part(at)) + after
}

const BEGIN: &str = "void f(uint32_t a[4]) {\n";
const DEEP: &str = "nested more than 256 deep; use variables for parts of it";
/// Far more than any stack bears.
const COUNT: usize = 50_000;

#[test]
fn what_is_nested_too_deep_is_refused() {
    let parentheses = "(".repeat(2 * COUNT) + "1" + &")".repeat(2 * COUNT);
    assert_eq!(message(&format!("{BEGIN}  a[0] = {parentheses};\n}}")), format!("f.c:5:261: {DEEP}"));
    let blocks = "{".repeat(COUNT) + "a[0] = 1;" + &"}".repeat(COUNT);
    assert_eq!(message(&format!("{BEGIN}{blocks}\n}}")), format!("f.c:5:254: {DEEP}"));
    let branches = large(BEGIN, |_| "if (a[0]) ".to_owned(), COUNT, "a[0] = 1;\n}");
    assert_eq!(message(&branches), format!("f.c:5:2515: {DEEP}"));
    let otherwise = large(BEGIN, |_| "if (a[0]) ; else ".to_owned(), COUNT, "a[0] = 1;\n}");
    assert!(message(&otherwise).ends_with(DEEP), "{}", message(&otherwise));
    let complements = large("void f(uint32_t a[4]) {\n  a[0] = ", |_| "!".to_owned(), COUNT, "a[1];\n}");
    assert_eq!(message(&complements), format!("f.c:5:261: {DEEP}"));
    let sum = large("void f(uint32_t a[4]) {\n  a[0] = 1", |_| " + 1".to_owned(), COUNT, ";\n}");
    assert_eq!(message(&sum), format!("f.c:5:10: {DEEP}"));
    let selections = large("void f(uint32_t a[4]) {\n  a[0] = ", |_| "a[1] ? 1 : ".to_owned(), COUNT, "2;\n}");
    assert!(message(&selections).ends_with(DEEP), "{}", message(&selections));
    let conditions = large("", |_| "#if 1\n".to_owned(), 5000, &"#endif\n".repeat(5000));
    assert!(message(&conditions).ends_with(DEEP), "{}", message(&conditions));
}

#[test]
fn functions_inside_of_one_another_share_one_depth() {
    let not = "!".repeat(60);
    let function = |of: &str, at: usize| match at {
        0 => format!("static {of} g0({of} x) {{ return x; }}\n"),
        _ => format!("static {of} g{at}({of} x) {{ return {not}g{}(x); }}\n", at - 1),
    };
    let deep = "statements and expressions nested more than 512 deep, including those of called functions; use variables \
                for parts of it";
    let values = large("", |at| function("uint8_t", at), 61, "void f(uint8_t a[4]) {\n  a[0] = g60(a[1]);\n}");
    assert!(message(&values).ends_with(deep), "{}", message(&values));
    let end = "void f(uint8_t a[4]) {\n  for (unsigned i = 0; i < g60(2); i++) a[0] = 1;\n}";
    let constants = large("", |at| function("unsigned", at), 61, end);
    assert!(message(&constants).ends_with(deep), "{}", message(&constants));
}

#[test]
fn macros_that_grow_are_refused() {
    let text = large("#define M0 (1 + 1)\n", |at| format!("#define M{} (M{at} + M{at})\n", at + 1), 20, BEGIN);
    assert_eq!(
        message(&format!("{text}  a[0] = M20;\n}}")),
        "f.c:26:10: macro M1: more than 16384 uses of macros; give it a constant expression"
    );
}

#[test]
fn constants_are_computed_in_bounded_time() {
    let text = "static unsigned g(unsigned n) {\n  unsigned x = 0;\n  for (unsigned i = 0; i < n; i++) x ^= i;\n  \
                return x;\n}\nvoid f(uint8_t a[4]) {\n  for (unsigned i = 0; i < g(100000000); i++) a[0] = 1;\n}";
    let found = message(text);
    assert!(found.ends_with("more than 8388608 steps of an interpretation; use fewer iterations"), "{found}");
}

#[test]
fn a_source_has_a_greatest_length() {
    let text = format!("{BEGIN}}}{}", " ".repeat(1 << 20));
    let bytes = INCLUDES.len() + text.len();
    assert_eq!(message(&text), format!("f.c:1:1: {bytes} bytes, at most 1048576; split the source"));
}

/// Each parenthesis may begin a conversion.
#[test]
fn an_expression_has_a_greatest_number_of_readings() {
    let text = format!("{BEGIN}  unsigned x = 3;\n  a[0] = {}1;\n}}", "(x * (x)) & ".repeat(4000));
    let bytes = INCLUDES.len() + text.len();
    let most = 1024 + bytes / 4;
    let expected =
        format!("f.c:1:1: more than {most} steps of the parser; use variables for parts of long expressions");
    assert_eq!(message(&text), expected);
    let text = format!("{BEGIN}  unsigned x = 3;\n  a[0] = {}1;\n}}", "(x * (x)) & ".repeat(100));
    assert_eq!(message(&text), "accepted");
}

#[test]
fn messages_name_macros_of_the_command_line() {
    let of = |name: &str, value: &str| {
        let source = Source::new("f.c", format!("{INCLUDES}{BEGIN}  a[0] = N;\n}}"));
        source.lower(&[(name.to_owned(), value.to_owned())], "f").map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(of("N", "1"), Ok(()));
    assert_eq!(of("1N", "1"), Err("f.c:1:1: -D 1N: not a name; use -D NAME=VALUE".to_owned()));
    assert_eq!(
        of("uint8_t", "uint16_t"),
        Err("f.c:1:1: -D uint8_t: a name of C and its headers; rename it".to_owned())
    );
    assert_eq!(
        of("N", "1)+(1"),
        Err("f.c:5:10: macro N: `1)+(1` is not an expression; give it a constant expression".to_owned())
    );
}
