//! Paillier's scheme as a user runs it: keys, vectors, results, refusals, and the benchmarks' records.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::Bench;

/// A directory with `p.key` and `p.pub` of 2048 bits.
fn party() -> Bench {
    let bench = Bench::new();
    keygen(&bench, "p").done();
    bench
}

fn keygen(bench: &Bench, name: &str) -> crate::support::Ran {
    let (secret, public) = (format!("{name}.key"), format!("{name}.pub"));
    bench.run(["paillier", "keygen", "--key-bits", "2048", "--secret-key", &secret, "--public-key", &public])
}

/// Runs a verb; the words of `line` are its arguments.
fn run(bench: &Bench, line: &str) -> crate::support::Ran {
    bench.run(["paillier"].into_iter().chain(line.split(' ')))
}

fn decrypt(bench: &Bench, file: &str) -> Vec<String> {
    let report = run(bench, &format!("decrypt --secret-key p.key --json {file}")).json();
    report["values"].as_array().expect("a list").iter().map(|x| x.as_str().expect("a string").to_owned()).collect()
}

#[test]
fn by_hand() {
    let bench = party();
    let mode = |name: &str| fs::metadata(bench.path(name)).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode("p.key"), 0o600);
    let long = format!("-1{}", "0".repeat(300));
    bench.write("x.txt", format!("5 -7\n{long} # beyond any machine word\n"));
    run(&bench, "encrypt --public-key p.pub --values x.txt --out x.ct").failed(&["x.txt", "line 2"]);
    bench.write("x.txt", format!("5, -7, {long}"));
    run(&bench, "encrypt --public-key p.pub --values x.txt --out x.ct").done();
    assert_eq!(decrypt(&bench, "x.ct"), ["5", "-7", &long]);
    let plain = run(&bench, "decrypt --secret-key p.key x.ct").done();
    assert_eq!(plain, format!("5\n-7\n{long}\n"));

    // The owner's way, and both with strict blinding.
    run(&bench, "encrypt --secret-key p.key --value 1,2,-3 --out y.ct").done();
    run(&bench, "encrypt --secret-key p.key --value 1,2,-3 --strict --out z.ct").done();
    run(&bench, "encrypt --public-key p.pub --value -4 --strict --out one.ct").done();
    assert_eq!(decrypt(&bench, "z.ct"), ["1", "2", "-3"]);
    assert_ne!(bench.read("y.ct"), bench.read("z.ct"));

    run(&bench, "add --public-key p.pub y.ct z.ct --out s.ct").done();
    assert_eq!(decrypt(&bench, "s.ct"), ["2", "4", "-6"]);
    run(&bench, "add --public-key p.pub y.ct one.ct --subtract --out d.ct").done();
    assert_eq!(decrypt(&bench, "d.ct"), ["5", "6", "1"]);
    run(&bench, "add --public-key p.pub y.ct --value 10,-20,30 --rerandomise --out a.ct").done();
    assert_eq!(decrypt(&bench, "a.ct"), ["11", "-18", "27"]);
    run(&bench, "add --public-key p.pub y.ct --value 10,-20,30 --subtract --out b.ct").done();
    assert_eq!(decrypt(&bench, "b.ct"), ["-9", "22", "-33"]);
    run(&bench, "multiply --public-key p.pub y.ct --value -3 --out m.ct").done();
    assert_eq!(decrypt(&bench, "m.ct"), ["-3", "-6", "9"]);
    run(&bench, "multiply --public-key p.pub y.ct --value 2,-3,18446744073709551615 --out n.ct").done();
    assert_eq!(decrypt(&bench, "n.ct"), ["2", "-6", "-55340232221128654845"]);
    bench.write("a.txt", "1 1 1\n-1 0 2\n18446744073709551615 0 0\n0 0 0");
    let report = run(&bench, "matvec --public-key p.pub --matrix a.txt y.ct --rerandomise --json --out v.ct").json();
    assert_eq!((&report["elements"], &report["key_bits"]), (&4.into(), &2048.into()), "{report}");
    assert_eq!(decrypt(&bench, "v.ct"), ["0", "-7", "18446744073709551615", "0"]);
}

#[test]
fn numbers_with_a_declared_precision() {
    let bench = party();
    run(&bench, "encrypt --public-key p.pub --real 1.5,-0.25,0.1 --fraction-bits 40 --out x.ct").done();
    run(&bench, "multiply --public-key p.pub x.ct --value -3 --out y.ct").done();
    let report = run(&bench, "decrypt --secret-key p.key --fraction-bits 40 --json y.ct").json();
    let reals: Vec<f64> = report["values"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|x| x.as_str().expect("a string").parse().expect("a number"))
        .collect();
    assert_eq!(reals[..2], [-4.5, 0.75]);
    assert!((reals[2] + 0.3).abs() < 1e-11 && reals[2] != -0.3, "{reals:?}");
    // The same numbers in a file.
    bench.write("x.txt", "1.5; -0.25 # two\r\n\n\t0.1,");
    run(&bench, "encrypt --public-key p.pub --reals x.txt --fraction-bits 40 --out f.ct").done();
    let decrypt = |file: &str| run(&bench, &format!("decrypt --secret-key p.key --fraction-bits 40 {file}")).done();
    assert_eq!(decrypt("f.ct"), decrypt("x.ct"));
    for (text, words) in [("1\n2 a7654", ["x.txt", "line 2"]), ("# none", ["x.txt", "no numbers"])] {
        bench.write("x.txt", text);
        let refused = run(&bench, "encrypt --public-key p.pub --reals x.txt --fraction-bits 40 --out n.ct");
        assert!(!refused.stderr.contains("a7654"), "{}", refused.stderr);
        refused.failed(&words);
    }
    run(&bench, "encrypt --public-key p.pub --reals x.txt --out n.ct").usage(&["--fraction-bits"]);
    run(&bench, "encrypt --public-key p.pub --reals x.txt --real 1 --fraction-bits 4 --out n.ct").usage(&["--reals"]);
    run(&bench, "encrypt --public-key p.pub --values x.txt --fraction-bits 4 --out n.ct").usage(&["--real"]);
    run(&bench, "encrypt --public-key p.pub --real 0,1e30 --fraction-bits 4 --out n.ct").failed(&["value 1", "2^64"]);
    run(&bench, "encrypt --public-key p.pub --real inf --fraction-bits 4 --out n.ct").failed(&["finite"]);
    run(&bench, "encrypt --public-key p.pub --real 1.5 --out n.ct").usage(&["--fraction-bits"]);
    run(&bench, "encrypt --public-key p.pub --value 1 --fraction-bits 4 --out n.ct").usage(&["--real"]);
}

#[test]
fn files_tell_what_they_are() {
    let bench = party();
    run(&bench, "encrypt --public-key p.pub --value 1,2 --out x.ct").done();
    let tag = run(&bench, "info p.pub --json").json()["key_tag"].clone();
    for (file, what, elements) in [("p.key", "secret key", None), ("x.ct", "ciphertexts", Some(2))] {
        let report = run(&bench, &format!("info {file} --json")).json();
        assert_eq!((&report["what"], &report["key_tag"]), (&what.into(), &tag), "{report}");
        assert_eq!(report["elements"].as_u64(), elements, "{report}");
    }
    let text = run(&bench, "info p.key").done();
    assert!(text.contains("2048") && text.contains("DJN"), "{text}");
    bench.write("other", "nothing of ours");
    run(&bench, "info other").failed(&["other"]);
}

#[test]
fn small_keys_need_the_flag() {
    let bench = Bench::new();
    let keygen = "keygen --key-bits 1024 --secret-key s.key --public-key s.pub";
    run(&bench, keygen).failed(&["1024", "2048", "4096", "insecure"]);
    run(&bench, "keygen --key-bits 2000 --insecure-bench --secret-key s.key --public-key s.pub")
        .failed(&["2000", "128"]);
    assert_eq!(bench.names(), Vec::<String>::new(), "failures leave nothing");
    let said = run(&bench, &format!("{keygen} --insecure-bench")).done();
    assert!(said.contains("INSECURE"), "{said}");
    run(&bench, "encrypt --public-key s.pub --value 1 --out x.ct").failed(&["s.pub", "1024", "2048"]);
    run(&bench, "encrypt --public-key s.pub --value 1 --out x.ct --insecure-bench").done();
    run(&bench, "decrypt --secret-key s.key x.ct").failed(&["s.key", "1024"]);
    assert_eq!(run(&bench, "decrypt --secret-key s.key --insecure-bench x.ct").done(), "1\n");
}

#[test]
fn what_does_not_fit_is_one_line() {
    let bench = party();
    run(&bench, "encrypt --public-key p.pub --value 1,2,3 --out x.ct").done();
    keygen(&bench, "p").failed(&["p.key exists already"]);
    run(&bench, "keygen --secret-key q.key --public-key q.key").usage(&["different files"]);
    let refused = |line: &str, words: &[&str]| run(&bench, &format!("{line} --out n.ct")).failed(words);
    // Out of range.
    let huge = format!("1{}", "0".repeat(700));
    refused(&format!("encrypt --public-key p.pub --value 0,{huge}"), &["plaintext 1", "2048"]);
    refused("multiply --public-key p.pub x.ct --value 256 --scalar-bits 8", &["scalar 0", "8 bits"]);
    refused("multiply --public-key p.pub x.ct --value 1,2", &["3", "2"]);
    refused("add --public-key p.pub x.ct --value 1,2", &["3", "2"]);
    bench.write("a.txt", "1 2\n3 4");
    refused("matvec --public-key p.pub --matrix a.txt x.ct", &["3", "2"]);
    bench.write("a.txt", "1 2 18446744073709551616");
    refused("matvec --public-key p.pub --matrix a.txt x.ct", &["a.txt", "weight 2", "2^64"]);
    run(&bench, "add --public-key p.pub x.ct --out n.ct").usage(&["RIGHT"]);
    // Another key's objects.
    keygen(&bench, "q").done();
    refused("add --public-key q.pub x.ct x.ct", &["x.ct", "key"]);
    run(&bench, "decrypt --secret-key q.key x.ct").failed(&["x.ct", "key"]);
    run(&bench, "decrypt --secret-key p.pub x.ct").failed(&["p.pub", "kind"]);
    refused("encrypt --public-key p.key --value 1", &["p.key", "kind"]);
    // Damaged bytes, and a number that is not a ciphertext behind a good checksum.
    bench.copy_changed("x.ct", "d.ct", |bytes| bytes[100] ^= 1);
    refused("add --public-key p.pub d.ct x.ct", &["d.ct", "checksum"]);
    bench.copy_changed("p.pub", "d.pub", |bytes| bytes.truncate(bytes.len() / 2));
    refused("encrypt --public-key d.pub --value 1", &["d.pub", "truncated"]);
    let key = ciphermill_paillier::serial::CIPHERTEXT_VECTOR;
    let sealed = bench.read("x.ct");
    let head = ciphermill_wire::HEADER_LEN;
    let mut body = sealed[head..sealed.len() - 4].to_vec();
    body[24..24 + 512].fill(0xff);
    bench.write("r.ct", ciphermill_wire::seal(key, 1, &body));
    refused("add --public-key p.pub r.ct x.ct", &["r.ct", "ciphertext 0", "0 < c < n²"]);
    assert!(!bench.path("n.ct").exists());
}

#[test]
fn the_benchmark_of_exponentiation_checks_what_it_times() {
    let bench = Bench::new();
    for (options, path) in [("--bits 512", None), ("--bits 1000 --path portable --batch 3", Some("portable"))] {
        let run = format!("bench modexp --samples 2 --json {options}");
        let record = bench.run(run.split(' ')).json();
        assert_eq!((&record["correct"], &record["samples"]), (&true.into(), &2.into()), "{record}");
        assert_eq!(record["constant_time"], "by construction", "{record}");
        for field in ["min_ns", "median_ns", "ops_per_s"] {
            assert!(record[field].as_f64().expect("a number") > 0.0, "{field} in {record}");
        }
        assert!(path.is_none_or(|path| record["path"] == path), "{record}");
    }
    bench.run("bench modexp --bits 511".split(' ')).usage(&["511", "use 512 to 8192"]);
    bench.run("bench modexp --path avx9".split(' ')).usage(&["portable", "ifma"]);
}

#[test]
fn the_benchmark_of_the_scheme_checks_what_it_times() {
    let bench = Bench::new();
    for options in ["--key-bits 512 --batch 9 --rows 3", "--key-bits 2048 --batch 8 --rows 2 --path portable"] {
        let run = format!("bench paillier --samples 1 --json {options}");
        let record = bench.run(run.split(' ')).json();
        assert_eq!(
            (&record["correct"], &record["constant_time"]),
            (&true.into(), &"by construction".into()),
            "{record}"
        );
        assert!(record["path"].is_string() && record["threads"] == 1, "{record}");
        for name in ["encrypt", "encrypt_strict", "encrypt_owner", "encrypt_owner_strict", "decrypt", "add", "mul64"] {
            assert!(record["ops_per_s"][name].as_f64().expect("a number") > 0.0, "{name} in {record}");
        }
        for operation in record["operations"].as_array().expect("a list") {
            assert!(operation["min_ns"].as_f64() <= operation["median_ns"].as_f64(), "{operation}");
        }
    }
    bench.run("bench paillier --key-bits 256".split(' ')).failed(&["256", "512"]);
}
