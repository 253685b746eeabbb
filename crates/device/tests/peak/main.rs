//! The memory that handlers state for keys and prepared operands, against the allocator's count, with keys of full size.

use ciphermill_bfv::{GaloisKeys, SecretKey, SecurityPolicy as BfvPolicy};
use ciphermill_device::ObjectHandler;
use ciphermill_device::handler::{KeyContext, KeyPart};
use ciphermill_device::handlers::bfv::BfvHandler;
use ciphermill_device::handlers::paillier::PaillierHandler;
use ciphermill_device::handlers::tfhe::TfheHandler;
use ciphermill_hmvp::{self as hmvp, DenseMatrix, PlainMatrix, Plan, Request, Strategy};
use ciphermill_lattice::SecretSeed;
use ciphermill_math::Isa;
use ciphermill_program::{KeyId, VrId};
use ciphermill_tfhe::{
    self as tfhe, Backend, ClientKey, KeyForm, KeySeeds, ParameterSet,
    parameters::{MESSAGE_4_2M64, TEST_SMALL_U64},
};
use peak_alloc::PeakAlloc;
use std::sync::Arc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Largest ratio of the stated memory to the peak. A statement far above the peak would keep other keys out for nothing.
const SLACK: f64 = 1.6;
/// Bytes of handles and names that a context does not count.
const HANDLES: u64 = 16 << 10;
/// Below this size the fixed parts decide.
const SMALL: u64 = 1 << 20;

/// The result of `work`, and the most memory that it had at any moment in addition to the memory before.
fn peak<R>(work: impl FnOnce() -> R) -> (R, u64) {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let result = work();
    (result, MEMORY.peak_usage().saturating_sub(before) as u64)
}

fn register(text: &str) -> VrId {
    text.parse().expect("type:key:data")
}

/// Compares the statement with the peak, and the context's own figure with the memory that stays.
fn check(name: &str, stated: u64, make: impl Fn() -> Arc<dyn KeyContext>) -> Arc<dyn KeyContext> {
    // Tables that all keys share are made once.
    drop(make());
    let before = MEMORY.current_usage();
    let (context, peak) = peak(make);
    let stays = MEMORY.current_usage().saturating_sub(before) as u64;
    println!("{name}: states {stated}, peak {peak}, keeps {stays}, says {}", context.memory_bytes());
    assert!(peak <= stated, "{name}: the peak of {peak} bytes exceeds the stated {stated}");
    let says = context.memory_bytes();
    assert!(stays <= says + HANDLES, "{name}: {stays} bytes stay, it says {says}");
    assert!(stated < SMALL || (stated as f64) < SLACK * peak as f64, "{name}: states {stated} for a peak of {peak}");
    context
}

/// Loads a key of these objects.
fn key(name: &str, handler: &dyn ObjectHandler, parts: &[(VrId, Vec<u8>)]) -> Arc<dyn KeyContext> {
    // The stored form is not part of the loaded one: it is shared, and made before.
    let parts: Vec<(VrId, Arc<[u8]>)> = parts.iter().map(|(id, bytes)| (*id, bytes.as_slice().into())).collect();
    let (id, bytes) = &parts[0];
    let shape = handler.describe_key(*id, bytes.len() as u64, &mut &**bytes).expect("a key");
    check(name, handler.key_bytes(&*shape), || {
        let part = |(id, bytes): &(VrId, Arc<[u8]>)| KeyPart {
            id: *id,
            size: bytes.len() as u64,
            content: Box::new(std::io::Cursor::new(Arc::clone(bytes))),
        };
        handler.open_key(KeyId(0), parts.iter().map(part).collect()).expect("a whole key")
    })
}

fn tfhe_keys(name: &str, policy: tfhe::SecurityPolicy) -> Vec<(VrId, Vec<u8>)> {
    let parameters = ParameterSet::named(name, policy).expect("a named set");
    let client = ClientKey::generate(&parameters, &SecretSeed::from_bytes([1; 32]));
    let seeds = |purpose: u8| KeySeeds::from_bytes([purpose; 32], [!purpose; 32]);
    let bootstrap = client.write_bootstrap_key(KeyForm::Seeded, seeds(2), Vec::new(), &mut |_, _| ());
    let keyswitch = client.write_keyswitch_key(KeyForm::Seeded, seeds(3), Vec::new());
    vec![(register("2:0:1"), bootstrap.expect("in memory")), (register("2:0:2"), keyswitch.expect("in memory"))]
}

/// One test, as the allocator counts the whole process.
#[test]
fn handlers_state_the_memory_that_they_take() {
    let insecure = tfhe::SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    for set in [TEST_SMALL_U64, MESSAGE_4_2M64] {
        let parts = tfhe_keys(set, insecure);
        for backend in [Backend::Fft, Backend::Ntt] {
            let handler = TfheHandler::new(Arc::new(tfhe::CpuEngine::new(backend)), insecure);
            key(&format!("{set}, {backend:?}"), &handler, &parts);
        }
    }
    for strategy in [Strategy::RowPacked, Strategy::Algorithm1, Strategy::Diagonal] {
        let request = Request { strategy: Some(strategy), ..Request::new(512, 256) };
        let plan = Arc::new(Plan::new(&request, Isa::current()).expect("a plan"));
        let secret = SecretKey::generate(plan.context(), &SecretSeed::from_bytes([4; 32]));
        let galois = GaloisKeys::generate(&secret, &plan.galois_requests()).expect("keys");
        let galois = galois.to_bytes(plan.context()).expect("of this set");
        let matrix = DenseMatrix::new(512, 256, vec![3; 512 * 256]).expect("a matrix");
        let matrix = PlainMatrix::new(&plan, &matrix).expect("in range").to_bytes();
        let handler = BfvHandler::new(Arc::new(hmvp::CpuEngine::default()), BfvPolicy::Require128Bits);
        let keys = key(&format!("Galois keys, {strategy:?}"), &handler, &[(register("5:0:1"), galois)]);
        let id = register("6:0:0");
        let stated = handler.prepare_bytes(id, &matrix, &*keys).expect("a matrix");
        check(&format!("matrix, {strategy:?}"), stated, || handler.prepare(id, &matrix, &*keys).expect("a matrix"));
    }
    let mut rng = ciphermill_paillier::Csprng::from_seed([5; 32]);
    let bits = ciphermill_paillier::KeyBits::new(2048).expect("a size");
    let secret = ciphermill_paillier::SecretKey::generate(bits, &mut rng).expect("a key");
    let handler = PaillierHandler::new(
        Arc::new(ciphermill_bigint::CpuEngine::current()),
        ciphermill_paillier::SizePolicy::Standard,
    );
    key("Paillier, 2048 bits", &handler, &[(register("16:0:1"), secret.public_key().to_bytes())]);
}
