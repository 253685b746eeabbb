//! The generator of the fixture.

use super::*;
use ciphermill_bfv::GaloisKeys;
use ciphermill_device::{
    Space, WriteMode, WriteOptions,
    store::{ObjectKey, Owner},
};
use ciphermill_hmvp::{DenseMatrix, EncryptedVector, PlainMatrix, Request, Strategy};
use ciphermill_lattice::{Csprng, NoiseDistribution, PolynomialSize, SecretSeed};
use ciphermill_paillier::{KeyBits, PlaintextVector, PublicWeights};
use ciphermill_program::{DataId, KeyId, TypeCode};
use ciphermill_tfhe::{
    Encoding, KeyForm, KeyOrder, KeySeeds, ModulusSwitch, ParameterSet, ParameterSpec, TorusWidth,
    dimension::{Decomposition, GlweDimension, LweDimension},
};

pub(crate) fn encoding() -> Encoding {
    Encoding::new(0, 3, true).expect("two bits")
}

/// The function of the fixture's bootstrap.
pub(crate) fn function(message: i64) -> i64 {
    (message * message + 1) % 4
}

/// Toy dimensions, so that the keys take kilobytes.
fn spec() -> ParameterSpec {
    let gaussian = |log2: f64| NoiseDistribution::Gaussian { std_dev: log2.exp2() };
    ParameterSpec {
        name: "FIXTURE".to_owned(),
        torus: TorusWidth::U64,
        lwe_dimension: LweDimension(16),
        glwe_dimension: GlweDimension(1),
        polynomial_size: PolynomialSize::new(256).expect("a power of two"),
        lwe_noise: gaussian(-24.0),
        glwe_noise: gaussian(-50.0),
        pbs: Decomposition::new(15, 2),
        ks: Decomposition::new(3, 7),
        message_bits: 2,
        max_norm2: 1.0,
        modulus_switch: ModulusSwitch::Plain,
        word: None,
    }
}

fn rng(byte: u8) -> Csprng {
    Csprng::from_secret(&SecretSeed::from_bytes([byte; 32]), 0)
}

fn put(space: &Space, register: &str, bytes: &[u8]) {
    space
        .write_bytes(vr(register), bytes, WriteOptions::default())
        .unwrap_or_else(|error| panic!("{register}: {error}"));
}

/// Writes the store into `directory` and the clients' keys into `keys`.
pub(crate) fn store(directory: &Path, keys: &Path) {
    let device = open(directory, false);
    let space = device.space(SpaceId::EMBEDDED).expect("the space");
    tfhe(&space, keys);
    bfv(&space, keys);
    paillier(&space, keys);
    for (source, register) in PROGRAMS {
        let result = space.run(&program(source)).unwrap_or_else(|error| panic!("{source}: {error}"));
        let stored = WriteOptions { mode: WriteMode::Stored, origin: 77, ..WriteOptions::default() };
        space.write_bytes(vr(register), &result, stored).expect("its register");
    }
    // The same program, started by a write: what is stored is the result, with its origin.
    put(&space, "0:0:0", &program("mov t, 4:0:5\nbootstrap 1:0:0, t\nreturn t").encode());
    let operand = space.read_bytes(vr("3:0:2"), ReadMode::Stored).expect("stored");
    let options = WriteOptions { origin: 0x0102_0304_0506_0708, ..WriteOptions::default() };
    assert!(space.write_bytes(vr("4:0:5"), &operand, options).expect("a result").computed);
    space.set_flags(vr("3:0:2"), ObjectFlags::ARMED.with(ObjectFlags::ONE_SHOT)).expect("flags");
    device.create_space(SPACE, LIMITS).expect("a space");
    drop((space, device));
    plain_objects(directory);
}

fn tfhe(space: &Space, keys: &Path) {
    let parameters = ParameterSet::new(spec(), TFHE_POLICY).expect("admissible");
    let client = ClientKey::generate(&parameters, &SecretSeed::from_bytes([1; 32]));
    fs::write(keys.join("tfhe.key"), &client.to_secret_key_bytes()[..]).expect("a file");
    let seeds = |byte: u8| KeySeeds::from_bytes([byte; 32], [!byte; 32]);
    let bootstrap = client.write_bootstrap_key(KeyForm::Seeded, seeds(2), Vec::new(), &mut |_, _| ());
    let keyswitch = client.write_keyswitch_key(KeyForm::Seeded, seeds(3), Vec::new());
    put(
        space,
        &ciphermill_device::handlers::tfhe::bootstrapping_key(KeyId(0)).to_string(),
        &bootstrap.expect("in memory"),
    );
    put(
        space,
        &ciphermill_device::handlers::tfhe::key_switching_key(KeyId(0)).to_string(),
        &keyswitch.expect("in memory"),
    );
    let table = parameters.test_vector(&encoding(), &encoding(), function).expect("a table");
    put(space, "1:0:0", &table.to_bytes());
    let operand = client.encrypt(&encoding(), MESSAGE, KeyOrder::Small, &mut rng(4)).expect("in range");
    put(space, "3:0:2", &operand.to_bytes());
}

fn bfv(space: &Space, keys: &Path) {
    let columns = VECTOR.len();
    let request = Request {
        matrix_bits: 2,
        vector_bits: 2,
        strategy: Some(Strategy::RowPacked),
        log2_failure: -20.0,
        ..Request::new(MATRIX.len() / columns, columns)
    };
    let plan = Arc::new(Plan::new(&request, Isa::current()).expect("a plan"));
    let secret = ciphermill_bfv::SecretKey::generate(plan.context(), &SecretSeed::from_bytes([5; 32]));
    fs::write(keys.join("bfv.plan"), plan.to_bytes()).expect("a file");
    fs::write(keys.join("bfv.key"), &secret.to_secret_key_bytes()[..]).expect("a file");
    let galois = GaloisKeys::generate(&secret, &plan.galois_requests()).expect("keys");
    put(space, "5:1:1", &galois.to_bytes(plan.context()).expect("of this set"));
    let matrix = DenseMatrix::new(MATRIX.len() / columns, columns, MATRIX.to_vec()).expect("a matrix");
    put(space, "6:1:0", &PlainMatrix::new(&plan, &matrix).expect("in range").to_bytes());
    let vector = EncryptedVector::encrypt(&plan, &secret, &VECTOR, &mut rng(6)).expect("a vector");
    put(space, "7:1:2", &vector.to_bytes());
}

fn paillier(space: &Space, keys: &Path) {
    let mut rng = ciphermill_paillier::Csprng::from_seed([7; 32]);
    let bits = KeyBits::insecure_bench(512).expect("a size");
    let secret = ciphermill_paillier::SecretKey::generate(bits, &mut rng).expect("a key");
    fs::write(keys.join("paillier.key"), &secret.to_secret_key_bytes()[..]).expect("a file");
    let public = secret.public_key();
    put(space, "16:2:1", &public.to_bytes());
    for (register, values) in ["18:2:2", "18:2:3"].into_iter().zip(ADDENDS) {
        let plain = PlaintextVector::from_i64(public, &values);
        let vector = secret.encrypt(&plain, public.default_blinding(), &mut rng).expect("a vector");
        put(space, register, &vector.to_bytes().expect("bytes"));
    }
    let weights = PublicWeights::from_rows(WEIGHTS.len(), WEIGHTS.to_vec()).expect("weights");
    put(space, "17:2:0", &weights.to_bytes());
}

/// Objects of no scheme: one of two chunks, mostly zeros; one in two extents, between which another one was deleted; one
/// of the largest size that is kept in the table. All but the object 0 have owners.
fn plain_objects(directory: &Path) {
    let store = Store::open(StoreFiles::in_directory(directory).expect("files")).expect("a sound store");
    let key = |data| ObjectKey { space: SPACE, id: VrId::new(TypeCode(0x7000), KeyId(3), DataId(data)) };
    let write = |data: u32, bytes: &[u8], flags: ObjectFlags| {
        let mut writer = store.write(key(data), bytes.len() as u64).expect("room");
        writer.came_from(u64::from(data), data % 2 == 1);
        writer.belongs_to(Owner::new(&b"owner".repeat(data as usize)));
        writer.push(bytes).expect("its bytes");
        writer.commit(flags).expect("durable");
    };
    let mut large = vec![0; (1 << 20) + 5000];
    for at in [0, 4095, (1 << 20) - 1, 1 << 20, (1 << 20) + 4999] {
        large[at] = at as u8 | 1;
    }
    write(1, &large, ObjectFlags::NONE);
    write(2, &[2; 20_000], ObjectFlags::ARMED);
    write(3, &[3; 16_000], ObjectFlags::ONE_SHOT);
    write(4, &[4; 20_000], ObjectFlags::NONE);
    store.delete(key(2)).expect("it is stored");
    write(5, &[5; 16_001], ObjectFlags::NONE);
    write(0, &[0; 1], ObjectFlags::NONE);
    assert!(store.usage().free_bytes > 0, "a free extent is a part of the fixture");
}
