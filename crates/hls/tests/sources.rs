//! The C sources of hw/hls: lowered programs and schedules against the reference, which interprets the source.

use std::path::Path;

use ciphermill_hls::ir::{Role, State};
use ciphermill_hls::schedule::Target;
use ciphermill_hls::{Argument, Source};

/// A source of hw/hls with its headers.
fn source(name: &str) -> Source {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hw/hls").join(name);
    Source::read(&path).unwrap_or_else(|error| panic!("{error}"))
}

fn defines(n: usize, q: u64, b: usize) -> Vec<(String, String)> {
    [("N", n as u64), ("Q", q), ("B", b as u64)].map(|(name, value)| (name.to_owned(), value.to_string())).into()
}

fn random(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}

#[test]
fn transforms_have_the_values_of_the_reference() {
    let mut seed = 7;
    for (file, function) in [
        ("ntt_gs.c", "ntt_gs"),
        ("ntt_gs.c", "intt_gs"),
        ("ntt_ct.c", "ntt_ct"),
        ("ntt_ct.c", "intt_ct"),
        ("product.c", "product"),
    ] {
        for (n, q, b) in [(64, 3329, 1), (256, 3329, 2), (256, 8380417, 4), (1024, 1073479681, 2)] {
            let (source, defines) = (source(file), defines(n, q, b));
            let start = std::time::Instant::now();
            let program = source.lower(&defines, function).unwrap_or_else(|error| panic!("{function} {n}: {error}"));
            let lowered = start.elapsed();
            let parameters = program.memories.iter().filter(|one| one.role == Role::Parameter);
            let given: Vec<Vec<i128>> =
                parameters.map(|_| (0..n).map(|_| (random(&mut seed) % q).into()).collect()).collect();
            let arguments: Vec<Argument> = given.iter().cloned().map(Argument::Elements).collect();
            let mut state = State::before(&program, given);
            let (_, expected) =
                source.interpret(&defines, function, &arguments).unwrap_or_else(|error| panic!("{error}"));
            program.evaluate(&mut state).unwrap();
            assert!(state.arrays(&program).eq(expected.iter().map(|array| &array[..])), "{function} {n} {q} {b}");
            let start = std::time::Instant::now();
            let design =
                source.compile(&defines, function, &Target::ecp5(120.0)).unwrap_or_else(|error| panic!("{error}"));
            println!("{function} {n} {q} {b}: lowered in {lowered:?}, compiled in {:?}", start.elapsed());
            for one in &design.kernels {
                let s = &one.schedule;
                println!(
                    "  {}: II {} gap {} depth {} cycles {}",
                    one.kernel.name,
                    s.interval,
                    s.gap,
                    s.depth,
                    s.cycles(&one.kernel)
                );
            }
        }
    }
}

#[test]
fn large_transforms_are_compiled_within_seconds() {
    for (n, q, b) in [(4096, 1073479681, 1), (4096, 1073479681, 16), (1024, 12289, 16)] {
        let (source, defines) = (source("ntt_gs.c"), defines(n, q, b));
        let start = std::time::Instant::now();
        let design = source.compile(&defines, "ntt_gs", &Target::ecp5(120.0)).unwrap_or_else(|error| panic!("{error}"));
        let s = &design.kernels[0].schedule;
        println!(
            "{n} {q} {b}: {:?}: II {} gap {} depth {} cycles {}",
            start.elapsed(),
            s.interval,
            s.gap,
            s.depth,
            s.cycles(&design.kernels[0].kernel)
        );
    }
}

#[test]
fn a_generator_of_a_part_of_the_units_is_refused() {
    for (file, function) in [("ntt_gs.c", "ntt_gs"), ("kyber.c", "kyber_ntt")] {
        let mut defines = defines(256, 3329, 2);
        defines.push(("GENERATOR".to_owned(), "1".to_owned()));
        let refused = source(file).lower(&defines, function).map(|_| ()).expect_err("no transform");
        assert!(refused.to_string().contains("assertion"), "{refused}");
    }
}
