//! `arch asm` and `disasm`: programs of the array in files.

mod support;

use support::Bench;

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
    asm(b"bne x1, x2, nowhere\nebreak", &["line 1, column 13: there is no label `nowhere`"]);
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
    // The paper's words are none of ours, but can be read.
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
