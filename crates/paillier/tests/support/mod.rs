//! Keys that are made once.
#![allow(dead_code, unreachable_pub)]

use std::sync::OnceLock;

use ciphermill_bigint::Path;
use ciphermill_paillier::{Csprng, KeyBits, PublicKey, SecretKey, SizePolicy};
use num_bigint::{BigInt, BigUint};

pub const INSECURE: SizePolicy = SizePolicy::InsecureBench;

/// Primes of test keys, of the shape that a DJN base needs. They are known to everyone.
const PRIMES: [(u32, &str, &str); 4] = [
    (
        512,
        "e5bd640702a4163257ab7614dca1798c7079b3acba61f51441f6aa57789202eb",
        "ee8b5a0b0395e0a367355edadc3bc291630cb0a3e5f91df8be1042412baf81b3",
    ),
    (
        1024,
        "ebdfee7469faddd8ab54d1203f8ad70376995a92605d85ab229c60b9db43c145e5bd640702a4163257ab7614dca1798c7079b3acba61f51441f6aa577892031f",
        "e241c5b3623f3b1892993dd3f3eb7beeecde52ba19db8a12aca15316e836e726319bfc189a7793c906b5bc45d731fe76395a611a61abd0aadf1bd34f9a0c77e7",
    ),
    (
        2048,
        "ea18815e316074bd7b89b6efdfe5e0f5bad277fb62a4d0f3f3ecf1539aa80ede08744dbbc9444fea3dc5fc11d414eab666e361c9000472c0fd046b600c2984376bdfee7469faddd8ab54d1203f8ad70376995a92605d85ab229c60b9db43c145e5bd640702a4163257ab7614dca1798c7079b3acba61f51441f6aa57789201d7",
        "df197075bb38ab3ff9447ee9d6a951542424e85bedabf310fb08a058b40d25e10a9f0cbffea4af1c2b93aa517de1355d462f784985255350fdc1120dda04b483cc17aedb9d956b18eecbcd6354524cd088217088b2bf05bede0df0453eccfe3b3aef6190a7d01745f28824d300b7b347ec9f0386b9757a57be751022308ce8c7",
    ),
    (
        3072,
        "e484c1da89b86f97a0bb84dad0800b20200a9b4d849f67d3a074fe0761b52fc837b6929dde953e264a96c180e6fd2db8de7172531aaa026134f14f185667bec22a18815e316074bd7b89b6efdfe5e0f5bad277fb62a4d0f3f3ecf1539aa80ede08744dbbc9444fea3dc5fc11d414eab666e361c9000472c0fd046b600c2984376bdfee7469faddd8ab54d1203f8ad70376995a92605d85ab229c60b9db43c145e5bd640702a4163257ab7614dca1798c7079b3acba61f51441f6aa5778920f0b",
        "ce5e466d3b32bcbbafc97075e482cace855a4f12d4a44b0c2f8f724a61fe04e0000de76cee782395b597d2df9569f50456eb4195205c0df692f3c8371fa2f1abbd345d979aa204887244559c8ebe7f186c1f89b8396764098efafb4153dc6b78866c805244326c72a0fbfadb991b86766cca42920bffa346da4343b181122744778a4e55dc6e7d3c450ca3d8d4e173827d41e57eabe6c7e8ecb98a4dc654c01c2e78b3277154f931403e2b715bcd7181ffeaa1b2244e94ebfee33acdc3001acf",
    ),
];

pub fn hex(digits: &str) -> BigUint {
    BigUint::parse_bytes(digits.as_bytes(), 16).expect("hexadecimal digits")
}

/// p and q of the test key of a size.
pub fn primes(bits: u32) -> (BigUint, BigUint) {
    let (_, p, q) = PRIMES.iter().find(|(size, ..)| *size == bits).expect("a size with primes");
    (hex(p), hex(q))
}

/// The test key of a size: 512, 1024, 2048 or 3072 bits.
pub fn key(bits: u32) -> &'static SecretKey {
    static KEYS: [OnceLock<SecretKey>; PRIMES.len()] = [const { OnceLock::new() }; PRIMES.len()];
    let place = PRIMES.iter().position(|(size, ..)| *size == bits).expect("a size with primes");
    KEYS[place].get_or_init(|| {
        let (p, q) = primes(bits);
        SecretKey::from_primes(&p, &q, INSECURE, &mut rng(1)).expect("primes of a key")
    })
}

/// A key of 512 bits, different from [`key`].
pub fn other_key() -> &'static SecretKey {
    static KEY: OnceLock<SecretKey> = OnceLock::new();
    KEY.get_or_init(|| SecretKey::generate(KeyBits::insecure_bench(512).expect("a size"), &mut rng(99)).expect("a key"))
}

pub fn rng(seed: u8) -> Csprng {
    Csprng::from_seed([seed; 32])
}

/// The test key of a size on every path that this CPU can run.
pub fn keys_on_paths(bits: u32) -> Vec<SecretKey> {
    let paths = ciphermill_testing::available(Path::ALL, |path| path.is_available());
    paths.into_iter().map(|path| key(bits).on_path(path).expect("an available path")).collect()
}

/// Decryption as Paillier defines it, L(c^λ mod n²)/λ mod n, with its sign.
pub fn decrypt_by_definition(c: &BigUint, bits: u32) -> BigInt {
    let (p, q) = primes(bits);
    let n = &p * &q;
    // A multiple of λ does as well.
    let order = (&p - 1u32) * (&q - 1u32);
    let power = c.modpow(&order, &(&n * &n));
    assert_eq!(&power % &n, BigUint::from(1u32), "a power of a unit");
    let inverse = order.modinv(&n).expect("a unit");
    let m = (power - 1u32) / &n * inverse % &n;
    if m > &n >> 1u32 { BigInt::from(m) - BigInt::from(n) } else { m.into() }
}

/// m mod n with its sign.
pub fn signed(m: &BigInt, key: &PublicKey) -> BigInt {
    let n = BigInt::from(key.modulus());
    let m = ((m % &n) + &n) % &n;
    if m > &n >> 1u32 { m - n } else { m }
}
