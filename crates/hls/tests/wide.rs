//! Values of up to 127 bits: their results, and no overflow in the compiler's own arithmetic. The profile of tests checks for
//! overflow.

use ciphermill_hls::ir::State;
use ciphermill_hls::schedule::Target;
use ciphermill_hls::{Argument, Source};

/// Bodies of a loop over `i`, whose x and y are any numbers of 127 bits.
const BODIES: &[(&str, &str)] = &[
    ("a copy with a set bit", "x = x | 1;"),
    ("bits of a wide value", "x = (x & 0xffff) ^ (x >> 1);"),
    ("comparisons", "x = (x < y) + (x >= y ? 2 : 0) + ((x ^ y) == 7 ? 4 : 0); y = (x >> 3) + (y >> 100);"),
    ("a difference", "x = x >= y ? x - y : y - x;"),
    ("a remainder by 2^126 + 1", "x = x % (((unsigned __int128)1 << 126) + 1);"),
    ("a quotient by 2^126 + 1", "x = x / (((unsigned __int128)1 << 126) + 1);"),
    ("a remainder by 2^126", "x = x % ((unsigned __int128)1 << 126);"),
    ("the greatest factor", "x = (x & 1) * (((((unsigned __int128)1 << 126) - 1) << 1) + 1);"),
    ("a factor of two digits, whose shifted copy has 128 bits", "x = (x & 1) * ((unsigned __int128)3 << 125);"),
    (
        "the greatest number, asserted and excluded",
        "assert(y == ((((unsigned __int128)1 << 126) - 1) << 1) + 1); x = y == ((((unsigned __int128)1 << 126) - 1) << 1) + 1 ? x : y;",
    ),
    (
        "a product of 127 bits",
        "unsigned __int128 p = (unsigned __int128)(uint64_t)(x >> 64) * (uint64_t)y; x = p >> 64; y = (uint64_t)p % 0xffffffff00000001u;",
    ),
    (
        "complements of narrow values",
        "unsigned __int128 p = (unsigned __int128)b[i] * (a[i] & 0x7fffffffffffffff); x = (uint64_t)(p >> 63) ^ ((~a[i]) >> (b[i] & 63)); y = (p >> (b[i] & 31)) | (a[i] < b[i] ? 1 : 0);",
    ),
];

fn source(body: &str) -> Source {
    let text = format!(
        "#include <assert.h>\n#include <stdint.h>\nvoid f(uint64_t a[4], uint64_t b[4], uint64_t c[4], uint64_t d[4]) {{
  for (unsigned i = 0; i < 4; i++) {{
#pragma HLS pipeline
    unsigned __int128 x = (unsigned __int128)(a[i] & 0x7fffffffffffffff) << 64 | b[i];
    unsigned __int128 y = (unsigned __int128)(c[i] & 0x7fffffffffffffff) << 64 | d[i];
    {body}
    a[i] = (uint64_t)(x >> 64);
    b[i] = (uint64_t)x;
    c[i] = (uint64_t)(y >> 64);
    d[i] = (uint64_t)y;
  }}
}}"
    );
    Source::new("f.c", text)
}

/// The elements of four arrays: the least, the greatest and other numbers. If `greatest`, all of c and d are greatest.
fn given(greatest: bool) -> Vec<Vec<i128>> {
    let most = i128::from(u64::MAX);
    let last = if greatest { vec![most; 4] } else { vec![most, 1 << 62, 0, 4096] };
    vec![vec![0, most, 1 << 62, 12_345], vec![1, most, 0, most - 7], last.clone(), last]
}

/// Compiles a body. A schedule must have the results of the interpreter.
fn check(what: &str, body: &str) {
    let source = source(body);
    let design = source.compile(&[], "f", &Target::ecp5(120.0)).unwrap_or_else(|refusal| panic!("{what}: {refusal}"));
    let given = given(body.contains("assert"));
    let mut state = State::before(&design.program, given.clone());
    design.simulate(&mut state).unwrap_or_else(|error| panic!("{what}: {error}"));
    let arguments: Vec<Argument> = given.into_iter().map(Argument::Elements).collect();
    let (_, expected) = source.interpret(&[], "f", &arguments).unwrap_or_else(|error| panic!("{what}: {error}"));
    let found: Vec<Vec<Option<i128>>> = state.arrays(&design.program).map(<[_]>::to_vec).collect();
    assert_eq!(found, expected, "{what}");
}

#[test]
fn wide_values_have_the_results_of_the_interpreter() {
    for (what, body) in BODIES {
        check(what, body);
    }
}

#[test]
fn the_profile_checks_for_overflow() {
    let sum = std::panic::catch_unwind(|| std::hint::black_box(i128::MAX) + std::hint::black_box(1));
    assert!(sum.is_err(), "the other tests of this file would not see an overflow");
}

/// Functions of parameters of 128 bits, without assertions.
const PARAMETERS: &[&str] = &[
    "b[i] = (a[i] & 0xffff) ^ (a[i] >> 1);",
    "b[i] = a[i] | 1;",
    "b[i] = a[i] % (((unsigned __int128)1 << 126) + 1);",
    "b[i] = (a[i] < b[i]) + (a[i] >= b[i] ? 2 : 0) + ((a[i] ^ b[i]) == 7 ? 4 : 0); b[i] = (a[i] >> 3) + (b[i] >> 100);",
    "b[i] = a[i] >= b[i] ? a[i] - b[i] : b[i] - a[i];",
];

#[test]
fn parameters_of_128_bits_are_refused() {
    for body in PARAMETERS {
        let parameters = "unsigned __int128 a[4], unsigned __int128 b[4]";
        let source =
            Source::new("f.c", format!("void f({parameters}) {{ for (unsigned i = 0; i < 4; i++) {{ {body} }} }}"));
        let refusal = source.compile(&[], "f", &Target::ecp5(120.0)).err().map(|refusal| refusal.what);
        assert_eq!(refusal.as_deref(), Some("`a` may have values of more than 127 bits"), "{body}");
    }
}

#[test]
fn a_quotient_with_a_product_of_more_than_127_bits_is_refused() {
    let text = "#include <stdint.h>
void f(uint64_t a[8], uint64_t b[8]) {
  for (unsigned i = 0; i < 8; i++) {
    unsigned __int128 p = (unsigned __int128)(a[i] >> 1) * b[i];
    a[i] = (p >> 20) % 12289;
  }
}";
    let refusal = Source::new("f.c", text).compile(&[], "f", &Target::ecp5(120.0)).err().map(|error| error.to_string());
    let expected = "f.c:3:3: a value of more than 127 bits; use narrower operands, or assert their ranges";
    assert_eq!(refusal.as_deref(), Some(expected));
}
