//! `arch asm`, `disasm`, `compile`, `exec` and `scalar`: programs of the array in files, and what becomes of them.

use crate::support::Bench;
use serde_json::Value;

/// The example of docs/rvfhe-isa.md.
const BUTTERFLY: &str = include_str!("../../../examples/rvfhe/butterfly.s");

/// Little-endian bytes.
fn bytes(words: impl IntoIterator<Item = u32>) -> Vec<u8> {
    words.into_iter().flat_map(u32::to_le_bytes).collect()
}

fn words(bytes: &[u8]) -> Vec<u32> {
    bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect()
}

#[test]
fn a_text_becomes_words_and_text_again() {
    let bench = Bench::new();
    bench.write("loop.s", "again: mbfly v3, v7, t2!, m0\n bne x1, x2, again  # a comment\n ebreak\n");
    let asm = |more: &[&str]| bench.run(["arch", "asm", "loop.s", "--out", "loop.bin"].iter().chain(more));
    assert_eq!(asm(&[]).done(), "loop.bin: 3 instructions, 12 bytes\n");
    assert_eq!(words(&bench.read("loop.bin")), [0x2623_81ab, 0xfe20_9ee3, 0x0010_0073]);
    let text = bench.run(["arch", "disasm", "loop.bin"]).done();
    assert_eq!(text, "l0:\n    mbfly v3, v7, t2!, m0\n    bne x1, x2, l0\n    ebreak\n");
    // Text that was printed assembles to the same words.
    bench.write("again.s", &text);
    bench.run(["arch", "asm", "again.s", "--out", "again.bin"]).done();
    assert_eq!(bench.read("again.bin"), bench.read("loop.bin"));
    // What is there stays, unless it is to go.
    asm(&[]).failed(&["loop.bin exists already", "--force"]);
    let json = asm(&["--force", "--json"]).json();
    assert_eq!(json, serde_json::json!({"path": "loop.bin", "bytes": 12, "instructions": 3}));
    let json = bench.run(["arch", "disasm", "loop.bin", "--json"]).json();
    assert_eq!(json["lines"][3], "    ebreak");
}

#[test]
fn a_text_that_is_none_says_where() {
    let bench = Bench::new();
    let asm = |text: &[u8], words: &[&str]| {
        bench.write("bad.s", text);
        bench.run(["arch", "asm", "bad.s", "--out", "bad.bin"]).failed(words);
        assert_eq!(bench.names(), ["bad.s"]);
    };
    asm(b"ebreak\n    mull v1, v2\n", &["bad.s: line 2, column 5: expected an instruction", "found `mull`"]);
    asm(b"mmul v1, v2, t16, m0\nebreak", &["bad.s: line 1, column 14: 16 is not the number of a twiddle register"]);
    asm(b"bne x1, x2, nowhere\nebreak", &["line 1, column 13: the label `nowhere` is not defined"]);
    asm(b"# nothing\n", &["line 1, column 1: the program has no instruction"]);
    asm(b"addi x1, x0, 1\n", &["line 1", "goes on past its end"]);
    asm(b"\xff\xfe", &["bad.s", "utf-8"]);
    asm(b"\x1b[31m", &["line 1, column 1"]);
    asm(&vec![b'#'; (1 << 26) + 1], &["bad.s: the file has 67108865 bytes, at most 67108864"]);
    asm(&b"addi x1, x0, 1\n".repeat((1 << 20) + 1), &["line 1048577", "holds 1048576 instructions"]);
    bench.run(["arch", "asm", "none.s", "--out", "x"]).failed(&["cannot open none.s"]);
    bench.run(["arch", "asm", ".", "--out", "x"]).failed(&["cannot read ."]);
    bench.run(["arch", "asm", "bad.s"]).usage(&["--out"]);
}

#[test]
fn words_that_are_none_say_which() {
    let bench = Bench::new();
    let disasm = |bytes: Vec<u8>, words: &[&str]| {
        bench.write("bad.bin", bytes);
        bench.run(["arch", "disasm", "bad.bin"]).failed(words);
    };
    disasm(vec![], &["bad.bin: the program has no instruction"]);
    disasm(vec![0x73, 0, 0x10], &["bad.bin: 3 bytes are not a whole number of words"]);
    disasm(bytes([0x0010_0073, 0xffff_ffff]), &["bad.bin: word 1: word 0xffffffff: opcode 0x7f"]);
    disasm(bytes([0x0000_002b]), &["word 0: the program goes on past its end"]);
    disasm(vec![0; (1 << 22) + 4], &["4194308 bytes, at most 4194304"]);
    // The paper's words are not Ciphermill's, but can be read.
    let (ldp, madd, copy) = (0x0000_0faa, 0x0031_00ab, 0x0010_80ac);
    disasm(bytes([ldp]), &["word 0: word 0x00000faa"]);
    bench.write("paper.bin", bytes([ldp & !0x7000, madd, copy, 0x0010_0073]));
    let text = bench.run(["arch", "disasm", "paper.bin", "--paper"]).done();
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    assert_eq!(lines[0], "ldp v31, 0(x0)  # ldp v31, (x0), size=0");
    assert_eq!(lines[1], "madd v1, v2, v3, m0  # madd v1, v2, v3");
    assert!(lines[2].starts_with("# copy c1, c1, v1, size=0: copy to c1: it does not say which row"), "{text}");
    assert_eq!(lines[3], "ebreak");
    // With a line for the copy it is a program.
    bench.write("paper.s", &text);
    bench.run(["arch", "asm", "paper.s", "--out", "ours.bin"]).done();
    bench.write("paper.bin", bytes([0x0010_0073, 0xffff_ffff]));
    let paper = |name: &str| bench.run(["arch", "disasm", "--paper", name]);
    paper("paper.bin").failed(&["paper.bin: word 1: word 0xffffffff is none of the paper's"]);
    bench.write("empty.bin", "");
    paper("empty.bin").failed(&["no instruction"]);
    bench.write("odd.bin", "odd");
    paper("odd.bin").failed(&["3 bytes are not a whole number of words"]);
}

/// One vector on `ciphermill`.
const LANES: usize = 32;
const MODULUS: u32 = 2_013_265_921;

/// A directory with the example, its vectors 5 and 7, and w = 2.
fn with_butterfly() -> Bench {
    let bench = Bench::new();
    bench.write("butterfly.s", BUTTERFLY);
    bench.write("in.bin", bytes([[5; LANES], [7; LANES]].concat()));
    bench.write("w.bin", bytes([2, (2u64 << 32).div_euclid(MODULUS.into()) as u32]));
    bench
}

const BUTTERFLY_ARGUMENTS: [&str; 6] = ["--set", "x10=2013265921", "--twiddles", "w.bin", "--scratchpad", "in.bin"];

#[test]
fn a_program_runs_and_its_values_are_those_of_its_instructions() {
    let bench = with_butterfly();
    let exec = |more: &[&str]| bench.run(["arch", "exec"].iter().chain(&BUTTERFLY_ARGUMENTS).chain(more));
    let json = exec(&["--core", "0=butterfly.s", "--out-scratchpad", "out.bin", "--json"]).json();
    let [record] = &json.as_array().expect("a list")[..] else { panic!("{json}") };
    assert_eq!((&record["schema"], &record["label"]), (&"ciphermill-arch/1".into(), &"simulated".into()));
    assert_eq!((&record["case"], &record["machine"]), (&"arch-exec/p512".into(), &"ciphermill".into()));
    // docs/rvfhe-isa.md has the cycles.
    assert_eq!((&record["correct"], &record["cycles"]), (&Value::Null, &32.into()));
    let cores = record["params"]["cores"].as_array().expect("a list");
    assert_eq!(cores.len(), 16);
    for (count, value) in [("butterflies", 1), ("scratchpad_loads", 2), ("scratchpad_stores", 2), ("twiddle_loads", 1)]
    {
        assert_eq!((&cores[0][count], &cores[1][count]), (&value.into(), &0.into()), "{count}");
    }
    let out = words(&bench.read("out.bin"));
    assert_eq!(out.len(), 24576 * LANES);
    let wanted = [[5; LANES], [7; LANES], [5 + 2 * 7; LANES], [MODULUS + 5 - 2 * 7; LANES]].concat();
    assert_eq!(out[..4 * LANES], wanted);
    assert!(out[4 * LANES..].iter().all(|word| *word == 0));
    // The words do what the text does, and all cores can do the same.
    bench.run(["arch", "asm", "butterfly.s", "--out", "butterfly.bin"]).done();
    let words = exec(&["--core", "0=butterfly.bin", "--json"]).json();
    assert_eq!(words, json);
    let all = exec(&["butterfly.bin", "--json"]).json();
    assert_eq!(all[0]["params"]["cores"][15]["butterflies"], 1);
    let text = exec(&["--core", "0=butterfly.bin"]).done();
    for word in [&format!("{} cycles on `ciphermill`, simulated", record["cycles"]), "launch took 29", "butterflies"] {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
    // What is there stays, unless it is to go; so does what was there before a run that fails.
    let before = bench.read("out.bin");
    exec(&["butterfly.bin", "--out-scratchpad", "out.bin"]).failed(&["out.bin exists already"]);
    bench.run(["arch", "exec", "butterfly.s", "--out-scratchpad", "out.bin", "--force"]).failed(&["m0 is not set"]);
    assert_eq!(bench.read("out.bin"), before);
    exec(&["butterfly.bin", "--out-scratchpad", "out.bin", "--force"]).done();
    // Cores differ, on another machine, with a register in hexadecimal and twiddles of one core.
    let one = ["arch", "exec", "--core", "3=butterfly.s", "--machine", "paper", "--set", "x10=0x78000001"];
    let files = ["--twiddles", "3=w.bin", "--scratchpad", "in.bin", "--out-scratchpad", "paper.bin", "--json"];
    let paper = bench.run(one.iter().chain(&files)).json();
    assert_eq!((&paper[0]["machine"], &paper[0]["params"]["cores"][3]["butterflies"]), (&"paper".into(), &1.into()));
    assert_eq!(self::words(&bench.read("paper.bin"))[..4 * LANES], wanted);
}

#[test]
fn a_deadlock_names_what_each_core_waits_for() {
    let bench = Bench::new();
    // Each waits for a row that the other one sends when it has one.
    bench.write("a.s", "ldp v1, 0(x0)!\ncopy c1, v1, 0(x0)\nebreak\n");
    bench.write("b.s", "# The other one.\nldp v2, 0(x0)!\ncopy c0, v2, 0(x0)\nebreak\n");
    bench.run(["arch", "asm", "b.s", "--out", "b.bin"]).done();
    let exec = |other: &str| bench.run(["arch", "exec", "--core", "0=a.s", "--core", other]);
    exec("1=b.s").failed(&[
        "deadlock in cycle ",
        "a.s: line 1: core 0, instruction 0: words of row 0, or of its tile, are empty; ",
        "b.s: line 2: core 1, instruction 0: words of row 0",
        "b.s: line 3: core 1, instruction 1: v2 is empty",
    ]);
    exec("1=b.bin").failed(&["b.bin: core 1, instruction 0: words of row 0"]);
}

#[test]
fn programs_that_go_wrong_are_located() {
    let bench = Bench::new();
    let exec = |text: &str, more: &[&str], words: &[&str]| {
        bench.write("bad.s", text);
        bench.run(["arch", "exec", "bad.s"].iter().chain(more)).failed(words);
    };
    exec(
        "lui x5, 0x6\n\nlds v1, 0(x5)\nebreak",
        &[],
        &["bad.s: line 3: core 0, instruction 1: address 24576 is outside the scratchpad"],
    );
    exec(
        "lds v1, 0(x0)\ncopy c16, v1, 0(x0)\nebreak",
        &[],
        &["bad.s: line 2: core 0", "a copy to core 16; this array has 16 cores"],
    );
    exec("back: jal x0, back", &["--cycle-limit", "500"], &["14, 15] have not ended after 500 cycles"]);
    exec("jump x1", &[], &["bad.s: line 1, column 1: expected an instruction"]);
    exec(&"addi x1, x0, 1\n".repeat(4097), &[], &["bad.s: line 4097", "the instruction memory holds 4096"]);
    bench.write("bad.bin", bytes([0x13; 4097]));
    let run = |name: &str| bench.run(["arch", "exec", name]);
    run("bad.bin").failed(&["bad.bin: the program has 4097 words, but the instruction memory holds 4096"]);
    bench.write("bad.bin", bytes([0x73]));
    run("bad.bin").failed(&["bad.bin: word 0: word 0x00000073"]);
    run("none.bin").failed(&["cannot open none.bin"]);
    run(".").failed(&["core-00.bin"]);
}

/// Each file is bounded by the memory that it is for.
#[test]
fn files_that_do_not_fit_are_refused() {
    let bench = with_butterfly();
    let exec = |more: &[&str]| bench.run(["arch", "exec", "butterfly.s", "--set", "x10=3"].iter().chain(more));
    bench.write("long.bin", vec![0; 24576 * LANES * 4 + 4]);
    exec(&["--scratchpad", "long.bin"]).failed(&["long.bin: the file has 3145732 bytes, at most 3145728"]);
    bench.write("odd.bin", vec![0; 130]);
    exec(&["--scratchpad", "odd.bin"]).failed(&["odd.bin: 130 bytes are not a whole number of words"]);
    exec(&["--scratchpad", "none.bin"]).failed(&["cannot open none.bin"]);
    bench.write("long.bin", vec![0; 320 * LANES * 8 + 8]);
    exec(&["--twiddles", "long.bin"]).failed(&["long.bin: the file has 81928 bytes, at most 81920"]);
    bench.write("odd.bin", bytes([1, 2, 3]));
    exec(&["--twiddles", "odd.bin"]).failed(&["odd.bin: 3 words are not pairs"]);
    exec(&["--out-scratchpad", "none/out.bin"]).failed(&["there is no directory none"]);
    exec(&["--machine", "rocket"]).failed(&["rocket: no such file"]);
}

#[test]
fn what_is_no_execution_ends_with_2() {
    let bench = with_butterfly();
    let exec = |more: &[&str]| bench.run(["arch", "exec"].iter().chain(more));
    exec(&[]).usage(&["PROGRAM"]);
    for set in ["x0=1", "x32=1", "y1=1", "x1", "x1=", "x1=-1", "x1=4294967296", "x1=0x100000000", "=", "x=1"] {
        exec(&["butterfly.s", "--set", set]).usage(&["--set", "one of x1 to x31"]);
    }
    for core in ["butterfly.s", "-1=butterfly.s", "=butterfly.s", "99999999999999999999999=x"] {
        exec(&[&format!("--core={core}")]).usage(&["--core", "the number of a core and a file are wanted"]);
    }
    exec(&["--core", "16=butterfly.s"]).usage(&["--core names core 16: `ciphermill` has the cores 0 to 15"]);
    exec(&["butterfly.s", "--twiddles", "16=w.bin"]).usage(&["--twiddles names core 16"]);
    exec(&["butterfly.s", "--set", "x10=1", "--set", "x10=2"]).usage(&["--set is given twice for x10"]);
    exec(&["--core", "3=butterfly.s", "--core", "3=butterfly.s"]).usage(&["--core is given twice for 3"]);
    exec(&["butterfly.s", "--twiddles", "w.bin", "--twiddles", "w.bin"])
        .usage(&["--twiddles is given twice for all cores"]);
    exec(&["butterfly.s", "--cycle-limit", "0"]).usage(&["--cycle-limit"]);
}

#[test]
fn compiled_programs_can_be_looked_at_and_run() {
    let bench = Bench::new();
    let compile = |more: &[&str]| bench.run(["arch", "compile", "--n", "1024"].iter().chain(more));
    let json = compile(&["--out", "ntt", "--json"]).json();
    let [record] = &json.as_array().expect("a list")[..] else { panic!("{json}") };
    assert_eq!((&record["case"], &record["label"]), (&"arch-compile-ntt/n1024/p512".into(), &"analytic".into()));
    let cores = record["params"]["cores"].as_array().expect("a list");
    assert_eq!(cores.len(), 16);
    let instructions = cores[3]["instructions"].as_u64().expect("a number") as usize;
    assert_eq!(bench.read("ntt/core-03.bin").len(), 4 * instructions);
    let listing = compile(&["--listing", "3"]).done();
    assert_eq!(bench.run(["arch", "disasm", "ntt/core-03.bin"]).done(), listing);
    assert_eq!(listing.lines().filter(|line| line.starts_with(' ')).count(), instructions);
    let lines = compile(&["--listing", "3", "--json"]).json();
    assert_eq!(lines["lines"].as_array().map(Vec::len), Some(listing.lines().count()));
    let text = compile(&[]).done();
    for word in ["twiddle rows", "ntt of 2^10 for `ciphermill`, 1 in flight", "5120 butterflies", "analytic"] {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
    compile(&["--out", "ntt"]).failed(&["core-00.bin exists already", "--force"]);
    compile(&["--out", "ntt", "--force"]).done();

    // The transform of a constant is that constant everywhere, and takes what `arch run` says.
    bench.write("in.bin", bytes([5]));
    let files = ["--set", "x10=1", "--scratchpad", "in.bin", "--out-scratchpad", "out.bin"];
    let ran = bench.run(["arch", "exec", "ntt", "--json"].iter().chain(&files)).json();
    let run = bench.run(["arch", "run", "--n", "1024", "--in-flight", "1", "--runs", "1", "--json"]).json();
    assert_eq!(ran[0]["cycles"], run[0]["cycles"]);
    let first = LANES * record["params"]["outputs"][0].as_u64().expect("a number") as usize;
    let points = &words(&bench.read("out.bin"))[first..];
    assert_eq!(points[..1024], [5; 1024]);
    assert_eq!(points[1024], 0);

    // That of X is the root's powers, in the order that is written next to the programs.
    bench.write("in.bin", bytes([0, 1]));
    bench.run(["arch", "exec", "ntt", "--force"].iter().chain(&files)).done();
    let points = &words(&bench.read("out.bin"))[first..];
    let (order, coefficients) = (words(&bench.read("ntt/outputs.order")), words(&bench.read("ntt/inputs.order")));
    let [root, modulus] = ["root", "modulus"].map(|name| record["params"][name].as_u64().expect("a number"));
    let power = |exponent: u32| (0..exponent).fold(1, |power, _| power * root % modulus);
    assert!((0..1024).all(|place| coefficients[place as usize] == place));
    for (point, number) in points.iter().zip(order) {
        let k = number.reverse_bits() >> (32 - 10);
        assert_eq!(u64::from(*point), power(2 * k + 1), "point {k}");
    }

    // Programs for more cores, or for fewer, are not run.
    let small = ciphermill_arch::array::CIPHERMILL.replacen("rows = 4", "rows = 2", 1);
    bench.write("small.toml", small);
    let run = |machine: &str, name: &str| bench.run(["arch", "exec", name, "--machine", machine, "--set", "x10=1"]);
    run("small.toml", "ntt").failed(&["core-08.bin: a program of core 8, but `ciphermill` has 8 cores"]);
    compile(&["--machine", "small.toml", "--out", "small"]).done();
    bench.run(["arch", "exec", "ntt"]).usage(&["--set x10=1"]);
    run("ciphermill", "small").failed(&["cannot open small/core-08.bin"]);
}

#[test]
fn what_is_not_compiled_says_why() {
    let bench = Bench::new();
    let compile = |more: &[&str]| bench.run(["arch", "compile"].iter().chain(more));
    compile(&["--n", "2^17"]).failed(&["131072 values does not fit", "from 1024 to 65536", "ntt of 2^17"]);
    compile(&["--modulus", "12289"]).failed(&["no root of unity"]);
    compile(&["--listing", "16"]).usage(&["--listing 16: `ciphermill` has the cores 0 to 15"]);
    compile(&["--listing", "0", "--out", "x"]).usage(&["--listing", "--out"]);
    compile(&["--in-flight", "0"]).usage(&["--in-flight"]);
    compile(&["--n", "1024", "--out", "no/where"]).failed(&["cannot create no/where"]);
    bench.write("file", "");
    compile(&["--n", "1024", "--out", "file"]).failed(&["file"]);
    assert_eq!(bench.names(), ["file"]);
}

#[test]
fn the_scalar_core_says_where_its_cycles_go() {
    let bench = Bench::new();
    let scalar = |more: &[&str]| bench.run(["arch", "scalar"].iter().chain(more));
    for variant in ["naive", "textbook", "shoup", "rvfhe"] {
        for ring in ["cyclic", "negacyclic"] {
            let json = scalar(&["--variant", variant, "--ring", ring, "--n", "256", "--json"]).json();
            let [record] = &json.as_array().expect("a list")[..] else { panic!("{json}") };
            assert_eq!((&record["correct"], &record["machine"]), (&true.into(), &"rocket".into()));
            assert_eq!(record["case"], format!("arch-scalar-{variant}/n256"));
            assert_eq!((&record["params"]["ring"], &record["params"]["butterflies"]), (&ring.into(), &1024.into()));
            let causes = record["params"]["causes"].as_object().expect("an object").values();
            assert_eq!(causes.map(|cycles| cycles.as_u64().expect("a number")).sum::<u64>(), record["cycles"]);
        }
    }
    // docs/rvfhe-scalar.md has 48.4 for random words; those here are others.
    let text = scalar(&["--variant", "shoup", "--ring", "cyclic", "--n", "2^10"]).done();
    for word in ["cyclic ntt of 2^10, shoup, on `rocket`", "simulated, 48.", "per butterfly; correct: yes", "branch"] {
        assert!(text.contains(word), "`{word}` is not in: {text}");
    }
    // Another core: a multiplier of one bit a cycle.
    let slow = bench.run(["arch", "machine", "rocket"]).done().replacen("bits_per_cycle = 8", "bits_per_cycle = 1", 1);
    bench.write("slow.toml", slow);
    let cycles = |machine: &str| scalar(&["--machine", machine, "--json"]).json()[0]["cycles"].as_u64();
    assert!(cycles("slow.toml") > cycles("rocket"));

    scalar(&["--variant", "barrett"]).usage(&["--variant", "naive, textbook, shoup, rvfhe"]);
    scalar(&["--n", "3000"]).usage(&["--n", "a power of two"]);
    scalar(&["--n", "2^15"]).failed(&["polynomial size is 32768; use a power of two from 2 to 16384"]);
    scalar(&["--n", "1"]).failed(&["use a power of two from 2 to 16384"]);
    scalar(&["--modulus", "12289", "--n", "2^13"]).failed(&["modulus 12289 has no transform of size 8192"]);
    for modulus in ["0", "1", "4", "18446744073709551615", "1152921504606830593"] {
        scalar(&["--modulus", modulus]).failed(&["modulus"]);
    }
    scalar(&["--machine", "paper"]).failed(&["paper: no such file", "rocket"]);
    bench.write("bad.toml", format!("{} = 1", "x".repeat(100_000)));
    let told = scalar(&["--machine", "bad.toml"]);
    assert!(told.stderr.len() < 2000, "{} bytes", told.stderr.len());
    told.failed(&["bad.toml: the machine description does not parse"]);
}
