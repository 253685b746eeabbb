//! Words: tables from files, encrypted words, and programs on a store that look them up.

use serde_json::Value;

use crate::support::{Bench, Ran};

fn table(bench: &Bench, function: &str, options: &[&str]) -> Ran {
    bench.run(["tfhe", "table", "--function", function, "--out", "f.tbl", "--force"].iter().chain(options))
}

/// A slip in a file of values is refused where it is. No line is left out, which would move the values by an argument.
#[test]
fn values_in_files() {
    let bench = Bench::new();
    let values = |text: &str, bits: &str| {
        bench.write("f.csv", text);
        table(&bench, "f.csv", &["--bits", bits])
    };
    for first in ["-7", "1.5", "0x10", "99999999999999999999", "0;1", "\"1\""] {
        let shown =
            format!("line 1: {first:?} is neither `value` nor `argument,value`; use integers from 0 to 4294967295");
        values(&format!("{first}\n0\n1\n2\n3\n"), "2").failed(&["f.csv: ", &shown]);
        values(&format!("{first}\n1\n2\n3\n"), "2").failed(&["line 1: "]);
    }
    values("0,1\n7\n2,2\n3,9\n", "2")
        .failed(&["line 2: \"7\" is not of the form `argument,value` of line 1; use one form"]);
    values("0\n1\n2,2\n3\n", "2").failed(&["line 3: \"2,2\" is not of the form `value` of line 1; use one form"]);
    for text in
        ["0\n1\n4\n9\n", "x,square\n0,0\n1,1\n2,4\n3,9\n", "\u{feff}0,0\n1,1\n2,4\n3,9\n", "square\n0\n1\n4\n9\n"]
    {
        assert_eq!(values(text, "2").done(), "f.tbl: 37 B, f.csv from 2 to 4 bits\n", "{text}");
    }
    assert_eq!(values("0\n1\n1\n0\n", "2").done(), "f.tbl: 37 B, f.csv from 2 to 1 bit\n");
    // The number of bits is the likely mistake.
    bench.write("f.csv", "0\n1\n4\n9\n");
    table(&bench, "f.csv", &[]).failed(&["16380 of 16384 arguments have no value, the first is 4", "or use --bits 2"]);
    values("0\n1\n4\n9\n", "1").failed(&["line 3: the argument 2 does not fit; use 0 to 1, or more bits (--bits)"]);
    table(&bench, "sbox", &["--bits", "7"])
        .failed(&["sbox: the argument of the function has 8 bits, 7 were given; use --bits 8"]);
}

/// One phrasing for the range of a number.
#[test]
fn ranges_of_options() {
    let bench = Bench::new();
    for (given, option, range) in [
        (&["tfhe", "table", "--function", "isqrt", "--bits", "21"][..], "'21' for '--bits <BITS>'", "use 1 to 20"),
        (
            &["tfhe", "table", "--function", "isqrt", "--positions", "0,64"],
            "'64' for '--positions <P,…>'",
            "use 0 to 63",
        ),
        (&["tfhe", "encrypt", "--word", "64"], "'64' for '--word <BITS>'", "use 1 to 63"),
        (&["tfhe", "encrypt", "--word", "x"], "'x' for '--word <BITS>'", "use 1 to 63"),
        (&["demo", "--function", "isqrt", "--bits", "0"], "'0' for '--bits <BITS>'", "use 1 to 20"),
        (&["arch", "exec", "--cycle-limit", "0"], "'0' for '--cycle-limit <CYCLES>'", "use 1 or more"),
    ] {
        bench.run(given).usage(&[&format!("invalid value {option}: {range}")]);
    }
    let help = |verb: &[&str]| bench.run(verb.iter().chain(&["--help"])).done();
    assert!(help(&["tfhe", "encrypt"]).contains("Encrypt a word of BITS bits instead, 1 to 63"));
    assert!(help(&["tfhe", "table"]).contains("Bits of the argument, 1 to 20"));
    assert!(help(&["demo"]).contains("Bits of its words, 1 to 20"));
}

fn keygen(bench: &Bench, name: &str) {
    let (secret, server) = (format!("{name}.key"), format!("{name}.server"));
    bench.run(["tfhe", "keygen", "--params", "WORD_2M64", "--secret-key", &secret, "--server-key", &server]).done();
}

fn word(bench: &Bench, key: &str, message: &str, bits: &str, out: &str) -> Ran {
    let key = format!("{key}.key");
    bench.run(["tfhe", "encrypt", "--secret-key", &key, "--message", message, "--word", bits, "--out", out])
}

/// The stored program of key 1.
fn program(bench: &Bench, name: &str, source: &str, bindings: &[&str]) {
    let (text, binary) = (format!("{name}.cms"), format!("{name}.prg"));
    bench.write(&text, source);
    let bindings = bindings.iter().flat_map(|binding| ["--bind", binding]);
    bench.run(["program", "asm", &text, "--out", &binary].into_iter().chain(bindings)).done();
}

/// A device with the keys of a WORD set as key 1, a table of seven digits as 32:1:0 and a word as 33:1:1.
#[test]
fn words_on_a_store() {
    let bench = Bench::new();
    keygen(&bench, "w");
    keygen(&bench, "other");
    word(&bench, "w", "16384", "14", "n.word").failed(&["the value of the word is 16384; use 0 to 16383"]);
    assert_eq!(
        word(&bench, "w", "1", "2", "one.word").done(),
        "one.word: 2744 bytes, a word of 1 digit of WORD_2M64\n"
    );
    word(&bench, "w", "12345", "14", "n.word").done();
    // Key tags read as they do elsewhere.
    let refused = bench.run(["tfhe", "decrypt", "--secret-key", "other.key", "n.word"]);
    let tags: Vec<_> = refused
        .stderr
        .split(' ')
        .filter(|text| text.len() == 16 && text.bytes().all(|b| b.is_ascii_hexdigit()))
        .collect();
    assert_eq!(tags.len(), 2, "{}", refused.stderr);
    refused.failed(&["key tag of the word is "]);

    table(&bench, "isqrt", &["--bits", "14"]).done();
    bench.run(["tfhe", "decrypt", "--secret-key", "w.key", "f.tbl"]).failed(&["a table of a function"]);
    let put = |register: &str, file: &str| bench.run(["blob", "put", "--store", "s", "--id", register, file]);
    put("2:1:1", "w.server").done();
    put("2:1:2", "w.server.ksk").done();
    put("2:1:3", "w.server.ksk").failed(&["a TFHE conversion key"]);
    put("2:1:3", "w.server.cnv").done();
    put("32:1:0", "n.word").failed(&["a word of encrypted digits", "a table of a function"]);
    put("32:1:0", "f.tbl").done();
    put("33:1:1", "f.tbl")
        .failed(&["register 33:1:1 takes 52 and 2692 for each of 1 to 64 digits of a word, in bytes"]);
    put("33:1:1", "n.word").done();
    put("34:1:7", "one.word").done();

    let check = |name: &str| bench.run(["program", "check", "--store", "s", &format!("{name}.prg")]);
    let root = "wselect n, 0\nwlook t, n\nreturn n\n";
    program(&bench, "root", root, &["n=33:1:1", "t=32:1:0"]);
    let text = check("root").done();
    assert!(text.contains("estimated ") && (text.contains(" ms\n") || text.contains(" s\n")), "{text}");
    program(&bench, "slice", "wslice n, 5\nreturn n\n", &["n=33:1:1"]);
    check("slice").failed(&[
        "a slice of 0 digits from digit 5 on, and the word has 7; use v = 256 · c + f with c from 1 and c + f up to 7",
    ]);

    // A sum of few digits, and both ways to more.
    let integer = |message: &str, encoding: &[&str], out: &str| {
        let given = ["tfhe", "encrypt", "--secret-key", "w.key", "--message", message, "--out", out, "--force"];
        bench.run(given.iter().chain(encoding)).done();
    };
    let narrow = ["--bits", "14", "--no-padding", "--range", "0:2000"];
    integer("2000", &narrow, "a.ct");
    put("3:1:1", "a.ct").done();
    let sum = "homadd a, b\nwsplit n, a\nwselect n, 0\nwlook t, n\nreturn n\n";
    let bound = ["a=3:1:1", "b=3:1:2", "n=33:1:3", "t=32:1:0"];
    program(&bench, "sum", sum, &bound);
    integer("1000", &["--bits", "14", "--no-padding", "--range", "0:1000"], "b.ct");
    put("3:1:2", "b.ct").done();
    check("sum").failed(&[
        "it reads position 6, which is empty; select it before, or give the selected word more digits: by a wider --range of \
         the integer, or by wcat with a word of 0",
    ]);
    let runs = |name: &str| {
        bench.run(["program", "run", "--store", "s", &format!("{name}.prg"), "--out", "r.word", "--force"]).done();
        bench.run(["tfhe", "decrypt", "--secret-key", "w.key", "r.word"]).done()
    };
    word(&bench, "w", "0", "2", "zero.word").done();
    put("33:1:4", "zero.word").done();
    program(&bench, "pad", &sum.replace("wselect", "wcat n, z\nwselect"), &[&bound[..], &["z=33:1:4"]].concat());
    assert_eq!(runs("pad"), "54\n");
    integer("1000", &["--bits", "14", "--no-padding", "--range", "0:9000"], "b.ct");
    put("3:1:2", "b.ct").done();
    assert_eq!(runs("sum"), "54\n");

    program(&bench, "split", "wsplit n, a\nreturn n\n", &["a=3:1:1", "n=33:1:3"]);
    // Integers that do not split, with what to encrypt instead.
    let split = |encoding: &[&str]| {
        integer("9", encoding, "a.ct");
        put("3:1:1", "a.ct").done();
        check("split")
    };
    split(&["--min", "0", "--max", "9999", "--no-padding"]).failed(&[
        "an integer in an encoding of 10000 places cannot be split into bits; encrypt it with --bits, or use",
    ]);
    split(&["--bits", "20", "--no-padding"])
        .failed(&["use fewer operations between bootstraps, integers of fewer bits or"]);

    // The types of the store, in the order of their codes.
    let text = bench.run(["info", "--store", "s"]).done();
    let codes: Vec<u16> = text
        .lines()
        .filter_map(|line| line.split_once("objects of type ")?.1.split(' ').next()?.parse().ok())
        .collect();
    assert!(codes.len() > 10 && codes.is_sorted(), "{codes:?}");
}

/// Sets with words, and the three keys of their servers.
#[test]
fn info_marks_the_sets_with_words() {
    let bench = Bench::new();
    let report = bench.run(["info", "--json"]).json();
    let sets = report["parameter_sets"].as_array().expect("a list");
    let with_words = |set: &&Value| set["conversion_key_bytes_seeded"].is_u64();
    let named: Vec<_> = sets.iter().filter(with_words).filter_map(|set| set["name"].as_str()).collect();
    assert_eq!(named, ["WORD_2M64", "WORD_2M128", "TEST_WORD"]);
    let text = bench.run(["info"]).done();
    for set in sets {
        let name = set["name"].as_str().expect("a name");
        let line = text.lines().find(|line| line.contains(&format!(" {name} "))).expect("a row");
        assert_eq!(line.contains(" yes "), named.contains(&name), "{line}");
    }
    assert!(
        text.contains("server key: bootstrapping and key-switching key, and with words the conversion key, seeded")
    );
    // As `keygen` prints them: 33.0 MB, 49.3 kB and 1.15 MB.
    let line = text.lines().find(|line| line.contains(" WORD_2M64 ")).expect("a row");
    assert!(line.contains(" 34.2 MB "), "{line}");
}
