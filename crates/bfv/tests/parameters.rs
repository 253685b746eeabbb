//! Parameter sets: the homomorphic-encryption standard as data, the named sets, and refused parameters.

use std::collections::HashSet;

use ciphermill_bfv::parameters::{
    BFV_1024, BFV_1024_128, BFV_2048, BFV_2048_128, BFV_4096, BFV_4096_128, BFV_8192, BFV_8192_128, BFV_16384,
    BFV_16384_128, BFV_32768, BFV_32768_128, CHAM_PAPER, MAX_LIMBS, ParameterError, SET_NAMES, TEST_32, TEST_512,
    estimate, largest_modulus_bits, max_modulus_bits,
};
use ciphermill_bfv::{BfvError, Context, Gadget, ParameterSet, ParameterSpec, SecurityLevel, SecurityPolicy};
use ciphermill_lattice::{DecompositionBaseLog, PolynomialSize};
use ciphermill_math::Isa;
use ciphermill_math::modulus::{is_prime, ntt_primes};
use num_bigint::BigUint;
use proptest::prelude::*;

const SECURE: SecurityPolicy = SecurityPolicy::Require128Bits;
const INSECURE: SecurityPolicy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;

/// The largest primes of these lengths for N = `n`.
fn primes(n: usize, bits: &[u32]) -> Vec<u64> {
    let mut taken = HashSet::new();
    bits.iter().map(|&b| ntt_primes(b, n).map(|p| p.value()).find(|&p| taken.insert(p)).expect("a prime")).collect()
}

fn spec(n: usize, ciphertext: &[u32], special: &[u32]) -> ParameterSpec {
    let all = primes(n, &[ciphertext, special].concat());
    let (ciphertext_moduli, special_moduli) = all.split_at(ciphertext.len());
    ParameterSpec {
        name: "test".to_owned(),
        polynomial_size: PolynomialSize::new(n).expect("a power of two"),
        ciphertext_moduli: ciphertext_moduli.to_vec(),
        special_moduli: special_moduli.to_vec(),
        plaintext_modulus: 1 << 10,
        gadget: Gadget::Limbs { limbs_per_digit: 1 },
    }
}

#[test]
fn the_tables_are_those_of_the_standard() {
    let data: serde_json::Value =
        serde_json::from_str(include_str!("data/he_standard.json")).expect("the standard's tables");
    let sizes: Vec<usize> = serde_json::from_value(data["polynomial_sizes"].clone()).expect("sizes");
    let mut entries = 0;
    for (attack, quantum) in [("classical", false), ("quantum", true)] {
        for level in SecurityLevel::ALL {
            let column: Vec<u32> =
                serde_json::from_value(data[attack][level.bits().to_string()].clone()).expect("column");
            assert_eq!(column.len(), sizes.len());
            for (&n, &bits) in sizes.iter().zip(&column) {
                assert_eq!(max_modulus_bits(n, level, quantum), Some(bits), "{attack} {level:?} N = {n}");
                entries += 1;
            }
            for n in [0, 1, 512, 1023, 1025, 3072, 65536, usize::MAX] {
                assert_eq!(max_modulus_bits(n, level, quantum), None, "N = {n}");
            }
        }
    }
    assert_eq!(entries, 36);
}

/// The table in the documentation of the named sets, checked number by number.
#[test]
fn named_sets_are_as_documented() {
    // Lengths of the primes, the standard's bound, t, slots.
    type Row = (&'static str, usize, Vec<u32>, &'static [u32], Option<u32>, u64, bool);
    let repeat = |lengths: &[(u32, usize)]| lengths.iter().flat_map(|&(bits, count)| vec![bits; count]).collect();
    let rows: [Row; 15] = [
        (CHAM_PAPER, 4096, vec![35, 35], &[39], Some(109), 1 << 24, false),
        (BFV_1024_128, 1024, vec![26], &[], Some(27), 12289, true),
        (BFV_2048_128, 2048, vec![34], &[18], Some(54), 65537, true),
        (BFV_4096_128, 4096, vec![35, 35], &[36], Some(109), 1_032_193, true),
        (BFV_8192_128, 8192, vec![42, 42, 43, 43], &[43], Some(218), 1_032_193, true),
        (BFV_16384_128, 16384, repeat(&[(47, 6), (48, 2)]), &[48], Some(438), 786_433, true),
        (BFV_32768_128, 32768, repeat(&[(47, 8), (48, 9)]), &[48], Some(881), 786_433, true),
        (BFV_1024, 1024, vec![27], &[], Some(27), 12289, true),
        (BFV_2048, 2048, vec![36], &[18], Some(54), 65537, true),
        (BFV_4096, 4096, vec![36, 36], &[37], Some(109), 1_032_193, true),
        (BFV_8192, 8192, vec![43, 43, 44, 44], &[44], Some(218), 1_032_193, true),
        (BFV_16384, 16384, repeat(&[(48, 3), (49, 5)]), &[49], Some(438), 786_433, true),
        (BFV_32768, 32768, repeat(&[(48, 1), (49, 16)]), &[49], Some(881), 786_433, true),
        (TEST_32, 32, vec![30, 30, 30], &[31], None, 12289, true),
        (TEST_512, 512, vec![40, 40, 40], &[41], None, 1_032_193, true),
    ];
    assert_eq!(rows.each_ref().map(|row| row.0).as_slice(), SET_NAMES);
    let bits = |moduli: &[u64]| moduli.iter().map(|p| 64 - p.leading_zeros()).collect::<Vec<_>>();
    for (name, n, ciphertext, special, max, t, slots) in rows {
        let set = ParameterSet::named(name, INSECURE).expect("a named set");
        assert_eq!((set.name.as_str(), set.polynomial_size.get()), (name, n));
        assert_eq!((bits(&set.ciphertext_moduli), bits(&set.special_moduli).as_slice()), (ciphertext.clone(), special));
        assert_eq!((set.plaintext_modulus, set.has_slots()), (t, slots), "{name}");
        let product: BigUint = set.chain().map(BigUint::from).product();
        assert_eq!(set.standard_level(), max.map(|_| SecurityLevel::Bits128), "{name}");
        assert!(max.is_none_or(|max| product < BigUint::from(1u32) << max), "{name}");
        let refused = ParameterSet::named(name, SECURE);
        if name == CHAM_PAPER || name.ends_with("_128") {
            assert!((128.0..132.0).contains(&set.security().bits), "{name}: {:?}", set.security());
            assert_eq!(refused.expect("at least 128 bits"), set);
        } else {
            let bits = set.security().bits;
            // The standard's bounds of 2018 have lost two to three bits.
            assert!(if max.is_some() { (124.5..126.5).contains(&bits) } else { bits == 0.0 }, "{name}: {bits}");
            assert!(matches!(refused, Err(ParameterError::Insecure { .. })), "{refused:?}");
        }
        for p in set.chain() {
            assert!(is_prime(p) && p % (2 * n as u64) == 1, "{name}: {p}");
        }
        // Keys are switched with less noise than a digit is large.
        let small_digits = [BFV_2048, BFV_2048_128].contains(&name);
        assert!(set.special_moduli.is_empty() || small_digits || set.special_moduli >= set.ciphertext_moduli);
        let context = Context::new(&set, Isa::current()).expect("tables");
        assert_eq!((context.top(), context.chain().len()), (ciphertext.len(), ciphertext.len() + special.len()));
        assert_eq!(context.basis(1).len(), 1);
        assert_eq!(ParameterSet::from_bytes(&set.to_bytes(), INSECURE).expect("own bytes"), set);
    }
    let paper = ParameterSet::named(CHAM_PAPER, SECURE).expect("secure");
    assert_eq!(paper.ciphertext_moduli, [17_314_086_913, 17_180_393_473]);
    assert_eq!(paper.special_moduli, [274_886_295_553]);
    assert!((106.0..106.1).contains(&paper.chain_bits()), "{}", paper.chain_bits());
    let unknown = ParameterSet::named("BFV_2", SECURE).expect_err("no such set");
    assert!(unknown.to_string().contains("known are CHAM_PAPER, BFV_1024_128"), "{unknown}");
}

/// Stored keys and ciphertexts name their set by its id, so the numbers behind each name stay the same.
#[test]
fn names_keep_their_numbers() {
    let ids: [(&str, u64); 13] = [
        (CHAM_PAPER, 0xaa9b_37d9_d56f_979f),
        (BFV_1024_128, 0xb507_ec31_0221_c561),
        (BFV_2048_128, 0xa7f6_a925_a7e1_1e35),
        (BFV_4096_128, 0x89fd_0f3a_e5d0_5b8e),
        (BFV_8192_128, 0x11b9_189b_460a_456a),
        (BFV_16384_128, 0x356d_9988_84a6_7ea0),
        (BFV_32768_128, 0xd1e6_bb76_9eb9_c4a4),
        (BFV_1024, 0x82fe_3327_144f_c9c5),
        (BFV_2048, 0xcf78_1bee_9476_3e35),
        (BFV_4096, 0xbf7b_3e02_46d5_2fe8),
        (BFV_8192, 0x17bc_a257_84cc_7b53),
        (BFV_16384, 0x21be_1cf0_6e42_5492),
        (BFV_32768, 0xd64b_b5a6_92b2_e6ee),
    ];
    for (name, id) in ids {
        let set = ParameterSet::named(name, INSECURE).expect("a named set");
        assert_eq!(set.id().0, id, "{name}");
        let stolen = ParameterSpec { name: name.to_owned(), ..spec(4096, &[36, 36], &[36]) };
        let error = ParameterSet::new(stolen, INSECURE).expect_err("other numbers");
        assert_eq!(error, ParameterError::NameTaken(name.to_owned()));
        // Nor from bytes.
        let renamed = ParameterSpec { name: name.to_owned(), plaintext_modulus: 257, ..set.spec().clone() };
        let mut bytes = ParameterSet::new(ParameterSpec { name: "x".repeat(name.len()), ..renamed }, INSECURE)
            .expect("another set")
            .to_bytes();
        let at = 24 + 1;
        bytes[at..at + name.len()].copy_from_slice(name.as_bytes());
        let header = ciphermill_wire::Header::decode(&bytes).expect("an envelope");
        let bytes = ciphermill_wire::seal(header.kind, header.version, &bytes[24..bytes.len() - 4]);
        let error = ParameterSet::from_bytes(&bytes, INSECURE).expect_err("other numbers").to_string();
        assert!(error.contains("is the name of a set with other numbers"), "{error}");
    }
}

/// A chain up to the estimated bound is accepted, one above it is refused without the opt-in.
#[test]
fn the_bound_is_that_of_the_estimates() {
    for (n, limbs) in [(1024, 1), (2048, 1), (4096, 3), (8192, 5), (16384, 9), (32768, 18)] {
        let max = largest_modulus_bits(n, SecurityLevel::Bits128).expect("a row") as u32;
        let lengths =
            |total: u32| -> Vec<u32> { (0..limbs).map(|i| total / limbs + u32::from(i < total % limbs)).collect() };
        let set = ParameterSet::new(spec(n, &lengths(max), &[]), SECURE).expect("at the bound");
        assert!(set.keeps(SecurityLevel::Bits128) && !set.keeps(SecurityLevel::Bits192), "{n}: {:?}", set.security());
        let above = spec(n, &lengths(max + 1), &[]);
        let bits = ParameterSet::new(above.clone(), INSECURE).expect("opted in").security().bits;
        assert!((120.0..128.0).contains(&bits), "{n}: {bits}");
        let error = ParameterSet::new(above, SECURE).expect_err("above the bound");
        assert!(
            matches!(&error, ParameterError::Insecure { dimension, bits: given, .. } if *dimension == n && *given == bits)
        );
        let text = error.to_string();
        assert!(text.contains(&format!("{bits:.1} bits, below the required 128")) && text.contains("opt in"), "{text}");
    }
    // Special moduli count.
    let error = ParameterSet::new(spec(4096, &[36, 36], &[37]), SECURE).expect_err("109 bits");
    assert!(error.to_string().contains("use a product of at most 106.5 bits or a larger N"), "{error}");
    for n in [16, 512] {
        let set = ParameterSet::new(spec(n, &[14], &[]), INSECURE).expect("opted in");
        assert_eq!((set.security().bits, set.standard_level()), (0.0, None));
        let error = ParameterSet::new(spec(n, &[14], &[]), SECURE).expect_err("no row for it");
        assert!(error.to_string().contains("use N = 1024 to 32768"), "{error}");
    }
}

/// The verdict of 2018 that is stated for comparison.
#[test]
fn the_standards_bound_is_exact() {
    for (level, n, at, above) in [
        (SecurityLevel::Bits128, 4096, &[36, 36, 37][..], &[36, 37, 37][..]),
        (SecurityLevel::Bits128, 1024, &[27], &[28]),
        (SecurityLevel::Bits192, 8192, &[50, 51, 51], &[51, 51, 51]),
        (SecurityLevel::Bits256, 16384, &[59, 59, 59, 60], &[59, 59, 60, 60]),
    ] {
        let level_of = |bits| ParameterSet::new(spec(n, bits, &[]), INSECURE).expect("opted in").standard_level();
        assert_eq!(level_of(at), Some(level));
        assert!(level_of(above) < Some(level));
    }
}

/// At 128 bits, the estimates ask for more than the standard did.
#[test]
fn the_estimates_are_stricter_than_the_standard() {
    for n in (10..=15).map(|log2| 1 << log2) {
        let standard = f64::from(max_modulus_bits(n, SecurityLevel::Bits128, false).expect("a row"));
        let estimated = largest_modulus_bits(n, SecurityLevel::Bits128).expect("a row");
        assert!((0.95 * standard..standard).contains(&estimated), "N = {n}: {estimated} of {standard} bits");
        assert!((124.5..126.5).contains(&estimate(n, standard).bits), "N = {n}: {:?}", estimate(n, standard));
    }
}

#[test]
fn inadmissible_numbers_are_refused() {
    type Change = fn(&mut ParameterSpec);
    let cases: &[(&str, Change)] = &[
        ("name", |s| s.name = String::new()),
        ("name", |s| s.name = "x".repeat(65)),
        ("name", |s| s.name = "two words".to_owned()),
        ("name", |s| s.name = "größe".to_owned()),
        ("polynomial size N is 65536", |s| s.polynomial_size = PolynomialSize::new(65536).expect("a power of two")),
        ("number L of ciphertext moduli is 0", |s| s.ciphertext_moduli = vec![]),
        ("number L of ciphertext moduli is 33", |s| s.ciphertext_moduli = vec![12289; 33]),
        ("number K of special moduli is 31; use 0 to 30", |s| s.special_moduli = vec![12289; 31]),
        ("plaintext modulus t is 0", |s| s.plaintext_modulus = 0),
        ("plaintext modulus t is 1;", |s| s.plaintext_modulus = 1),
        ("use 2 to 576460752303423487", |s| s.plaintext_modulus = 1 << 59),
        ("limbs per digit is 0; use 1 to 2", |s| s.gadget = Gadget::Limbs { limbs_per_digit: 0 }),
        ("limbs per digit is 3", |s| s.gadget = Gadget::Limbs { limbs_per_digit: 3 }),
        ("base of digits is 0", |s| s.gadget = Gadget::Bits { base_log: DecompositionBaseLog(0) }),
        ("base of digits is 33", |s| s.gadget = Gadget::Bits { base_log: DecompositionBaseLog(33) }),
        ("modulus 0 is outside", |s| s.ciphertext_moduli[0] = 0),
        ("outside the range", |s| s.ciphertext_moduli[0] = 1 << 62),
        ("outside the range", |s| s.special_moduli[0] = u64::MAX),
        // 8192·k + 1 with a factor.
        ("is not an odd prime", |s| s.ciphertext_moduli[1] = 8193),
        ("is not 1 modulo 8192", |s| s.ciphertext_moduli[1] = 2_147_483_647),
        ("occurs twice", |s| s.ciphertext_moduli[1] = s.ciphertext_moduli[0]),
        ("occurs twice", |s| s.special_moduli[0] = s.ciphertext_moduli[0]),
        ("divides the plaintext modulus", |s| {
            s.special_moduli[0] = 40961;
            s.plaintext_modulus = 3 * 40961;
        }),
        ("plaintext modulus t is 30000; use 2 to 20480", |s| {
            s.ciphertext_moduli = vec![40961];
            s.plaintext_modulus = 30000;
        }),
    ];
    for (says, change) in cases {
        let mut spec = spec(4096, &[35, 35], &[36]);
        ParameterSet::new(spec.clone(), SECURE).expect("sound");
        change(&mut spec);
        for policy in [SECURE, INSECURE] {
            let error = ParameterSet::new(spec.clone(), policy).expect_err(says).to_string();
            assert!(error.contains(says), "{error:?} does not say {says:?}");
        }
    }
}

/// FNV-1a of the documented byte form, computed here once more from the numbers.
#[test]
fn ids_are_of_the_numbers_alone() {
    let base = spec(64, &[30, 31], &[32]);
    let id = |spec: &ParameterSpec| ParameterSet::new(spec.clone(), INSECURE).expect("sound").id();
    let mut bytes = vec![6, 2, 1, 0, 1];
    for number in [1 << 10, base.ciphertext_moduli[0], base.ciphertext_moduli[1], base.special_moduli[0]] {
        bytes.extend_from_slice(&u64::to_le_bytes(number));
    }
    let mut hash = 14_695_981_039_346_656_037u64;
    for byte in bytes {
        hash = (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211);
    }
    assert_eq!(id(&base).0, hash);
    assert_eq!(id(&ParameterSpec { name: "another".to_owned(), ..base.clone() }), id(&base));
    let changes = [
        ParameterSpec { plaintext_modulus: 1 << 11, ..base.clone() },
        ParameterSpec { gadget: Gadget::Bits { base_log: DecompositionBaseLog(1) }, ..base.clone() },
        ParameterSpec { gadget: Gadget::Limbs { limbs_per_digit: 2 }, ..base.clone() },
        ParameterSpec { polynomial_size: PolynomialSize::new(32).expect("a power of two"), ..base.clone() },
        ParameterSpec { special_moduli: vec![], ..base.clone() },
        ParameterSpec {
            ciphertext_moduli: [base.ciphertext_moduli.clone(), base.special_moduli.clone()].concat(),
            special_moduli: vec![],
            ..base.clone()
        },
        ParameterSpec { ciphertext_moduli: base.ciphertext_moduli.iter().rev().copied().collect(), ..base.clone() },
    ];
    let ids: HashSet<_> = changes.iter().chain([&base]).map(id).collect();
    assert_eq!(ids.len(), changes.len() + 1);
}

#[test]
fn slots_need_a_prime_with_roots() {
    let with = |t| ParameterSet::new(ParameterSpec { plaintext_modulus: t, ..spec(1024, &[26], &[]) }, SECURE);
    for (t, slots) in [(12289, true), (2, false), (65536, false), (65537, true), (2049, false), (40960 + 3, false)] {
        assert_eq!(with(t).expect("sound").has_slots(), slots, "t = {t}");
    }
}

#[test]
fn the_longest_chain_has_tables() {
    let set = ParameterSet::new(spec(32, &[40; MAX_LIMBS - 2], &[41, 42]), INSECURE).expect("32 primes");
    let context = Context::new(&set, Isa::current()).expect("tables");
    assert_eq!((context.chain().len(), context.extended(30).len(), context.extended(1).len()), (32, 32, 3));
    assert_eq!(ParameterSet::from_bytes(&set.to_bytes(), INSECURE).expect("own bytes"), set);
}

proptest! {
    /// Whatever numbers are admissible come back from their bytes, and nothing but these bytes is accepted.
    #[test]
    fn byte_form(
        name in "[!-~]{1,64}",
        log_n in 4u32..=8,
        bits in prop::collection::vec(20u32..=61, 1..6),
        special in prop::collection::vec(20u32..=61, 0..3),
        t in 2u64..1 << 18,
        base_log in 1usize..=32,
        at in any::<prop::sample::Index>(),
        bit in 0u32..8,
    ) {
        let mut spec = spec(1 << log_n, &bits, &special);
        spec.name = name;
        spec.plaintext_modulus = t;
        spec.gadget = Gadget::Bits { base_log: DecompositionBaseLog(base_log) };
        let set = ParameterSet::new(spec, INSECURE).expect("sound");
        let bytes = set.to_bytes();
        prop_assert_eq!(&ParameterSet::from_bytes(&bytes, INSECURE).expect("own bytes"), &set);
        let mut body = bytes[24..bytes.len() - 4].to_vec();
        let at = at.index(body.len());
        body[at] ^= 1 << bit;
        let sealed = ciphermill_wire::seal(ciphermill_bfv::serial::PARAMETER_SET, 1, &body);
        match ParameterSet::from_bytes(&sealed, INSECURE) {
            Ok(other) => prop_assert!(other != set && other.to_bytes() == sealed),
            Err(BfvError::Wire(_) | BfvError::Parameters(_) | BfvError::Range { .. }) => {}
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}
