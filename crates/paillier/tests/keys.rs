//! Keys: their shape, and refused keys.

use crate::support::{INSECURE, key, other_key, primes, rng};
use ciphermill_bigint::Path;
use ciphermill_paillier::{
    Blinding, Csprng, KeyBits, PaillierError, PlaintextVector, PublicKey, SecretKey, SizePolicy,
};
use num_bigint::BigUint;

fn exposed(key: &SecretKey) -> (BigUint, BigUint) {
    let bytes = key.expose_primes();
    let (p, q) = bytes.split_at(bytes.len() / 2);
    (BigUint::from_bytes_le(p), BigUint::from_bytes_le(q))
}

fn gcd(mut a: BigUint, mut b: BigUint) -> BigUint {
    while b != BigUint::ZERO {
        (a, b) = (b.clone(), a % b);
    }
    a
}

/// The first from an odd number on that passes Fermat's test.
fn next_prime(mut from: BigUint) -> BigUint {
    let one = BigUint::from(1u32);
    while [2u32, 3, 5, 7].iter().any(|&b| BigUint::from(b).modpow(&(&from - 1u32), &from) != one) {
        from += 2u32;
    }
    from
}

/// The documented properties of every generated key.
fn check_shape(key: &SecretKey, bits: u32) {
    let one = BigUint::from(1u32);
    let (p, q) = exposed(key);
    let n = key.public_key().modulus();
    assert_eq!(&p * &q, n);
    assert_eq!((n.bits(), p.bits(), q.bits()), (bits.into(), (bits / 2).into(), (bits / 2).into()));
    assert_eq!((&p % 4u32, &q % 4u32), (BigUint::from(3u32), BigUint::from(3u32)));
    assert_eq!(gcd(&p - 1u32, &q - 1u32), BigUint::from(2u32));
    assert_eq!(gcd(n.clone(), (&p - 1u32) * (&q - 1u32)), one);
    let distance = if p > q { &p - &q } else { &q - &p };
    assert!(distance > &one << (bits / 2 - 100));
    for prime in [&p, &q] {
        for base in [2u32, 3, 5, 7, 11, 13] {
            assert_eq!(BigUint::from(base).modpow(&(prime - 1u32), prime), one, "Fermat's test");
        }
    }
    // h_s is an n-th power, and modulo either prime no square, as −x² is none.
    let base = key.public_key().blinding_base().expect("a DJN base");
    assert_eq!(base.modpow(&((&p - 1u32) * (&q - 1u32)), &(&n * &n)), one);
    for prime in [&p, &q] {
        assert_eq!(base.modpow(&((prime - 1u32) >> 1u32), prime), prime - 1u32);
    }
    assert_eq!(key.tag().0, *key.public_key().n().first().expect("a limb"));
}

#[test]
fn generated_keys_have_the_shape() {
    for seed in 0..6 {
        let key = SecretKey::generate(KeyBits::insecure_bench(512).unwrap(), &mut rng(seed)).unwrap();
        check_shape(&key, 512);
    }
    check_shape(&SecretKey::generate(KeyBits::insecure_bench(768).unwrap(), &mut rng(1)).unwrap(), 768);
    check_shape(&SecretKey::generate(KeyBits::new(2048).unwrap(), &mut Csprng::from_os().unwrap()).unwrap(), 2048);
}

#[test]
fn the_default_size_is_generated() {
    assert_eq!(KeyBits::default().get(), 3072);
    check_shape(&SecretKey::generate(KeyBits::DEFAULT, &mut rng(3)).unwrap(), 3072);
}

#[test]
fn seeds_make_keys() {
    let bits = KeyBits::insecure_bench(512).unwrap();
    let make = |seed| SecretKey::generate(bits, &mut rng(seed)).unwrap().public_key().modulus();
    assert_eq!(make(1), make(1));
    assert_ne!(make(1), make(2));
    let fresh = || SecretKey::generate(bits, &mut Csprng::from_os().unwrap()).unwrap().public_key().modulus();
    assert_ne!(fresh(), fresh());
}

#[test]
fn sizes() {
    for bits in [0, 256, 512, 1024, 1920, 2047] {
        let error = KeyBits::new(bits).unwrap_err();
        assert!(matches!(error, PaillierError::KeyBits { bits: given } if given == bits), "{error}");
        assert!(error.to_string().contains("insecure_bench"), "{error}");
    }
    for bits in [4097, 4224, u32::MAX] {
        assert!(matches!(KeyBits::new(bits), Err(PaillierError::KeyBits { .. })));
        assert!(matches!(KeyBits::insecure_bench(bits), Err(PaillierError::KeyBits { .. })));
    }
    assert!(matches!(KeyBits::new(2050), Err(PaillierError::KeyBitsStep { bits: 2050 })));
    assert!(matches!(KeyBits::insecure_bench(384), Err(PaillierError::KeyBits { bits: 384 })));
    for bits in [2048, 2176, 3072, 4096] {
        assert!(!KeyBits::new(bits).unwrap().is_insecure());
    }
    let small = KeyBits::insecure_bench(512).unwrap();
    assert!(small.is_insecure() && format!("{small:?}").contains("INSECURE"));
    assert!(
        format!("{:?}", key(512)).contains("INSECURE") && format!("{:?}", key(512).public_key()).contains("INSECURE")
    );
    assert!(!format!("{:?}", key(2048)).contains("INSECURE"));
}

#[test]
fn small_keys_need_the_opt_in() {
    let (p, q) = primes(512);
    let refused = |error: PaillierError| assert!(matches!(error, PaillierError::KeyBits { bits: 512 }), "{error}");
    refused(SecretKey::from_primes(&p, &q, SizePolicy::Standard, &mut rng(1)).unwrap_err());
    refused(PublicKey::from_modulus(&(&p * &q), SizePolicy::Standard).unwrap_err());
    refused(PublicKey::from_bytes(&key(512).public_key().to_bytes(), SizePolicy::Standard).unwrap_err());
    refused(SecretKey::from_secret_key_bytes(&key(512).to_secret_key_bytes(), SizePolicy::Standard).unwrap_err());
}

#[test]
fn primes_that_make_no_key() {
    let (p, q) = primes(512);
    let one = BigUint::from(1u32);
    let refused = |what: &str, p: &BigUint, q: &BigUint| {
        let error = SecretKey::from_primes(p, q, INSECURE, &mut rng(1)).expect_err(what);
        assert!(matches!(error, PaillierError::Primes { .. } | PaillierError::KeyBits { .. }), "{what}: {error}");
    };
    refused("a composite", &(&p + 2u32 * 3u32), &q);
    refused("an even number", &(&p + 1u32), &q);
    refused("equal primes", &p, &p);
    refused("primes of different sizes", &p, &(&q >> 1u32));
    // Primes of 256 bits each, 2^160 apart, whose product has one bit less.
    let low = next_prime((&one << 255u32) + 1u32);
    let high = next_prime((&one << 255u32) + (&one << 160u32) + 1u32);
    let error = SecretKey::from_primes(&low, &high, INSECURE, &mut rng(1)).expect_err("a product of 511 bits");
    assert!(matches!(error, PaillierError::Primes { reason } if reason.contains("product")), "{error}");
    refused("0", &BigUint::ZERO, &BigUint::ZERO);
    refused("a huge number", &(&one << 5000u32), &(&one << 5000u32));
    // The next prime from p is by far closer than 2^156.
    let mut close = &p + 2u32;
    while [2u32, 3, 5].iter().any(|&b| BigUint::from(b).modpow(&(&close - 1u32), &close) != one) {
        close += 2u32;
    }
    refused("close primes", &p, &close);
    // A Carmichael number passes Fermat's test for every base: (6k+1)(12k+1)(18k+1), here of 256 bits.
    let is_prime = |x: &BigUint| {
        let small = (3u32..200).step_by(2).all(|d| x % d != BigUint::ZERO);
        small && [2u32, 3, 5, 7].iter().all(|&b| BigUint::from(b).modpow(&(x - 1u32), x) == one)
    };
    let mut k = BigUint::from(7u32) << 79u32;
    let carmichael = loop {
        let factors = [6u32, 12, 18].map(|c| &k * c + 1u32);
        if factors.iter().all(is_prime) {
            break factors.iter().product::<BigUint>();
        }
        k += 1u32;
    };
    assert_eq!(carmichael.bits(), 256);
    assert_eq!(BigUint::from(2u32).modpow(&(&carmichael - 1u32), &carmichael), one);
    refused("a Carmichael number", &carmichael, &q);
}

#[test]
fn primes_without_the_shape_make_a_strict_key() {
    // The next prime from q that is 1 modulo 4.
    let (p, q) = primes(512);
    let one = BigUint::from(1u32);
    let mut other = &q + 2u32;
    while &other % 4u32 != one
        || [2u32, 3, 5, 7].iter().any(|&b| BigUint::from(b).modpow(&(&other - 1u32), &other) != one)
    {
        other += 2u32;
    }
    let key = SecretKey::from_primes(&p, &other, INSECURE, &mut rng(1)).unwrap();
    assert!(!key.public_key().has_blinding_base());
    assert_eq!(key.public_key().default_blinding(), Blinding::Strict);
    let m = PlaintextVector::from_i64(key.public_key(), &[-7, 7]);
    assert!(matches!(key.encrypt(&m, Blinding::Djn, &mut rng(1)), Err(PaillierError::NoBlindingBase)));
    let c = key.encrypt(&m, Blinding::Strict, &mut rng(1)).unwrap();
    assert_eq!(key.decrypt(&c).unwrap().to_i64().unwrap(), [-7, 7]);
    let again = SecretKey::from_secret_key_bytes(&key.to_secret_key_bytes(), INSECURE).unwrap();
    assert_eq!(again.decrypt(&c).unwrap().to_i64().unwrap(), [-7, 7]);
}

#[test]
fn imported_moduli() {
    let n = key(512).public_key().modulus();
    let imported = PublicKey::from_modulus(&n, INSECURE).unwrap();
    assert_eq!(&imported, key(512).public_key());
    assert_ne!(&imported, other_key().public_key());
    assert_eq!(imported.modulus(), n);
    assert_eq!(imported.max_plaintext(), (&n - 1u32) >> 1u32);
    let m = PlaintextVector::from_i64(&imported, &[5]);
    assert!(matches!(imported.encrypt(&m, Blinding::Djn, &mut rng(1)), Err(PaillierError::NoBlindingBase)));
    let c = imported.encrypt(&m, Blinding::Strict, &mut rng(1)).unwrap();
    assert_eq!(key(512).decrypt(&c).unwrap().to_i64().unwrap(), [5]);
    assert!(matches!(PublicKey::from_modulus(&(&n + 1u32), INSECURE), Err(PaillierError::Modulus { .. })));
    let mut multiple = n.clone();
    while &multiple % 3u32 != BigUint::ZERO {
        multiple += 2u32;
    }
    assert!(matches!(PublicKey::from_modulus(&multiple, INSECURE), Err(PaillierError::Modulus { .. })));
    assert!(matches!(PublicKey::from_modulus(&BigUint::ZERO, INSECURE), Err(PaillierError::KeyBits { .. })));
    assert!(matches!(PublicKey::from_modulus(&(n >> 1u32), INSECURE), Err(PaillierError::KeyBits { .. })));
}

#[test]
fn blinding_bases_from_outside() {
    let public = key(512).public_key();
    let n = public.modulus();
    let (p, _) = primes(512);
    let with = |base: &BigUint| PublicKey::from_parts(&n, Some(base), INSECURE, Path::current());
    for (what, base) in [("0", BigUint::ZERO), ("1", BigUint::from(1u32)), ("n²", &n * &n), ("p", p), ("n", n.clone())]
    {
        assert!(matches!(with(&base), Err(PaillierError::BlindingBase)), "{what}");
    }
    assert!(matches!(with(&(&n * &n * &n * &n)), Err(PaillierError::BlindingBase)));
    // Powers of these are ±1 modulo n: they hide no plaintext.
    let one = BigUint::from(1u32);
    for (what, base) in
        [("n² − 1", &n * &n - &one), ("n + 1", &n + &one), ("n − 1", &n - &one), ("2n − 1", &n * 2u32 - &one)]
    {
        assert!(matches!(with(&base), Err(PaillierError::BlindingBase)), "{what}");
    }
    let base = public.blinding_base().unwrap();
    assert_eq!(with(&base).unwrap().blinding_base().unwrap(), base);
}

#[test]
fn nothing_shows_secrets() {
    let shown = format!("{:?}", key(512));
    let (p, q) = primes(512);
    for secret in [p, q] {
        for digits in [format!("{secret:x}"), secret.to_string()] {
            assert!(!shown.contains(&digits[..12]), "{shown}");
        }
    }
    let m = PlaintextVector::from_i64(key(512).public_key(), &[123_456_789]);
    assert!(!format!("{m:?}").contains("123456789"));
}
