//! Matrix-vector products as a user runs them: from the plan to the decrypted product, with and without a device.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::Bench;

const ROWS: usize = 5;
const COLS: usize = 3;
const MATRIX: [[i64; COLS]; ROWS] = [[1, -2, 3], [127, -128, 0], [-1, -1, -1], [0, 0, 0], [9, 8, 7]];
const VECTOR: [i64; COLS] = [-128, 127, 5];
const PRODUCT: [i64; ROWS] = [-367, -32_512, -4, 0, -101];

/// A directory with a plan, keys, the matrix and the vector, sealed.
fn parties(strategy: &str) -> Bench {
    let bench = Bench::new();
    let rows = MATRIX.map(|row| row.map(|x| x.to_string()).join(", "));
    bench.write("a.txt", rows.join("\n"));
    bench.write("v.txt", VECTOR.map(|x| x.to_string()).join("\n"));
    bench.run(["hmvp", "plan", "--rows", "5", "--cols", "3", "--strategy", strategy, "--out", "p.plan"]).done();
    bench.run("hmvp keygen --plan p.plan --secret-key v.key --galois-keys v.galois".split(' ')).done();
    bench.run("hmvp encrypt --plan p.plan --secret-key v.key --vector v.txt --out v.ct".split(' ')).done();
    bench.run("hmvp matrix --plan p.plan --matrix a.txt --out a.mat".split(' ')).done();
    bench
}

fn decrypt(bench: &Bench, file: &str) -> Vec<i64> {
    let fixed = ["hmvp", "decrypt", "--plan", "p.plan", "--secret-key", "v.key", "--json", "--product", file];
    let report = bench.run(fixed).json();
    assert!(report["noise_bits_left"].as_f64().expect("a number") > 1.0, "{report}");
    report["product"].as_array().expect("a list").iter().map(|x| x.as_i64().expect("an integer")).collect()
}

#[test]
fn by_hand_with_every_strategy() {
    for strategy in ["algorithm1", "rotate-and-sum", "diagonal", "row-packed"] {
        let bench = parties(strategy);
        bench.run("hmvp multiply --galois-keys v.galois --matrix a.mat --vector v.ct --out u.ct".split(' ')).done();
        assert_eq!(decrypt(&bench, "u.ct"), PRODUCT, "{strategy}");
    }
}

#[test]
fn on_the_device() {
    let bench = parties("row-packed");
    let put = |register: &str, file: &str| bench.run(["blob", "put", "--store", "s", "--id", register, file]).done();
    put("5:4:1", "v.galois");
    put("6:4:0", "a.mat");
    put("7:4:1", "v.ct");
    bench.write("hmvp.cms", "hmvp a, v\nreturn v\n");
    let bound = ["hmvp.cms", "--bind", "a=6:4:0", "--bind", "v=7:4:1"];
    let run = ["program", "run", "--store", "s", "--out", "u.ct"];
    bench.run(run.into_iter().chain(bound)).done();
    assert_eq!(decrypt(&bench, "u.ct"), PRODUCT);
    // Compute-on-write: the write of the vector multiplies, what is read is the product.
    let asm = ["program", "asm", "hmvp.cms", "--bind", "a=6:4:0", "--bind", "v=8:4:1", "--out", "hmvp.prg"];
    bench.run(asm).done();
    put("0:4:0", "hmvp.prg");
    put("8:4:1", "v.ct");
    bench.run(["blob", "get", "--store", "s", "--id", "8:4:1", "--out", "w.ct"]).done();
    assert_eq!(decrypt(&bench, "w.ct"), PRODUCT);
    let list = bench.run(["blob", "ls", "--store", "s", "--json"]).done();
    for name in ["Galois keys", "matrix", "vector-CoR", "vector-CoW"] {
        assert!(list.contains(name), "{name} is not in {list}");
    }
}

#[test]
fn secrets_are_the_owners_and_nothing_is_overwritten() {
    let bench = parties("row-packed");
    let mode = |name: &str| fs::metadata(bench.path(name)).expect("a file").permissions().mode() & 0o777;
    assert_eq!(mode("v.key"), 0o600);
    let keygen = "hmvp keygen --plan p.plan --secret-key v.key --galois-keys w.galois";
    bench.run(keygen.split(' ')).failed(&["v.key exists already"]);
    assert!(!bench.path("w.galois").exists());
    let same = "hmvp keygen --plan p.plan --secret-key x.key --galois-keys x.key";
    bench.run(same.split(' ')).usage(&["different files"]);
}

#[test]
fn a_public_key_encrypts_too() {
    let bench = parties("row-packed");
    bench.run("hmvp plan --rows 5 --cols 3 --public-key --out p.plan --force".split(' ')).done();
    let keygen = "hmvp keygen --plan p.plan --secret-key v.key --galois-keys v.galois --public-key v.pub --force";
    bench.run(keygen.split(' ')).done();
    bench.run("hmvp encrypt --plan p.plan --public-key v.pub --vector v.txt --out v.ct --force".split(' ')).done();
    bench.run("hmvp matrix --plan p.plan --matrix a.txt --out a.mat --force".split(' ')).done();
    bench.run("hmvp multiply --galois-keys v.galois --matrix a.mat --vector v.ct --out u.ct".split(' ')).done();
    assert_eq!(decrypt(&bench, "u.ct"), PRODUCT);
}

#[test]
fn what_does_not_fit_is_one_line() {
    let bench = parties("row-packed");
    bench.write("long.txt", "1 2 3 4");
    bench.write("wide.txt", "1 2 300");
    bench.write("word.txt", "1 2 x");
    let encrypt = |vector: &str| {
        let fixed = "hmvp encrypt --plan p.plan --secret-key v.key --out n.ct --vector".split(' ');
        bench.run(fixed.chain([vector]))
    };
    encrypt("long.txt").failed(&["4", "3"]);
    encrypt("wide.txt").failed(&["300", "-128", "127"]);
    encrypt("word.txt").failed(&["word.txt", "line 1", "not an integer"]);
    assert!(!bench.path("n.ct").exists());
    // Another plan's objects, another client's keys, damaged bytes.
    bench.run("hmvp plan --rows 6 --cols 3 --out q.plan".split(' ')).done();
    bench.run("hmvp matrix --plan q.plan --matrix a.txt --out n.mat".split(' ')).failed(&["5", "6"]);
    bench.run("hmvp keygen --plan p.plan --secret-key w.key --galois-keys w.galois".split(' ')).done();
    let foreign = "hmvp multiply --galois-keys w.galois --matrix a.mat --vector v.ct --out n.ct";
    bench.run(foreign.split(' ')).failed(&["key set"]);
    let mut bytes = bench.read("a.mat");
    let at = bytes.len() - 3;
    bytes[at] ^= 1;
    bench.write("d.mat", &bytes);
    let damaged = "hmvp multiply --galois-keys v.galois --matrix d.mat --vector v.ct --out n.ct";
    bench.run(damaged.split(' ')).failed(&["d.mat", "checksum"]);
    bench.run("hmvp plan --rows 0 --cols 3".split(' ')).failed(&["0", "16384"]);
    bench.run("hmvp plan --rows 5 --cols 16385".split(' ')).failed(&["16385", "16384"]);
    bench.run("hmvp plan --rows 5 --cols 3 --matrix-bits 40".split(' ')).failed(&["40"]);
}

#[test]
fn the_benchmark_checks_what_it_times() {
    let bench = Bench::new();
    for options in ["--strategy algorithm1", "--fresh-matrix", "--vectors 3 --matrix-bits 16 --vector-bits 16"] {
        let run = format!("bench hmvp --rows 64 --cols 256 --threads 1 --samples 2 --json {options}");
        let record = bench.run(run.split(' ')).json();
        assert_eq!((&record["correct"], &record["samples"]), (&true.into(), &2.into()), "{record}");
        for field in ["min_ns", "median_ns", "encode_ns", "noise_bits_left"] {
            assert!(record[field].as_f64().expect("a number") > 0.0, "{field} in {record}");
        }
        assert!(record["plan"]["plain_products"].as_u64().expect("a count") > 0, "{record}");
    }
    let explained = bench.run("hmvp plan --rows 1024 --cols 256".split(' ')).done();
    for word in ["row-packed", "noise", "key switches", "memory"] {
        assert!(explained.to_lowercase().contains(word), "{word} is not in {explained}");
    }
}

/// Files of an earlier version, whose set has less than 128 bits of security, and a named set below 128 bits: both need the
/// opt-in, and every report states the figure.
#[test]
fn sets_below_128_bits_need_the_opt_in() {
    let bench = Bench::new();
    let old = |name: &str| format!("{}/../hmvp/tests/data/below-128/rotate.{name}", env!("CARGO_MANIFEST_DIR"));
    bench.write("v.txt", "5 -6 7\n");
    bench.write("a.txt", "1 2 -2048\n-1 0 2047\n");
    let [plan, galois, matrix, vector] = ["plan", "galois", "mat", "ct"].map(old);
    // A checkout may leave the key readable by others.
    fs::copy(old("key"), bench.path("old.key")).expect("a copy");
    fs::set_permissions(bench.path("old.key"), fs::Permissions::from_mode(0o600)).expect("its mode");
    let verbs = [
        format!("hmvp keygen --plan {plan} --secret-key n.key --galois-keys n.galois"),
        format!("hmvp encrypt --plan {plan} --secret-key n.key --vector v.txt --out n.ct"),
        format!("hmvp matrix --plan {plan} --matrix a.txt --out n.mat"),
        format!("hmvp multiply --galois-keys {galois} --matrix {matrix} --vector {vector} --out u.ct"),
        format!("hmvp decrypt --plan {plan} --secret-key old.key --product u.ct"),
    ];
    for verb in &verbs {
        bench.run(verb.split(' ')).failed(&["below the required 128", "--insecure-params"]);
        bench.run(format!("{verb} --insecure-params").split(' ')).done();
    }
    let decrypted = bench.run(format!("{} --insecure-params", verbs[4]).split(' ')).done();
    assert_eq!(decrypted.trim(), "-14343\n14324");

    let plan = "hmvp plan --rows 4 --cols 3 --params BFV_4096";
    bench.run(plan.split(' ')).failed(&["BFV_4096", "125.1 bits", "--insecure-params"]);
    let text = bench.run(format!("{plan} --insecure-params").split(' ')).done();
    assert!(text.contains("125.1 bits, below 128 (lattice-estimator, MATZOV); 128 by the standard of 2018"), "{text}");
    let text = bench.run("hmvp plan --rows 4 --cols 3 --params CHAM_PAPER".split(' ')).done();
    assert!(text.contains("128.9 bits (lattice-estimator, MATZOV); 128 by the standard of 2018"), "{text}");
    let ran = bench.run("bench hmvp --rows 4 --cols 3 --params BFV_4096 --samples 1".split(' '));
    let note = "ciphermill: note: BFV_4096 has 125.1 bits of security; accepted for a benchmark\n";
    assert_eq!(ran.stderr, note, "an insecure set is named");
    let table = ran.done();
    assert!(table.contains("yes"), "{table}");
    let ran = bench.run("bench hmvp --rows 4 --cols 3 --params BFV_4096_128 --samples 1".split(' '));
    assert_eq!(ran.stderr, "", "a secure set needs no note");
    ran.done();
}

/// A product by `hmvp multiply` is not masked, and the command says so.
#[test]
fn multiply_says_that_it_does_not_mask() {
    let bench = Bench::new();
    bench.write("v.txt", "1 2 3\n");
    bench.write("a.txt", "1 2 3\n4 5 6\n");
    for verb in [
        "hmvp plan --rows 2 --cols 3 --out p.plan",
        "hmvp keygen --plan p.plan --secret-key v.key --galois-keys v.galois",
        "hmvp encrypt --plan p.plan --secret-key v.key --vector v.txt --out v.ct",
        "hmvp matrix --plan p.plan --matrix a.txt --out a.mat",
    ] {
        bench.run(verb.split(' ')).done();
    }
    let multiply = "hmvp multiply --galois-keys v.galois --matrix a.mat --vector v.ct --out u.ct";
    let text = bench.run(multiply.split(' ')).done();
    assert!(text.contains("not masked: noise and unused coefficients depend on the matrix"), "{text}");
    let json = bench.run(format!("{multiply} --force --json").split(' ')).json();
    assert_eq!(json["masked"], false);
    let help = bench.run(["hmvp", "multiply", "--help"]).done();
    assert!(help.contains("The product is not masked"), "{help}");
    // A matrix is no product.
    let json = bench.run("hmvp matrix --plan p.plan --matrix a.txt --out b.mat --json".split(' ')).json();
    assert!(json.get("masked").is_none());
}
