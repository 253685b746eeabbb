//! Numbers of executed instructions for different secrets. Valgrind counts them, so they are exact: one branch that depends
//! on a secret shows. (It does not show a memory access at a secret index; `bigint-leakage` measures times.)
//!
//! The test starts itself under Valgrind, once per operation and class of secrets. Valgrind runs the portable and AVX2 paths.
//! It does not know the instructions of ADX and AVX-512 and hides them from the program: of those paths only times are
//! measured.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use ciphermill_bfv::parameters::CHAM_PAPER;
use ciphermill_bigint::{Exponents, IntegerBatch, OddModulus, Path, limbs};
use ciphermill_lattice::SecretSeed;
use ciphermill_math::Isa;
use ciphermill_paillier::{Blinding, PlaintextVector, SizePolicy};
use ciphermill_testing::{Need, not_run};
use ciphermill_tfhe::parameters::MESSAGE_4_2M64;
use ciphermill_tfhe::{ClientKey, Encoding, KeyOrder};
use num_bigint::BigUint;

/// Tells the program under Valgrind its operation and the number of its class, separated by a colon. All values for an
/// operation have one length: the environment lies on the stack, whose alignment decides how memory is copied.
const ROLE: &str = "CIPHERMILL_COUNTED";
/// Classes of secrets.
const CLASSES: [&str; 2] = ["zeros", "random"];
/// Leaves out the masks of BFV's encryption: they are public, and drawn with rejection from a seed of the operating system.
/// Valgrind switches counting off where it enters the function, and on again where it leaves.
const MASKS: &str = "--toggle-collect=*RnsBasis*uniform*";
/// Fewer instructions mean that the operation ran elsewhere, for example on another thread.
const LEAST: u64 = 10_000;

/// An operation, and its preparation for a class of secrets.
struct Operation {
    name: &'static str,
    run: fn(&str),
}

const OPERATIONS: [Operation; 9] = [
    Operation { name: "modular power, portable", run: |class| modular_power(Path::Portable, class) },
    Operation { name: "control: a branch on the secret", run: branch_on_secret },
    Operation { name: "paillier encryption", run: paillier_encryption },
    Operation { name: "paillier encryption with the secret key", run: paillier_encryption_by_owner },
    Operation { name: "paillier decryption", run: paillier_decryption },
    Operation { name: "tfhe encryption", run: tfhe_encryption },
    Operation { name: "tfhe decryption", run: tfhe_decryption },
    Operation { name: BFV_ENCRYPTION, run: bfv_encryption },
    Operation { name: "bfv decryption", run: bfv_decryption },
];
const BFV_ENCRYPTION: &str = "bfv encryption";
const CONTROL: &str = "control: a branch on the secret";

/// An allocator whose time depends on nothing: it never frees. That of the C library searches its lists, whose state depends
/// on everything before.
///
/// Addresses must not depend on the class either, as the C library copies in another direction when two blocks lie at certain
/// distances within their pages. So a block that is long enough for this begins a page.
struct Bump;

const ARENA_BYTES: usize = 1 << 31;
const PAGE: usize = 4096;
/// Shorter blocks are copied alike at all addresses of one alignment.
const LONG_BYTES: usize = 256;
static NEXT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every allocation is a part of the arena that no other has, aligned to a page or less.
unsafe impl GlobalAlloc for Bump {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        static ARENA: OnceLock<usize> = OnceLock::new();
        let arena = *ARENA.get_or_init(|| {
            // Of this small alignment, the pages come from the kernel as zeros; of a larger one, all would be written.
            let layout = Layout::from_size_align(ARENA_BYTES + PAGE, 16).expect("far below the bound of sizes");
            // SAFETY: the size is not 0.
            (unsafe { System.alloc_zeroed(layout) } as usize).next_multiple_of(PAGE)
        });
        // Whole cache lines, so that copies begin alike.
        let unit = if layout.size() < LONG_BYTES { layout.align().max(64) } else { PAGE };
        let size = layout.size().next_multiple_of(unit);
        let mut start = NEXT.load(Ordering::Relaxed);
        loop {
            let aligned = start.next_multiple_of(unit);
            if arena == 0 || layout.align() > PAGE || aligned + size > ARENA_BYTES {
                return std::ptr::null_mut();
            }
            match NEXT.compare_exchange_weak(start, aligned + size, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return (arena + aligned) as *mut u8,
                Err(now) => start = now,
            }
        }
    }

    unsafe fn dealloc(&self, _: *mut u8, _: Layout) {}
}

#[global_allocator]
static ALLOCATOR: Bump = Bump;

/// The instructions below this function are counted. Valgrind finds it by its name.
#[inline(never)]
#[unsafe(no_mangle)]
fn ciphermill_counted(operation: &mut dyn FnMut()) {
    operation();
}

fn count<R>(mut operation: impl FnMut() -> R) {
    ciphermill_counted(&mut || {
        black_box(operation());
    });
}

/// Words of a secret of a class.
fn words(class: &str, count: usize) -> Vec<u64> {
    let mut state = 7u64;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state ^ state >> 31
    };
    match class {
        "zeros" => vec![0; count],
        "random" => (0..count).map(|_| next()).collect(),
        other => panic!("{other} is not a class"),
    }
}

/// A seed of a class.
fn seed(class: &str) -> [u8; 32] {
    let bytes: Vec<u8> = words(class, 4).iter().flat_map(|word| word.to_le_bytes()).collect();
    bytes.try_into().expect("32 bytes")
}

/// A power modulo 2^2048 − 1942289, which is odd, with an exponent of 2048 bits.
fn modular_power(path: Path, class: &str) {
    let mut modulus = vec![u64::MAX; 32];
    modulus[0] -= 1_942_288;
    let ring = OddModulus::new(&limbs::to_uint(&modulus), path).expect("an odd modulus");
    let base = ring.enter(&IntegerBatch::from_words(32, words("random", 32))).expect("as wide as the modulus");
    let exponent = IntegerBatch::from_words(32, words(class, 32));
    let exponent = Exponents::each(exponent, 2048).expect("2048 bits");
    count(|| ring.pow(&base, &exponent).expect("one exponent for one base"));
}

/// A power by square and multiply on small numbers, as nobody may compute a secret power.
fn branch_on_secret(class: &str) {
    let secret = words(class, 64);
    count(|| {
        let mut power = 1u64;
        for bit in 0..64 * secret.len() {
            power = black_box(power.wrapping_mul(power));
            if secret[bit / 64] >> (bit % 64) & 1 == 1 {
                power = black_box(power.wrapping_mul(3));
            }
        }
        power
    });
}

/// A key of 2048 bits, of primes that everyone knows.
fn paillier_key() -> ciphermill_paillier::SecretKey {
    let hex = |digits: &str| BigUint::parse_bytes(digits.as_bytes(), 16).expect("hexadecimal digits");
    let p = hex(
        "ea18815e316074bd7b89b6efdfe5e0f5bad277fb62a4d0f3f3ecf1539aa80ede08744dbbc9444fea3dc5fc11d414eab666e361c9000472c0fd046b600c2984376bdfee7469faddd8ab54d1203f8ad70376995a92605d85ab229c60b9db43c145e5bd640702a4163257ab7614dca1798c7079b3acba61f51441f6aa57789201d7",
    );
    let q = hex(
        "df197075bb38ab3ff9447ee9d6a951542424e85bedabf310fb08a058b40d25e10a9f0cbffea4af1c2b93aa517de1355d462f784985255350fdc1120dda04b483cc17aedb9d956b18eecbcd6354524cd088217088b2bf05bede0df0453eccfe3b3aef6190a7d01745f28824d300b7b347ec9f0386b9757a57be751022308ce8c7",
    );
    let mut rng = ciphermill_paillier::Csprng::from_seed([1; 32]);
    ciphermill_paillier::SecretKey::from_primes(&p, &q, SizePolicy::InsecureBench, &mut rng).expect("primes of a key")
}

/// A plaintext of a class: 0 or a number of 1024 bits.
fn paillier_plaintext(key: &ciphermill_paillier::PublicKey, class: &str) -> PlaintextVector {
    let bytes: Vec<u8> = words(class, 16).iter().flat_map(|word| word.to_le_bytes()).collect();
    PlaintextVector::from_bigints(key, &[BigUint::from_bytes_le(&bytes).into()]).expect("within the range")
}

fn paillier_encryption(class: &str) {
    let key = paillier_key();
    let plaintext = paillier_plaintext(key.public_key(), class);
    let mut rng = ciphermill_paillier::Csprng::from_seed([2; 32]);
    count(|| key.public_key().encrypt(&plaintext, Blinding::Strict, &mut rng).expect("encrypted"));
}

fn paillier_encryption_by_owner(class: &str) {
    let key = paillier_key();
    let plaintext = paillier_plaintext(key.public_key(), class);
    let mut rng = ciphermill_paillier::Csprng::from_seed([2; 32]);
    count(|| key.encrypt(&plaintext, Blinding::Strict, &mut rng).expect("encrypted"));
}

fn paillier_decryption(class: &str) {
    let key = paillier_key();
    let plaintext = paillier_plaintext(key.public_key(), class);
    let mut rng = ciphermill_paillier::Csprng::from_seed(seed(class));
    let ciphertext = key.encrypt(&plaintext, Blinding::Strict, &mut rng).expect("encrypted");
    let mut weights = ciphermill_paillier::Csprng::from_seed([3; 32]);
    count(|| key.decrypt_checked_by(&ciphertext, &mut weights).expect("decrypted"));
}

/// A key, an encoding and a message of a class.
fn tfhe_client(class: &str) -> (ClientKey, Encoding, i64) {
    let policy = ciphermill_tfhe::SecurityPolicy::Require128Bits;
    let parameters = ciphermill_tfhe::ParameterSet::named(MESSAGE_4_2M64, policy).expect("a named set");
    let message = (words(class, 1)[0] & 15) as i64;
    let client = ClientKey::generate(&parameters, &SecretSeed::from_bytes(seed(class)));
    (client, Encoding::unsigned(4, true).expect("4 bits"), message)
}

fn tfhe_encryption(class: &str) {
    let (client, encoding, message) = tfhe_client(class);
    let mut rng = ciphermill_lattice::Csprng::from_secret(&SecretSeed::from_bytes(seed(class)), 9);
    count(|| {
        [KeyOrder::Small, KeyOrder::Big]
            .map(|order| client.encrypt(&encoding, message, order, &mut rng).expect("in range"))
    });
}

fn tfhe_decryption(class: &str) {
    let (client, encoding, message) = tfhe_client(class);
    let mut rng = ciphermill_lattice::Csprng::from_secret(&SecretSeed::from_bytes(seed(class)), 9);
    let orders = [KeyOrder::Small, KeyOrder::Big];
    let ciphertexts = orders.map(|order| client.encrypt(&encoding, message, order, &mut rng).expect("in range"));
    count(|| ciphertexts.each_ref().map(|ciphertext| client.decrypt(&encoding, ciphertext).expect("decrypted")));
}

/// A context of CHAM's set, a key and a plaintext of a class.
fn bfv_client(class: &str) -> (ciphermill_bfv::Context, ciphermill_bfv::SecretKey, ciphermill_bfv::Plaintext) {
    let policy = ciphermill_bfv::SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    let parameters = ciphermill_bfv::ParameterSet::named(CHAM_PAPER, policy).expect("a named set");
    let context = ciphermill_bfv::Context::new(&parameters, Isa::current()).expect("a context");
    let secret = ciphermill_bfv::SecretKey::generate(&context, &SecretSeed::from_bytes(seed(class)));
    let values: Vec<i64> = words(class, 4096).iter().map(|word| (word & 0x7fff) as i64).collect();
    let plaintext = context.encode(&values).expect("within the modulus");
    (context, secret, plaintext)
}

fn bfv_encryption(class: &str) {
    let (context, secret, plaintext) = bfv_client(class);
    let mut rng = ciphermill_lattice::Csprng::from_secret(&SecretSeed::from_bytes(seed(class)), 9);
    count(|| secret.encrypt(&plaintext, context.top(), &mut rng).expect("encrypted"));
}

fn bfv_decryption(class: &str) {
    let (context, secret, plaintext) = bfv_client(class);
    let mut rng = ciphermill_lattice::Csprng::from_secret(&SecretSeed::from_bytes(seed(class)), 9);
    let ciphertext = secret.encrypt(&plaintext, context.top(), &mut rng).expect("encrypted");
    count(|| secret.decrypt(&ciphertext).expect("decrypted"));
}

/// Instructions of one operation for one class.
fn counted(operation: &str, class: usize) -> u64 {
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", "--collect-atstart=no"])
        .arg("--toggle-collect=ciphermill_counted")
        .args((operation == BFV_ENCRYPTION).then_some(MASKS))
        .arg(std::env::current_exe().expect("this program"))
        .args(["--exact", "instructions_do_not_depend_on_secrets", "--nocapture", "--test-threads=1"])
        .env(ROLE, format!("{operation}:{class}"))
        .output()
        .expect("Valgrind starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{operation}, {}: {}\n{said}", CLASSES[class], output.status);
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    let (_, collected) = collected.unwrap_or_else(|| panic!("Valgrind reports no count:\n{said}"));
    collected.trim().parse().unwrap_or_else(|_| panic!("a count: {collected}"))
}

#[test]
fn instructions_do_not_depend_on_secrets() {
    if let Ok(role) = std::env::var(ROLE) {
        let (name, class) = role.rsplit_once(':').expect("an operation and a class");
        // Otherwise the first parallel operation would start a thread; switches between threads are counted, too.
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).use_current_thread();
        pool.build_global().expect("the first pool");
        let operation = OPERATIONS.iter().find(|operation| operation.name == name).expect("an operation");
        return (operation.run)(CLASSES[class.parse::<usize>().expect("a number")]);
    }
    if Command::new("valgrind").arg("--version").output().is_err() {
        return not_run(Need::Valgrind, "counts of instructions: valgrind is not installed; use `make setup` as root");
    }
    let mut leaks = Vec::new();
    for Operation { name, .. } in &OPERATIONS {
        let counts: BTreeMap<&str, u64> =
            (0..).zip(CLASSES).map(|(number, class)| (class, counted(name, number))).collect();
        println!("{name}: {counts:?}");
        assert!(counts.values().all(|count| *count > LEAST), "{name} ran elsewhere: {counts:?}");
        let same = counts.values().all(|count| *count == counts[CLASSES[0]]);
        assert!(*name != CONTROL || !same, "the control is not found: {counts:?}");
        if *name != CONTROL && !same {
            leaks.push(format!("{name}: {counts:?}"));
        }
    }
    assert!(leaks.is_empty(), "instructions depend on secrets:\n{}", leaks.join("\n"));
}
