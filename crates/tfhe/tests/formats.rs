//! The byte formats that docs/tfhe.md draws: known answers, round trips, sizes, versions, and secrets that do not print.
//! Damaged and hostile objects are in `hostile_objects.rs` and `hostile_keys.rs`.

use std::collections::HashSet;

use crate::support::{INSECURE, Keys, Seed, keys, seed};
use ciphermill_lattice::{Csprng, NoiseDistribution, PolynomialSize, PublicSeed};
use ciphermill_tfhe::ciphertext::LweElements;
use ciphermill_tfhe::dimension::{Decomposition, GlweDimension};
use ciphermill_tfhe::ggsw::{GgswCiphertext, GgswEncryptor, GgswShape};
use ciphermill_tfhe::glwe::GlweCiphertext;
use ciphermill_tfhe::lwe::LweCiphertext;
use ciphermill_tfhe::parameters::{SET_NAMES, TEST_SMALL_U32, TEST_SMALL_U64};
use ciphermill_tfhe::serial;
use ciphermill_tfhe::server_key::{KeyHeader, validate_key};
use ciphermill_tfhe::{
    Backend, Bounds, Ciphertext, ClientKey, Encoding, KeyForm, KeyKind, KeyOrder, KeyTag, MessageRange, ModulusSwitch,
    ParameterSet, ParameterSpec, TableEncodings, TestVector, TestVectorElements, TfheError,
};
use ciphermill_wire::{Decoder, HEADER_LEN, WireError, open, seal};

const BOTH: [KeyOrder; 2] = [KeyOrder::Small, KeyOrder::Big];
const SETS: [&str; 2] = [TEST_SMALL_U64, TEST_SMALL_U32];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn set(name: &str) -> ParameterSet {
    ParameterSet::named(name, INSECURE).expect("a named set")
}

/// The named set with the centred modulus switch.
fn centred(name: &str) -> ParameterSet {
    let spec = ParameterSpec { modulus_switch: ModulusSwitch::Centred, ..set(name).spec().clone() };
    ParameterSet::new(spec, INSECURE).expect("admissible")
}

/// The body of a sealed object, behind its header and before its checksum.
fn body(sealed: &[u8]) -> &[u8] {
    &sealed[HEADER_LEN..sealed.len() - 4]
}

// The known answers were made from the table of docs/tfhe.md by a script that shares no code with this crate.

/// Objects of the first version of the body, which all releases before bounds wrote, open and come back as they were.
#[test]
fn layout_of_a_ciphertext_of_the_first_version() {
    let elements = LweCiphertext::from_elements(vec![1, 0x8000_0000, 0xdead_beef]);
    let unstated = |ciphertext: Ciphertext| ciphertext.with_bounds(Bounds::UNSTATED);
    let small = Ciphertext::new(KeyTag(0x0123_4567_89ab_cdef), KeyOrder::Small, LweElements::U32(elements));
    let small = unstated(small);
    let known = "434d494c01000202010000001c00000000000000653b3a38\
                 efcdab8967452301012000000200000001000000\
                 00000080efbeadde8d4ecb28";
    assert_eq!(hex(&small.to_bytes()), known);
    let elements = LweCiphertext::from_elements(vec![0x1122_3344_5566_7788, 0x8000_0000_0000_0001]);
    let big = unstated(Ciphertext::new(KeyTag(0xfedc_ba98_7654_3210), KeyOrder::Big, LweElements::U64(elements)));
    let known = "434d494c01000202010000002000000000000000ffd16ad2\
                 1032547698badcfe0040000001000000\
                 8877665544332211010000000000008020a08701";
    assert_eq!(hex(&big.to_bytes()), known);
    for ciphertext in [small, big] {
        assert_eq!(Ciphertext::from_bytes(&ciphertext.to_bytes()).expect("own bytes"), ciphertext);
    }
}

#[test]
fn layout_of_a_glwe_ciphertext() {
    let size = PolynomialSize::new(16).expect("a power of two");
    let glwe = GlweCiphertext::<u32>::from_coefficients((0..32).collect(), size).expect("two polynomials");
    let bytes = glwe.to_bytes();
    let (head, words) = bytes.split_at(32);
    assert_eq!(hex(head), "434d494c010003020100000088000000000000009e7357fd2001040000000000");
    assert_eq!(words[..128], (0..32u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
    assert_eq!(hex(&words[128..]), "0fdeadeb");
    assert_eq!(GlweCiphertext::<u32>::from_bytes(&bytes).expect("own bytes"), glwe);
    // A test vector that states no encodings is the same object.
    let vector = TestVector::from_bytes(&bytes).expect("own bytes");
    assert_eq!(vector, TestVector::new(TestVectorElements::U32(glwe), None));
    assert_eq!(vector.to_bytes(), bytes);
}

#[test]
fn layout_of_a_ciphertext_with_bounds() {
    let elements = LweCiphertext::from_elements(vec![1, 0x8000_0000, 0xdead_beef]);
    let small = Ciphertext::new(KeyTag(0x0123_4567_89ab_cdef), KeyOrder::Small, LweElements::U32(elements));
    let range = MessageRange::new(22, -5, 11).expect("few messages");
    let bounded = small.clone().with_bounds(Bounds::new(Some(range), 2.5).expect("a variance"));
    let known = "434d494c0100020202000000340000000000000076269324\
                 efcdab89674523010120000002000000\
                 16000000fbffffff0b000000000000000000000000000440\
                 0100000000000080efbeadde37f40599";
    assert_eq!(hex(&bounded.to_bytes()), known);
    let known = "434d494c0100020202000000340000000000000076269324\
                 efcdab89674523010120000002000000\
                 00000000000000000000000000000000000000000000f07f\
                 0100000000000080efbeaddef37fa501";
    assert_eq!(hex(&small.to_bytes()), known);
    for ciphertext in [bounded, small] {
        assert_eq!(Ciphertext::from_bytes(&ciphertext.to_bytes()).expect("own bytes"), ciphertext);
    }
}

#[test]
fn layout_of_a_test_vector_with_encodings() {
    let size = PolynomialSize::new(16).expect("a power of two");
    let glwe = GlweCiphertext::<u32>::from_coefficients((0..32).collect(), size).expect("two polynomials");
    let input = Encoding::new(-2, 5, true).expect("contains zero");
    let output = Encoding::new(-7, 9, false).expect("contains zero");
    let vector = TestVector::new(TestVectorElements::U32(glwe), Some(TableEncodings { input, output }));
    let bytes = vector.to_bytes();
    let (head, words) = bytes.split_at(56);
    assert_eq!(
        hex(head),
        "434d494c0100030202000000a0000000000000008d6efee1\
                 2001040000000000feffffff05000000f9ffffff090000000100000000000000"
    );
    assert_eq!(words[..128], (0..32u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>());
    assert_eq!(hex(&words[128..]), "10b02d0d");
    assert_eq!(TestVector::from_bytes(&bytes).expect("own bytes"), vector);
}

#[test]
fn layout_of_a_ggsw_ciphertext() {
    let shape = GgswShape {
        glwe_dimension: GlweDimension(1),
        polynomial_size: PolynomialSize::new(16).expect("a power of two"),
        decomposition: Decomposition::new(9, 5),
    };
    let ggsw = GgswCiphertext::<u64>::from_coefficients((0..320).collect(), shape).expect("ten rows");
    let bytes = ggsw.to_bytes();
    let (head, words) = bytes.split_at(32);
    assert_eq!(hex(head), "434d494c0100040201000000080a0000000000001a9d85fe4001040009050000");
    assert_eq!(words[..2560], (0..320u64).flat_map(u64::to_le_bytes).collect::<Vec<_>>());
    assert_eq!(hex(&words[2560..]), "56ffa444");
    assert_eq!(GgswCiphertext::<u64>::from_bytes(&bytes).expect("own bytes"), ggsw);
}

#[test]
fn layout_of_a_parameter_set() {
    let known = "434d494c01000102010000003b0000000000000032a46a33\
                 0e544553545f534d414c4c5f553634\
                 40600000000100000000040000\
                 00000000000000703e00000000000000d03c\
                 09050307040000000000000040295b8472";
    assert_eq!(hex(&set(TEST_SMALL_U64).to_bytes()), known);
}

/// Version 2: the fields of version 1, and the modulus switch.
#[test]
fn layout_of_a_parameter_set_with_the_centred_switch() {
    let known = "434d494c01000102020000003c0000000000000066dda19a\
                 0e544553545f534d414c4c5f553634\
                 40600000000100000000040000\
                 00000000000000703e00000000000000d03c\
                 09050307040000000000000040011b016bf8";
    let centred = centred(TEST_SMALL_U64);
    assert_eq!(hex(&centred.to_bytes()), known);
    assert_eq!(ParameterSet::from_bytes(&centred.to_bytes(), INSECURE).expect("own bytes"), centred);
}

/// A set has one form: version 2 states no plain switch, and version 1 has no further field.
#[test]
fn modulus_switches_have_one_form() {
    let (plain, centred) = (set(TEST_SMALL_U64), centred(TEST_SMALL_U64));
    let (plain, centred) = (plain.to_bytes(), centred.to_bytes());
    assert_eq!(body(&centred)[..body(&plain).len()], *body(&plain));
    let with = |version, switch: &[u8]| {
        let body = [body(&plain), switch].concat();
        ParameterSet::from_bytes(&seal(serial::PARAMETER_SET, version, &body), INSECURE)
    };
    assert!(with(1, &[]).is_ok() && with(2, &[1]).is_ok());
    for given in [0, 2, 255] {
        let refused = with(2, &[given]).expect_err("another switch");
        let TfheError::Field { what: "modulus switch", given: g, min: 1, max: 1 } = refused else {
            panic!("{refused}")
        };
        assert_eq!(g, u64::from(given));
    }
    assert!(matches!(with(1, &[1]), Err(TfheError::Wire(WireError::TrailingBytes { .. }))));
    assert!(matches!(with(2, &[]), Err(TfheError::Wire(WireError::Truncated { .. }))));
}

/// All four objects with a parameter set carry its modulus switch, and a loaded key uses it.
#[test]
fn objects_carry_the_modulus_switch() {
    for name in SETS {
        let parameters = centred(name);
        let keys = Keys::generate(&parameters, KeyForm::Seeded, Seed(7), 0);
        let secret = keys.client.to_secret_key_bytes();
        for bytes in [&keys.bootstrap[..], &keys.keyswitch, &secret, &parameters.to_bytes()] {
            assert_eq!(ciphermill_wire::Header::decode(bytes).expect("sealed").version, 2);
        }
        let again = ClientKey::from_secret_key_bytes(&secret, INSECURE).expect("own bytes");
        assert_eq!(again.parameters(), &parameters);
        for (kind, bytes) in [(KeyKind::Bootstrap, &keys.bootstrap), (KeyKind::Keyswitch, &keys.keyswitch)] {
            let header = validate_key(kind, &bytes[..], INSECURE).expect("own bytes");
            assert_eq!(header.spec(), parameters.spec());
            assert_eq!(bytes.len() as u64, parameters.sealed_key_len(kind, KeyForm::Seeded));
        }
        assert_eq!(keys.load(Backend::Fft).parameters(), &parameters);
    }
}

#[test]
fn parameter_sets_come_back() {
    for name in SET_NAMES {
        let parameters = set(name);
        let again = ParameterSet::from_bytes(&parameters.to_bytes(), INSECURE).expect("own bytes");
        assert_eq!(again, parameters);
    }
    let mut spec = set(TEST_SMALL_U64).spec().clone();
    spec.name = "X".repeat(64);
    spec.lwe_noise = NoiseDistribution::TUniform { bound_log2: 8 };
    spec.glwe_noise = NoiseDistribution::TUniform { bound_log2: 14 };
    let parameters = ParameterSet::new(spec, INSECURE).expect("admissible");
    let again = ParameterSet::from_bytes(&parameters.to_bytes(), INSECURE).expect("own bytes");
    assert_eq!(again.spec(), parameters.spec());
}

#[test]
fn ciphertexts_and_tables_come_back() {
    for name in SETS {
        let client = ClientKey::generate(&set(name), &seed(1));
        let encoding = Encoding::unsigned(3, true).expect("few bits");
        let mut rng = Csprng::from_secret(&seed(2), 0);
        for choice in BOTH {
            let ciphertext = client.encrypt(&encoding, 5, choice, &mut rng).expect("in range");
            let bytes = ciphertext.to_bytes();
            assert_eq!(bytes.len() as u64, client.parameters().sealed_ciphertext_len(choice), "{name} {choice}");
            let again = Ciphertext::from_bytes(&bytes).expect("own bytes");
            assert_eq!((&again, again.to_bytes() == bytes), (&ciphertext, true));
            assert_eq!(client.decrypt(&encoding, &again).expect("ours"), 5);
        }
        let table = client.parameters().test_vector(&encoding, &encoding, |m| 7 - m).expect("a table");
        let bytes = table.to_bytes();
        assert_eq!(bytes.len() as u64, client.parameters().sealed_test_vector_len(), "{name}");
        assert_eq!(TestVector::from_bytes(&bytes).expect("own bytes"), table);
    }
}

#[test]
fn ggsw_ciphertexts_come_back() {
    let client = ClientKey::generate(&set(TEST_SMALL_U32), &seed(3));
    let mut rng = Csprng::from_secret(&seed(4), 0);
    let noise = client.parameters().glwe_noise;
    let (key, gadget) = (client.glwe_secret_key(), Decomposition::new(7, 3));
    let encryptor = GgswEncryptor::<u32>::new(key, gadget, noise).expect("a transform of N = 512");
    let narrow: GgswCiphertext<u32> = encryptor.encrypt(1, &PublicSeed([5; 32]), 0, &mut rng);
    assert_eq!(GgswCiphertext::<u32>::from_bytes(&narrow.to_bytes()).expect("own bytes"), narrow);
    let encryptor = GgswEncryptor::<u64>::new(key, gadget, noise).expect("a transform of N = 512");
    let wide: GgswCiphertext<u64> = encryptor.encrypt(0, &PublicSeed([6; 32]), 0, &mut rng);
    assert_eq!(GgswCiphertext::<u64>::from_bytes(&wide.to_bytes()).expect("own bytes"), wide);
    let other_width = GgswCiphertext::<u64>::from_bytes(&narrow.to_bytes());
    assert!(matches!(other_width, Err(TfheError::Mismatch { given: 32, expected: 64, .. })), "{other_width:?}");
}

/// The header of a server key field by field, and the sizes that docs/tfhe.md gives.
#[test]
fn layout_and_size_of_server_keys() {
    for name in SETS {
        for form in [KeyForm::Seeded, KeyForm::Full] {
            let keys = keys(name, form, 10);
            let p = keys.client.parameters();
            let (n, k, size) = (p.lwe_dimension.0, p.glwe_dimension.0, p.polynomial_size.get());
            let (l, t, width) = (p.pbs.level_count.0, p.ks.level_count.0, p.torus.bytes());
            let full = form == KeyForm::Full;
            let rows = n * (k + 1) * l * size * width * if full { k + 1 } else { 1 };
            let switches = k * size * t * 4 * if full { n + 1 } else { 1 };
            for (kind, bytes, elements) in
                [(KeyKind::Bootstrap, &keys.bootstrap, rows), (KeyKind::Keyswitch, &keys.keyswitch, switches)]
            {
                let (_, mut fields) = open(bytes, kind.wire_kind(), 1..=1, u64::MAX).expect("sealed");
                let header_len = fields.u32().expect("length") as usize;
                let mut header = Decoder::new(fields.bytes(header_len).expect("header"));
                let spec = body(&p.to_bytes()).to_vec();
                assert_eq!(header.bytes(spec.len()).expect("parameter set"), spec);
                assert_eq!(header.u64().expect("tag"), keys.client.tag().0);
                assert_eq!(header.u8().expect("form"), u8::from(full));
                assert_ne!(header.array::<32>().expect("seed"), [0; 32]);
                header.finish().expect("nothing more");
                assert_eq!(fields.remaining(), elements, "{name} {kind:?} {form:?}");

                let header = validate_key(kind, &bytes[..], INSECURE).expect("own bytes");
                assert_eq!(header.sealed_len(), bytes.len() as u64);
                assert_eq!((header.tag(), header.form(), header.spec()), (keys.client.tag(), form, p.spec()));
                let (_, opened, parameters) = KeyHeader::open(kind, &bytes[..], INSECURE).expect("own bytes");
                assert_eq!((&opened, &parameters), (&header, p));
            }
        }
    }
}

/// A seed stands for exactly the masks that the full form holds, so both load to the same key.
#[test]
fn seeded_and_full_keys_compute_the_same() {
    for (name, backend) in [(TEST_SMALL_U64, Backend::Fft), (TEST_SMALL_U32, Backend::Ntt)] {
        let [seeded, full] = [KeyForm::Seeded, KeyForm::Full].map(|form| keys(name, form, 20));
        let [by_seed, by_rows] = [&seeded, &full].map(|keys| keys.load(backend));
        assert!(by_seed.keyswitch_key() == by_rows.keyswitch_key());
        assert_eq!(by_seed.memory_bytes(), by_rows.memory_bytes());
        let client = &seeded.client;
        let encoding = Encoding::unsigned(2, true).expect("few bits");
        let table = client.parameters().test_vector(&encoding, &encoding, |m| 3 - m).expect("a table");
        let mut rng = Csprng::from_secret(&seed(21), 0);
        for choice in BOTH {
            let input = client.encrypt(&encoding, 1, choice, &mut rng).expect("in range");
            let [lhs, rhs] = [&by_seed, &by_rows].map(|key| key.bootstrap(&input, &table).expect("ours"));
            assert_eq!(lhs, rhs, "{name} {choice}");
            assert_eq!(client.decrypt(&encoding, &lhs).expect("ours"), 2);
        }
    }
}

/// Decrypts by nothing but the documented bytes of the secret keys and of a ciphertext.
#[test]
fn layout_of_secret_keys() {
    for name in SETS {
        let client = ClientKey::generate(&set(name), &seed(30));
        let bytes = client.to_secret_key_bytes();
        let (_, mut fields) = open(&bytes, serial::SECRET_KEY, 1..=1, 1 << 20).expect("sealed");
        let spec = body(&client.parameters().to_bytes()).to_vec();
        assert_eq!(fields.bytes(spec.len()).expect("parameter set"), spec);
        assert_eq!(fields.u64().expect("tag"), client.tag().0);
        let p = client.parameters();
        let mut bits = |count: usize| {
            let packed = fields.bytes(count.div_ceil(8)).expect("bits");
            (0..count).map(|i| u64::from(packed[i / 8] >> (i % 8) & 1)).collect::<Vec<_>>()
        };
        let (small, big) = (bits(p.lwe_dimension.0), bits(p.big_lwe_dimension().0));
        fields.finish().expect("nothing more");
        let encoding = Encoding::unsigned(3, true).expect("few bits");
        let mut rng = Csprng::from_secret(&seed(31), 0);
        for (choice, key) in [(KeyOrder::Small, &small), (KeyOrder::Big, &big)] {
            let ciphertext = client.encrypt(&encoding, 6, choice, &mut rng).expect("in range");
            let words: Vec<u64> = match ciphertext.elements() {
                LweElements::U32(c) => c.elements().iter().map(|&x| u64::from(x) << 32).collect(),
                LweElements::U64(c) => c.elements().to_vec(),
            };
            assert_eq!(words.len(), key.len() + 1);
            let (mask, b) = words.split_at(key.len());
            let phase = mask.iter().zip(key).fold(b[0], |phase, (a, s)| phase.wrapping_sub(a.wrapping_mul(*s)));
            assert_eq!(phase, client.decrypt_phase(&ciphertext).expect("ours"), "{name} {choice}");
        }
        let again = ClientKey::from_secret_key_bytes(&bytes, INSECURE).expect("own bytes");
        assert_eq!((again.tag(), again.parameters()), (client.tag(), client.parameters()));
        assert_eq!(*again.to_secret_key_bytes(), *bytes);
        let ciphertext = client.encrypt(&encoding, 2, KeyOrder::Big, &mut rng).expect("in range");
        assert_eq!(again.decrypt(&encoding, &ciphertext).expect("ours"), 2);
    }
}

/// Keys whose every bit differs print the same text: so no bit of them is in it.
#[test]
fn secrets_do_not_print() {
    for name in SETS {
        let clients = (40..44).map(|byte| ClientKey::generate(&set(name), &seed(byte)));
        let texts: HashSet<_> = clients
            .map(|client| {
                let tag = format!("{:?}", client.tag());
                let whole = format!("{client:?}");
                assert!(whole.contains(&tag) && !format!("{:#?}", client.lwe_secret_key()).contains('['));
                let (lwe, glwe) = (client.lwe_secret_key(), client.glwe_secret_key());
                [whole.replace(&tag, ""), format!("{lwe:?}"), format!("{glwe:?}")].join("\n")
            })
            .collect();
        assert_eq!(texts.len(), 1, "{texts:?}");
        let text = texts.into_iter().next().unwrap_or_default();
        assert!(text.contains("LweSecretKey(dimension 96)") && text.contains("GlweSecretKey(k "), "{text}");
    }
}

/// A later version of any body, and of the envelope, is refused by name.
#[test]
fn other_versions_are_refused() {
    type Reader = fn(&[u8]) -> Result<(), TfheError>;
    let keys = keys(TEST_SMALL_U32, KeyForm::Seeded, 50);
    let (client, p) = (&keys.client, keys.client.parameters());
    let encoding = Encoding::unsigned(1, true).expect("few bits");
    let ciphertext = p.trivial(&encoding, 1, KeyOrder::Small, client.tag()).expect("in range");
    let table = p.test_vector(&encoding, &encoding, |m| m).expect("a table");
    let shape = GgswShape {
        glwe_dimension: GlweDimension(1),
        polynomial_size: PolynomialSize::new(16).expect("a power of two"),
        decomposition: Decomposition::new(8, 1),
    };
    let ggsw = GgswCiphertext::<u32>::from_coefficients(vec![0; 64], shape).expect("two rows");
    let objects: [(Vec<u8>, Reader); 7] = [
        (p.to_bytes(), |b| ParameterSet::from_bytes(b, INSECURE).map(drop)),
        (ciphertext.to_bytes(), |b| Ciphertext::from_bytes(b).map(drop)),
        (table.to_bytes(), |b| TestVector::from_bytes(b).map(drop)),
        (ggsw.to_bytes(), |b| GgswCiphertext::<u32>::from_bytes(b).map(drop)),
        (keys.bootstrap.clone(), |b| validate_key(KeyKind::Bootstrap, b, INSECURE).map(drop)),
        (keys.keyswitch.clone(), |b| validate_key(KeyKind::Keyswitch, b, INSECURE).map(drop)),
        (client.to_secret_key_bytes().to_vec(), |b| ClientKey::from_secret_key_bytes(b, INSECURE).map(drop)),
    ];
    for (bytes, read) in objects {
        read(&bytes).expect("own bytes");
        let kind = ciphermill_wire::Header::decode(&bytes).expect("sealed").kind;
        // Ciphertexts and test vectors have a second version, bodies with a parameter set a third; no other object became
        // unreadable by them.
        let labelled = [serial::CIPHERTEXT, serial::GLWE];
        let with_set = [serial::PARAMETER_SET, serial::BOOTSTRAP_KEY, serial::KEYSWITCH_KEY, serial::SECRET_KEY];
        let newest = match (labelled.contains(&kind), with_set.contains(&kind)) {
            (true, _) => 2,
            (_, true) => 3,
            _ => 1,
        };
        for version in [0, newest + 1, u16::MAX] {
            let error = read(&seal(kind, version, body(&bytes))).expect_err("another version");
            let TfheError::Wire(WireError::UnsupportedVersion { given, min: 1, max }) = error else {
                panic!("{kind}: {error}")
            };
            assert_eq!((given, max), (version, newest));
            assert!(error.to_string().contains(&format!("version {version} is unsupported, versions 1 to {newest}")));
        }
        let mut envelope = bytes.clone();
        envelope[4] = 2;
        let error = read(&envelope).expect_err("another envelope");
        assert!(
            matches!(error, TfheError::Wire(WireError::UnknownEnvelopeVersion { given: 2, supported: 1 })),
            "{error}"
        );
    }
}
