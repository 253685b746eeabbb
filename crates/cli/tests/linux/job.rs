//! The guest's writes: data without meaning, and the objects of one computation with their metadata blocks.

use std::path::PathBuf;

use ciphermill_program::{DataId, KeyId, META_BLOCK_BYTES, Metadata, TypeCode, VrId};
use serde_json::Value;

use crate::support::{Bench, SET};

/// Where each object begins, and which register it is for (type, key, data). The plain steps use the 128 MiB before.
pub const LAYOUT: [(&str, u64, [u32; 3]); 6] = [
    ("bootstrap", 32_768, [2, 0, 1]),
    ("keyswitch", 40_960, [2, 0, 2]),
    ("vector", 45_056, [1, 0, 0]),
    ("program", 45_072, [0, 0, 0]),
    ("x", 45_080, [3, 0, 2]),
    ("y", 45_096, [4, 0, 3]),
];

const XY: &str = include_str!("../../../../examples/programs/xy.cms");
const RANDOM_BYTES: usize = 64 << 20;

/// Keys, and a folder with the needs of the guest.
pub struct Job {
    /// Where the keys are.
    pub bench: Bench,
    /// x and y.
    pub operands: (i64, i64),
    output: Vec<String>,
}

impl Job {
    /// Makes keys of the toy set, the square's test vector, the program of Table 5, and encrypts both operands.
    pub fn new(x: i64, y: i64) -> Self {
        let bench = Bench::with_keys();
        let vector =
            ["test-vector", "--params", SET, "--insecure-params", "--function", "square-quarter", "--out", "sq.tv"];
        let report = bench.run(vector.into_iter().chain(["--json", "--choice", "big"])).json();
        assert!(report["largest_operand"].as_i64().expect("a number") >= x.max(y), "{report}");
        let mut input = encoding(&report["input"]);
        input.push(format!("--range=0:{}", report["largest_operand"]));
        for (message, out) in [(x, "x.ct"), (y, "y.ct")] {
            let fixed = ["encrypt", "--secret-key", "me.key", "--insecure-params", "--choice", "big", "--out", out];
            let message = format!("--message={message}");
            bench.run(fixed.into_iter().chain(input.iter().map(String::as_str)).chain([message.as_str()])).done();
        }
        bench.write("xy.cms", XY);
        let bindings = ["--bind", "r2=3:0:2", "--bind", "r3=4:0:3", "--out", "xy.prg"];
        bench.run(["program", "asm", "xy.cms"].into_iter().chain(bindings)).done();
        let job = Self { bench, operands: (x, y), output: encoding(&report["output"]) };
        job.fill();
        job
    }

    /// The folder that the guest gets.
    pub fn folder(&self) -> PathBuf {
        self.bench.path("job")
    }

    fn fill(&self) {
        std::fs::create_dir(self.folder()).expect("room");
        let files = ["server.key", "server.key.ksk", "sq.tv", "xy.prg", "x.ct", "y.ct"];
        for ((name, block, register), file) in LAYOUT.into_iter().zip(files) {
            // Objects of odd Data IDs come from the command, with checksums; the others are made here, without.
            if register[2] % 2 == 1 {
                self.by_command(name, file, block, register, &[]);
            } else {
                self.by_hand(name, file, register);
            }
        }
        let (_, block, register) = LAYOUT[5];
        self.by_command("y-stored", "y.ct", block, register, &["--stored"]);
        let (_, _, register) = LAYOUT[4];
        let armed = Metadata { armed: true, one_shot: true, ..metadata(register, &self.bench.read("x.ct")) };
        self.put("x-armed.meta", &armed.encode());
        self.put("random", &random(RANDOM_BYTES));
    }

    /// `blob meta` writes `job/NAME.meta` and `job/NAME.data`.
    fn by_command(&self, name: &str, file: &str, block: u64, register: [u32; 3], options: &[&str]) {
        let (id, at, out) = (id(register).to_string(), block.to_string(), format!("job/{name}"));
        let fixed = ["blob", "meta", "--id", &id, "--at", &at, "--device", "disk", "--out", &out, file];
        self.bench.run(fixed.iter().chain(options)).done();
    }

    fn by_hand(&self, name: &str, file: &str, register: [u32; 3]) {
        let mut object = self.bench.read(file);
        self.put(&format!("{name}.meta"), &metadata(register, &object).encode());
        object.resize(object.len().next_multiple_of(META_BLOCK_BYTES), 0);
        self.put(&format!("{name}.data"), &object);
    }

    fn put(&self, name: &str, bytes: &[u8]) {
        self.bench.write(format!("job/{name}").as_str(), bytes);
    }

    /// Reads the metadata block of y's place as the device gave it, and checks all fields but those of its content.
    pub fn record(&self, block: &[u8]) -> Metadata {
        let record = Metadata::decode(block).expect("a metadata block");
        let (_, _, register) = LAYOUT[5];
        assert_eq!(record.id, id(register));
        assert!(!record.armed && !record.one_shot && !record.stored, "{record:?}");
        // The product is a ciphertext under the same key as y.
        assert_eq!(record.size, self.bench.read("y.ct").len() as u64);
        record
    }

    /// Checks that the record is that of these blocks: its checksum, if it has one, and zeros after its end.
    pub fn assert_is_record_of(&self, record: &Metadata, blocks: &[u8]) {
        let (object, rest) = blocks.split_at(record.size as usize);
        assert!(rest.iter().all(|&byte| byte == 0), "zeros fill the last block");
        if record.object_crc32c.is_some() {
            assert_eq!(record.object_crc32c, Metadata::checksum_of(object));
        }
    }

    /// The plaintext of the first `size` bytes.
    pub fn decrypt(&self, blocks: &[u8], size: u64) -> i64 {
        self.bench.write("result.ct", &blocks[..size as usize]);
        let fixed = ["decrypt", "--secret-key", "me.key", "--insecure-params", "--json", "result.ct"];
        let report = self.bench.run(fixed.into_iter().chain(self.output.iter().map(String::as_str))).json();
        report["message"].as_i64().expect("a message")
    }
}

fn id([type_code, key, data]: [u32; 3]) -> VrId {
    VrId::new(TypeCode(u16::try_from(type_code).expect("a type")), KeyId(key), DataId(data))
}

/// The metadata of an object, without a checksum.
fn metadata(register: [u32; 3], object: &[u8]) -> Metadata {
    let size = object.len() as u64;
    Metadata { id: id(register), armed: false, one_shot: false, stored: false, size, object_crc32c: None }
}

/// The options of one side of a test vector's report.
fn encoding(side: &Value) -> Vec<String> {
    let mut options = vec![format!("--min={}", side["min"]), format!("--max={}", side["max"])];
    if side["padding"] == false {
        options.push("--no-padding".to_owned());
    }
    options
}

/// Bytes without a pattern, the same in every run (SplitMix64).
fn random(bytes: usize) -> Vec<u8> {
    let mut state = 0_u64;
    let words = std::iter::repeat_with(|| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31).to_le_bytes()
    });
    words.take(bytes / 8).flatten().collect()
}
