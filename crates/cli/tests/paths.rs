//! Whole computations on every path of the CPU: results have the bits of the best path's.

use ciphermill_math::Isa;
use ciphermill_testing::available;

use crate::support::{Bench, Ran};

/// The environment variable that forces a path.
const FORCE: &str = "CIPHERMILL_ISA";

fn paths() -> Vec<Isa> {
    available(Isa::ALL, |isa| isa.is_available())
}

/// Runs a command on one path; the words of `line` are its arguments.
fn on(bench: &Bench, isa: Isa, line: &str) -> Ran {
    bench.run_with(line.split(' '), FORCE, &isa.to_string())
}

/// Runs `line` on each path, with `OUT` in it replaced by a file of the path, and compares the files.
fn same_bits(bench: &Bench, line: &str) {
    let results: Vec<(Isa, Vec<u8>)> = paths()
        .into_iter()
        .map(|isa| {
            let out = format!("{isa}.out");
            on(bench, isa, &line.replace("OUT", &format!("{out} --force"))).done();
            (isa, bench.read(&out))
        })
        .collect();
    let (best, expected) = results.last().expect("the portable path");
    for (isa, bits) in &results {
        assert!(bits == expected, "{line}: {isa} differs from {best}");
    }
}

#[test]
fn matrix_vector_products() {
    let bench = Bench::new();
    let numbers = |count: u64, factor: u64| -> Vec<String> {
        (0..count).map(|i| (i64::try_from(i * factor % 256).expect("small") - 128).to_string()).collect()
    };
    let rows: Vec<String> = (0..40).map(|row| numbers(300, 2 * row + 3).join(",")).collect();
    bench.write("a.txt", rows.join("\n"));
    bench.write("v.txt", numbers(300, 77).join("\n"));
    let run = |line: &str| bench.run(line.split(' ')).done();
    for strategy in ["row-packed", "algorithm1"] {
        run(&format!("hmvp plan --rows 40 --cols 300 --strategy {strategy} --out p.plan --force"));
        run("hmvp keygen --plan p.plan --secret-key v.key --galois-keys v.galois --force");
        run("hmvp encrypt --plan p.plan --secret-key v.key --vector v.txt --out v.ct --force");
        same_bits(&bench, "hmvp matrix --plan p.plan --matrix a.txt --out OUT");
        run("hmvp matrix --plan p.plan --matrix a.txt --out a.mat --force");
        same_bits(&bench, "hmvp multiply --galois-keys v.galois --matrix a.mat --vector v.ct --out OUT");
    }
}

#[test]
fn paillier() {
    let bench = Bench::new();
    let run = |line: &str| bench.run(line.split(' ')).done();
    run("paillier keygen --key-bits 2048 --secret-key p.key --public-key p.pub");
    run("paillier encrypt --secret-key p.key --value 5,-7,123456789 --out x.ct");
    bench.write("a.txt", "1 2 3\n-4 5 -6\n");
    same_bits(&bench, "paillier matvec --public-key p.pub --matrix a.txt x.ct --out OUT");
    same_bits(&bench, "paillier multiply --public-key p.pub x.ct --value -3,18446744073709551615,7 --out OUT");
    let decrypted: Vec<String> =
        paths().into_iter().map(|isa| on(&bench, isa, "paillier decrypt --secret-key p.key x.ct").done()).collect();
    assert!(decrypted.iter().all(|values| values == "5\n-7\n123456789\n"), "{decrypted:?}");
}

/// The exact back end gives equal bits. The FFT rounds differently on each path, and the demo decrypts equal results.
#[test]
fn bootstraps() {
    const SET: &str = "MESSAGE_4_2M64";
    let bench = Bench::new();
    let run = |line: &str| bench.run(line.split(' ')).done();
    run(&format!("tfhe keygen --params {SET} --secret-key me.key --server-key server.key"));
    run("tfhe encrypt --secret-key me.key --bits 4 --message 5 --out x.ct");
    bench.write("t.txt", (0..16).map(|x| format!("{}\n", (3 * x + 1) % 16)).collect::<String>());
    run(&format!("tfhe test-vector --params {SET} --bits 4 --function table --table t.txt --out t.tv"));
    for (register, file) in [("2:0:1", "server.key"), ("2:0:2", "server.key.ksk"), ("1:0:0", "t.tv"), ("3:0:1", "x.ct")]
    {
        run(&format!("blob put --store s --id {register} {file}"));
    }
    bench.write("p.cms", "bootstrap 1:0:0, 3:0:1\nreturn 3:0:1\n");
    same_bits(&bench, "program run --store s --read 3:0:1 --backend ntt p.cms --out OUT");
    run("program run --store s --read 3:0:1 p.cms --out r.ct");
    assert_eq!(run("tfhe decrypt --secret-key me.key --bits 4 r.ct").trim(), "0");
    for isa in paths() {
        let report = on(&bench, isa, &format!("demo --params {SET} --json")).json();
        assert_eq!((&report["correct"], &report["isa"]), (&true.into(), &isa.to_string().into()), "{report}");
    }
}
