//! The engine `rtl` as a user runs it: the CPU's bits for keys of 512 bits, and refusals.

#[cfg(feature = "rtl")]
#[allow(dead_code, reason = "these tests ask for no metrics")]
mod serve_support;
mod support;

#[cfg(feature = "rtl")]
use ciphermill_testing::{Need, not_run};
use support::{Bench, Ran};

/// Runs a command; the words of `line` are its arguments.
fn run(bench: &Bench, line: &str) -> Ran {
    bench.run(line.split(' '))
}

/// Without the feature the tests below are not compiled. The name of the engine is then unknown, and the error names those
/// of the build.
#[cfg(not(feature = "rtl"))]
#[test]
fn without_the_feature_the_engine_is_unknown() {
    run(&Bench::new(), "paillier encrypt --public-key p.pub --value 1 --engine rtl --out x.ct")
        .usage(&["rtl", "possible values: cpu, model"]);
}

#[cfg(feature = "rtl")]
mod with_the_feature {
    use std::time::{Duration, Instant};

    use super::*;
    use crate::serve_support::{HOST, Served};

    /// A directory with a pair of keys of 512 bits; `None` if this build was asked for other hardware units only.
    fn party(test: &str) -> Option<Bench> {
        let unit = |name: &str| name == "paillier_engine" || name.starts_with("paillier_engine/b1024");
        let built = match option_env!("CIPHERMILL_HW") {
            None | Some("" | "quick" | "all") => true,
            Some(names) => names.split(',').any(unit),
        };
        if !built {
            not_run(Need::Rtl, format_args!("{test}: CIPHERMILL_HW leaves out paillier_engine of 1024 bits"));
            return None;
        }
        let bench = Bench::new();
        keygen(&bench, "p", 512);
        Some(bench)
    }

    fn keygen(bench: &Bench, name: &str, bits: u32) {
        let files = format!("--secret-key {name}.key --public-key {name}.pub");
        run(bench, &format!("paillier keygen --key-bits {bits} --insecure-params {files}")).done();
    }

    fn paillier(bench: &Bench, line: &str) -> Ran {
        run(bench, &format!("paillier {line} --insecure-params"))
    }

    fn decrypt(bench: &Bench, file: &str) -> String {
        paillier(bench, &format!("decrypt --secret-key p.key {file}")).done()
    }

    #[test]
    fn two_values_are_encrypted_within_a_minute() {
        let Some(bench) = party("two_values_are_encrypted_within_a_minute") else { return };
        let begun = Instant::now();
        paillier(&bench, "encrypt --public-key p.pub --value 20,-22 --engine rtl --out x.ct").done();
        assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
        assert_eq!(decrypt(&bench, "x.ct"), "20\n-22\n");
        paillier(&bench, "encrypt --public-key p.pub --value -7 --strict --engine rtl --out y.ct").done();
        assert_eq!(decrypt(&bench, "y.ct"), "-7\n");
    }

    /// Evaluation draws no randomness, so the files are the same.
    #[test]
    fn results_have_the_bits_of_the_cpu() {
        let Some(bench) = party("results_have_the_bits_of_the_cpu") else { return };
        paillier(&bench, "encrypt --public-key p.pub --value 3,-5 --out x.ct").done();
        paillier(&bench, "encrypt --public-key p.pub --value 10,20 --out y.ct").done();
        bench.write("a.txt", "1 -2\n0 3\n4 5");
        for (line, expected) in [
            ("add x.ct y.ct", "13\n15\n"),
            ("add x.ct y.ct --subtract", "-7\n-25\n"),
            ("add x.ct --value 100,-100", "103\n-105\n"),
            ("add x.ct --value 100,-100 --subtract", "-97\n95\n"),
            ("multiply x.ct --value 2,-3 --scalar-bits 8", "6\n15\n"),
            ("matvec x.ct --matrix a.txt", "13\n-15\n-13\n"),
        ] {
            let on = |engine: &str| {
                let out = format!("{engine}.ct");
                paillier(&bench, &format!("{line} --public-key p.pub --engine {engine} --force --out {out}")).done();
                bench.read(&out)
            };
            assert_eq!(on("rtl"), on("cpu"), "{line}");
            assert_eq!(decrypt(&bench, "rtl.ct"), expected, "{line}");
        }
        paillier(&bench, "add x.ct y.ct --public-key p.pub --rerandomise --engine rtl --out r.ct").done();
        assert_eq!(decrypt(&bench, "r.ct"), "13\n15\n");
        assert_ne!(bench.read("r.ct"), bench.read("rtl.ct"));
    }

    #[test]
    fn refusals_write_nothing() {
        let Some(bench) = party("refusals_write_nothing") else { return };
        keygen(&bench, "long", 640);
        run(&bench, "paillier keygen --key-bits 2048 --secret-key q.key --public-key q.pub").done();
        paillier(&bench, "encrypt --public-key p.pub --value 1 --out x.ct").done();
        let before = bench.names();
        let out = "--value 1 --engine rtl --out n.ct";
        let encrypt = |options: &str| run(&bench, &format!("paillier encrypt {options} {out}"));
        // n² has about 1280 bits, the engine 1024.
        encrypt("--public-key long.pub --insecure-params").failed(&["rtl", "1024"]);
        // Without the opt-in neither the key nor the engine is accepted.
        encrypt("--public-key p.pub").failed(&["p.pub", "512", "--insecure-params"]);
        encrypt("--public-key q.pub").failed(&["rtl", "--insecure-params"]);
        encrypt("--public-key q.pub --insecure-params").failed(&["rtl", "1024"]);
        // Secret keys are for constant-time CPU engines.
        let cpu_only = ["rtl", "not a constant-time CPU engine"];
        encrypt("--secret-key p.key --insecure-params").failed(&cpu_only);
        paillier(&bench, "decrypt --secret-key p.key x.ct --engine rtl").failed(&cpu_only);
        let keygen = "keygen --key-bits 512 --secret-key n.key --public-key n.pub --engine rtl";
        paillier(&bench, keygen).failed(&cpu_only);
        run(&bench, "bench paillier --key-bits 512 --samples 1 --batch 1 --rows 1 --engine rtl").failed(&cpu_only);
        assert_eq!(bench.names(), before);
    }

    #[test]
    fn verbs_of_other_seams_are_refused() {
        let Some(bench) = party("verbs_of_other_seams_are_refused") else { return };
        let before = bench.names();
        for line in [
            "bench ks --params TEST_SMALL_U64",
            "bench keygen --params TEST_SMALL_U64",
            "bench hmvp --rows 2 --cols 3",
            "hmvp multiply --galois-keys v.galois --matrix a.mat --vector v.ct --out u.ct",
        ] {
            let ran = run(&bench, &format!("{line} --engine rtl"));
            ran.usage(&["engine rtl does not implement", "use cpu"]);
        }
        // Sets of other sizes.
        for line in ["bench nvme", "demo --params TEST_SMALL_U64 --json"] {
            run(&bench, &format!("{line} --engine rtl")).failed(&["computes no set TEST_SMALL_U64", "N = 16384"]);
        }
        let ran = run(&bench, "bench pbs --params TEST_SMALL_U64 --engine rtl");
        assert!(ran.code == 1 && ran.stderr.contains("computes no set TEST_SMALL_U64"), "{}", ran.stderr);
        run(&bench, "bench modexp --bits 1024 --path portable --engine rtl").usage(&["--path", "rtl"]);
        run(&bench, "bench modexp --bits 1025 --engine rtl").failed(&["1025", "1024"]);
        assert_eq!(bench.names(), before);
        let record = run(&bench, "bench modexp --bits 512 --samples 1 --engine rtl --json").json();
        assert_eq!((&record["correct"], &record["path"]), (&true.into(), &"rtl-paillier".into()), "{record}");
        assert_eq!(
            (&record["kind"], &record["constant_time"]),
            (&"simulated".into(), &"not claimed".into()),
            "{record}"
        );
        assert_eq!(record["case"], "modexp/512/rtl-paillier");
    }

    /// A store with keys of Paillier and of TFHE's toy set, and a program for each.
    fn store(bench: &Bench) {
        for (name, values) in [("x.ct", "1,2"), ("y.ct", "30,40")] {
            paillier(bench, &format!("encrypt --public-key p.pub --value {values} --out {name}")).done();
        }
        bench.write("sum.cms", "padd 18:3:1, 19:3:2\nreturn 18:3:1");
        bench.write("boot.cms", "bootstrap 1:0:1, 3:0:1\nreturn 3:0:1");
        bench.keygen("me.key", "server.key").done();
        bench.encrypt("3", "m.ct").done();
        let table = "test-vector --params TEST_SMALL_U64 --insecure-params --function identity --bits 4 --out t.tv";
        run(bench, table).done();
    }

    #[test]
    fn a_device_computes_what_the_hardware_has() {
        let Some(bench) = party("a_device_computes_what_the_hardware_has") else { return };
        store(&bench);
        let on = |store: &str, engine: &str, line: &str| {
            run(&bench, &format!("{line} --store {store} --insecure-params --engine {engine}"))
        };
        for engine in ["rtl", "cpu"] {
            let on = |line: &str| on(engine, engine, line);
            on("blob put --id 16:3:1 p.pub").done();
            on("blob put --id 18:3:1 x.ct").done();
            on("blob put --stored --id 19:3:2 y.ct").done();
            on(&format!("program run sum.cms --max-program-seconds 600 --out {engine}.sum")).done();
        }
        assert_eq!(bench.read("rtl.sum"), bench.read("cpu.sum"));
        assert_eq!(decrypt(&bench, "rtl.sum"), "31\n42\n");
        // Objects of another set of TFHE are stored; its bootstraps are refused.
        for (id, file) in [("2:0:1", "server.key"), ("2:0:2", "server.key.ksk"), ("1:0:1", "t.tv"), ("3:0:1", "m.ct")] {
            on("rtl", "rtl", &format!("blob put --id {id} {file}")).done();
        }
        on("rtl", "rtl", "program run boot.cms --out n.ct").failed(&["computes no set TEST_SMALL_U64", "N = 16384"]);
        assert!(!bench.path("n.ct").exists());
        // The same store on the CPU.
        on("rtl", "cpu", "program run boot.cms --out boot.ct").done();
        assert_eq!(bench.decrypt("me.key", "boot.ct").done(), "3\n");

        let refused = run(&bench, "blob put --store new --engine rtl --id 18:3:1 x.ct");
        refused.failed(&["engine rtl", "128 bits", "--insecure-params"]);
        run(&bench, "serve --store new --listen 127.0.0.1:0 --allow-host any --engine rtl").failed(&[
            "engine rtl",
            "128 bits",
            "--insecure-params",
        ]);
        assert!(!bench.path("new").join("objects.redb").exists());
    }

    #[test]
    fn a_server_computes_what_the_hardware_has() {
        let Some(bench) = party("a_server_computes_what_the_hardware_has") else { return };
        store(&bench);
        let served = Served::start(&bench, &["--allow-host", HOST, "--engine", "rtl", "--max-program-seconds", "600"]);
        let connect = served.connect();
        let at = |line: &str| run(&bench, &format!("{line} --connect {connect}"));
        at("blob put --id 16:3:1 p.pub").done();
        at("blob put --id 18:3:1 x.ct").done();
        at("blob put --stored --id 19:3:2 y.ct").done();
        at("program run sum.cms --read 18:3:1 --out sum.ct").done();
        assert_eq!(decrypt(&bench, "sum.ct"), "31\n42\n");
        for (id, file) in [("2:0:1", "server.key"), ("2:0:2", "server.key.ksk"), ("1:0:1", "t.tv"), ("3:0:1", "m.ct")] {
            at(&format!("blob put --id {id} {file}")).done();
        }
        at("program run boot.cms --read 3:0:1 --out n.ct").failed(&["3:0:1", "computes no set TEST_SMALL_U64"]);
        assert!(!bench.path("n.ct").exists());
        served.stop();
    }
}
