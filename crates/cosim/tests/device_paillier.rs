//! The device's Paillier handler on the co-simulated Paillier engine gives the bits of the CPU engine.

#[allow(dead_code, reason = "these tests draw no random frames")]
mod support;

use std::sync::Arc;

use ciphermill_bigint::{CoprocessorEngine, CpuEngine, ModExpEngine};
use ciphermill_cosim::engines::RtlPaillier;
use ciphermill_device::handlers::{self, paillier::PaillierHandler};
use ciphermill_device::{Device, DeviceConfig, DeviceError, ReadMode, Space, SpaceId, WriteMode, WriteOptions};
use ciphermill_paillier::{
    Blinding, CiphertextVector, Csprng, KeyBits, PlaintextVector, PublicWeights, SecretKey, SizePolicy,
};
use ciphermill_program::{Bindings, Program, VrId, assemble};

fn program(text: &str) -> Program {
    assemble(handlers::instruction_set(), text, &Bindings::new()).expect("a program").program
}

fn register(text: &str) -> VrId {
    text.parse().expect("a register")
}

fn weights(columns: usize, values: &[i128]) -> Vec<u8> {
    PublicWeights::from_rows(columns, values.to_vec()).expect("weights").to_bytes()
}

/// A party with its secret key, and a device on `engine` that holds the public one under Key ID 3.
struct Party {
    key: SecretKey,
    rng: Csprng,
}

impl Party {
    fn new(bits: u32) -> Self {
        let mut rng = Csprng::from_seed([5; 32]);
        let bits = KeyBits::insecure_bench(bits).expect("a size");
        Self { key: SecretKey::generate(bits, &mut rng).expect("a key"), rng }
    }

    fn encrypt(&mut self, values: &[i64]) -> Vec<u8> {
        let public = self.key.public_key();
        let vector = public.encrypt(&PlaintextVector::from_i64(public, values), Blinding::Djn, &mut self.rng);
        vector.expect("a vector").to_bytes().expect("bytes")
    }

    fn decrypt(&self, bytes: &[u8]) -> Vec<i64> {
        let vector = CiphertextVector::from_bytes(self.key.public_key(), bytes).expect("a vector of this key");
        self.key.decrypt(&vector).expect("plaintexts").to_i64().expect("small ones")
    }

    fn space(&self, engine: Arc<dyn ModExpEngine>) -> Space {
        let handler = PaillierHandler::new(engine, SizePolicy::InsecureBench);
        // A simulation takes longer than the device allows by default.
        let config =
            DeviceConfig { max_program_duration: std::time::Duration::from_secs(600), ..DeviceConfig::in_memory() };
        let device = Device::open(config, vec![Arc::new(handler)]).expect("a device");
        let space = device.space(SpaceId::EMBEDDED).expect("the space");
        put(&space, "16:3:1", &self.key.public_key().to_bytes()).expect("a key");
        space
    }
}

fn put(space: &Space, id: &str, bytes: &[u8]) -> Result<(), DeviceError> {
    space.write_bytes(register(id), bytes, WriteOptions::default()).map(drop)
}

#[test]
fn every_instruction_gives_the_bits_of_the_cpu() {
    let Some(configuration) = support::with("paillier_engine", "Bits", 1024) else { return };
    let engine = CoprocessorEngine::new(RtlPaillier::new(configuration));
    let mut party = Party::new(512);
    let spaces = [party.space(Arc::new(engine.clone())), party.space(Arc::new(CpuEngine::current()))];
    let objects = [
        ("18:3:1", party.encrypt(&[7, -3])),
        ("18:3:2", party.encrypt(&[100, 200])),
        ("17:3:1", weights(2, &[5, -6])),
        ("17:3:2", weights(2, &[1, -2, 0, 3, 4, -5])),
    ];
    for (space, (id, bytes)) in spaces.iter().flat_map(|space| objects.iter().map(move |object| (space, object))) {
        put(space, id, bytes).expect("stored");
    }
    for (text, expected) in [
        ("padd 18:3:1, 18:3:2\nreturn 18:3:1", vec![107, 197]),
        ("psub 18:3:1, 18:3:2\nreturn 18:3:1", vec![-93, -203]),
        ("paddplain 17:3:1, 18:3:1\nreturn 18:3:1", vec![12, -9]),
        ("pscale 17:3:1, 18:3:1\nreturn 18:3:1", vec![35, 18]),
        ("pmatvec 17:3:2, 18:3:1\nreturn 18:3:1", vec![13, -9, 43]),
    ] {
        let before = engine.coprocessor().cycles();
        let [ours, cpu] = spaces.each_ref().map(|space| space.run(&program(text)).expect("a result"));
        assert!(engine.coprocessor().cycles() > before, "{text}: the engine computed");
        assert_eq!(ours, cpu, "{text}");
        assert_eq!(party.decrypt(&ours), expected, "{text}");
    }

    // A write that runs a stored program stores the same bits.
    let operand = party.encrypt(&[-20, 30]);
    let stored = spaces.each_ref().map(|space| {
        put(space, "0:3:0", &program("padd 19:3:4, 18:3:2\nreturn 19:3:4").encode()).expect("a program");
        let compute = WriteOptions { mode: WriteMode::Compute, ..WriteOptions::default() };
        assert!(space.write_bytes(register("19:3:4"), &operand, compute).expect("a sum").computed);
        space.read_bytes(register("19:3:4"), ReadMode::Stored).expect("the sum")
    });
    assert_eq!(stored[0], stored[1]);
    assert_eq!(party.decrypt(&stored[0]), [80, 230]);
}

/// A key that is too long for the engine is stored, and an instruction that needs it is refused.
#[test]
fn longer_keys_are_refused_by_name() {
    let Some(configuration) = support::with("paillier_engine", "Bits", 1024) else { return };
    let mut party = Party::new(640);
    let space = party.space(Arc::new(CoprocessorEngine::new(RtlPaillier::new(configuration))));
    put(&space, "18:3:1", &party.encrypt(&[1])).expect("a vector");
    let refused = space.run(&program("padd 18:3:1, 18:3:1\nreturn 18:3:1")).expect_err("it is too long");
    let chain: Vec<String> = std::iter::successors(Some(&refused as &dyn std::error::Error), |error| error.source())
        .map(ToString::to_string)
        .collect();
    let text = chain.join(": ");
    assert!(text.contains("rtl") && text.contains("at most 1024 bits"), "{text}");
}
