//! A device that computes x·y with the real scheme, at a small parameter set; shared with the tests of the middleware.
#![allow(dead_code, reason = "each test binary uses a part")]

use ciphermill_device::handlers;
use ciphermill_device::{
    Device, DeviceConfig, ObjectHandler, ReadMode, Space, SpaceId, WriteOptions, handlers::tfhe::TfheHandler,
};
use ciphermill_lattice::{Csprng, SecretSeed};
use ciphermill_program::{Bindings, DataId, KeyId, Program, TypeCode, VrId, assemble};
use ciphermill_tfhe::{
    Backend, Ciphertext, ClientKey, CpuEngine, KeyForm, KeyOrder, KeySeeds, ParameterSet, SecurityPolicy,
    parameters::TEST_SMALL_U64,
    quarter_square::{DEFAULT_LOG2_P_FAIL, QuarterSquare},
};
use std::sync::Arc;

pub(crate) const INSECURE: SecurityPolicy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;

/// The program of the paper's Table 5.
const XY: &str = include_str!("../../../../examples/programs/xy.cms");

pub(crate) fn x_of(key: KeyId) -> VrId {
    VrId::new(handlers::tfhe::TLWE_COR, key, DataId(2))
}

pub(crate) fn y_of(key: KeyId) -> VrId {
    VrId::new(handlers::tfhe::TLWE_COW, key, DataId(3))
}

pub(crate) fn table_of(key: KeyId) -> VrId {
    VrId::new(handlers::tfhe::TV, key, DataId(0))
}

pub(crate) fn program_of(key: KeyId) -> VrId {
    VrId::new(TypeCode::PRG, key, DataId(0))
}

pub(crate) fn register(text: &str) -> VrId {
    text.parse().expect("type:key:data")
}

/// A program whose registers are written out, as in `homadd 4:0:3, 3:0:2`.
pub(crate) fn program(source: &str) -> Program {
    assemble(handlers::instruction_set(), source, &Bindings::new())
        .unwrap_or_else(|error| panic!("{error}\n{source}"))
        .program
}

/// x·y of these registers.
pub(crate) fn xy(x: VrId, y: VrId) -> Program {
    let bindings = [format!("r2={x}"), format!("r3={y}")].map(|text| text.parse().expect("a binding"));
    assemble(handlers::instruction_set(), XY, &Bindings::collect(bindings).expect("two names"))
        .expect("the example")
        .program
}

/// One key set of `TEST_SMALL_U64`, and encodings for products under it.
pub(crate) struct Keys {
    pub(crate) client: ClientKey,
    pub(crate) bootstrap: Vec<u8>,
    pub(crate) keyswitch: Vec<u8>,
    pub(crate) choice: KeyOrder,
    pub(crate) product: QuarterSquare,
}

impl Keys {
    pub(crate) fn new(seed: u8, form: KeyForm, choice: KeyOrder) -> Self {
        let bytes = |purpose: u8| [seed.wrapping_add(purpose); 32];
        let seeds = |purpose| KeySeeds::from_bytes(bytes(purpose), bytes(!purpose));
        let parameters = ParameterSet::named(TEST_SMALL_U64, INSECURE).expect("a named set");
        let client = ClientKey::generate(&parameters, &SecretSeed::from_bytes(bytes(0)));
        let bootstrap = client.write_bootstrap_key(form, seeds(1), Vec::new(), &mut |_, _| ()).expect("in memory");
        let keyswitch = client.write_keyswitch_key(form, seeds(2), Vec::new()).expect("in memory");
        let product = QuarterSquare::new(parameters.spec(), choice, DEFAULT_LOG2_P_FAIL).expect("some range");
        Self { client, bootstrap, keyswitch, choice, product }
    }

    /// Sealed ciphertext of an operand.
    pub(crate) fn operand(&self, message: i64, rng: &mut Csprng) -> Vec<u8> {
        self.client.encrypt_in(&self.product.operands(), message, self.choice, rng).expect("in range").to_bytes()
    }

    pub(crate) fn decrypt_product(&self, bytes: &[u8]) -> i64 {
        let ciphertext = Ciphertext::from_bytes(bytes).expect("a ciphertext");
        assert_eq!(ciphertext.choice(), self.choice);
        self.client.decrypt(self.product.output(), &ciphertext).expect("a product")
    }

    pub(crate) fn table(&self) -> Vec<u8> {
        self.product.test_vector(self.client.parameters()).expect("a table").to_bytes()
    }

    /// Everything that a key id needs to multiply, as (register, content).
    pub(crate) fn objects(&self, key: KeyId) -> [(VrId, Vec<u8>); 4] {
        [
            (handlers::tfhe::bootstrapping_key(key), self.bootstrap.clone()),
            (handlers::tfhe::key_switching_key(key), self.keyswitch.clone()),
            (table_of(key), self.table()),
            (program_of(key), xy(x_of(key), y_of(key)).encode()),
        ]
    }

    pub(crate) fn install(&self, space: &Space, key: KeyId) {
        for (id, bytes) in self.objects(key) {
            put(space, id, &bytes);
        }
    }

    /// x·y by compute-on-write.
    pub(crate) fn multiply(&self, space: &Space, key: KeyId, (x, y): (i64, i64), rng: &mut Csprng) -> i64 {
        put(space, x_of(key), &self.operand(x, rng));
        assert!(put(space, y_of(key), &self.operand(y, rng)), "the write computes");
        self.decrypt_product(&space.read_bytes(y_of(key), ReadMode::Stored).expect("stored"))
    }
}

pub(crate) fn handler() -> Arc<dyn ObjectHandler> {
    Arc::new(TfheHandler::new(Arc::new(CpuEngine::new(Backend::Fft)), INSECURE))
}

pub(crate) fn open(config: DeviceConfig) -> (Device, Space) {
    let device = Device::open(config, vec![handler()]).expect("open");
    let space = device.space(SpaceId::EMBEDDED).expect("space 0");
    (device, space)
}

/// Whether it computed.
pub(crate) fn put(space: &Space, id: VrId, bytes: &[u8]) -> bool {
    space.write_bytes(id, bytes, WriteOptions::default()).unwrap_or_else(|error| panic!("{error}")).computed
}

pub(crate) fn rng(byte: u8) -> Csprng {
    Csprng::from_secret(&SecretSeed::from_bytes([byte; 32]), 0)
}
