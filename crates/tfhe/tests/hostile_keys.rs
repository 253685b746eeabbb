//! Truncated, oversized, flipped, forged and mixed-up server keys.

mod support;

use ciphermill_lattice::{NoiseDistribution, PolynomialSize};
use ciphermill_tfhe::dimension::{Decomposition, GlweDimension, LweDimension};
use ciphermill_tfhe::parameters::{TEST_SMALL_U32, TEST_SMALL_U64};
use ciphermill_tfhe::server_key::{KeyHeader, MAX_KEY_LEN, validate_key};
use ciphermill_tfhe::{
    Backend, ClientKey, Encoding, KeyForm, KeyKind, KeyOrder, ParameterError, ParameterSet, ParameterSpec,
    SecurityPolicy, ServerKey, TfheError,
};
use ciphermill_wire::{Header, WireError};
use support::hostile::{assert_names, body, resealed};
use support::{INSECURE, Keys, keys, seed, server_seeds};

const KINDS: [KeyKind; 2] = [KeyKind::Bootstrap, KeyKind::Keyswitch];

fn load(bootstrap: &[u8], keyswitch: &[u8]) -> Result<ServerKey, TfheError> {
    ServerKey::load(bootstrap, keyswitch, Backend::Fft, INSECURE, &mut |_, _| ())
}

fn part(keys: &Keys, kind: KeyKind) -> &[u8] {
    match kind {
        KeyKind::Bootstrap => &keys.bootstrap,
        KeyKind::Keyswitch => &keys.keyswitch,
        KeyKind::Conversion => unreachable!("`words.rs` has its cases"),
    }
}

/// The verdict of every reader of a key on `bytes` in place of that part: the judge without loading, and the loader.
fn refusals(keys: &Keys, kind: KeyKind, bytes: &[u8]) -> [TfheError; 2] {
    let loaded = match kind {
        KeyKind::Bootstrap => load(bytes, &keys.keyswitch),
        KeyKind::Keyswitch => load(&keys.bootstrap, bytes),
        KeyKind::Conversion => unreachable!("`words.rs` has its cases"),
    };
    [validate_key(kind, bytes, INSECURE).expect_err("hostile"), loaded.expect_err("hostile")]
}

/// Bytes before the key's elements: envelope, header length, header.
fn head_len(bytes: &[u8]) -> usize {
    28 + u32::from_le_bytes(bytes[24..28].try_into().expect("four bytes")) as usize
}

fn sets() -> [Keys; 2] {
    [keys(TEST_SMALL_U64, KeyForm::Seeded, 60), keys(TEST_SMALL_U32, KeyForm::Full, 61)]
}

#[test]
fn truncations() {
    for keys in sets() {
        for kind in KINDS {
            let bytes = part(&keys, kind);
            let (head, len) = (head_len(bytes), bytes.len());
            let within = (1..8).map(|i| head + (len - head) * i / 8 + i);
            // Some cuts of the head too: small objects, of which every cut is tried, share its code.
            for cut in (0..head + 4).step_by(7).chain(within).chain([len - 5, len - 4, len - 1]) {
                let errors = refusals(&keys, kind, &bytes[..cut]);
                for error in errors {
                    let TfheError::Wire(WireError::Truncated { needed, available }) = error else {
                        panic!("{kind:?} cut to {cut}: {error}")
                    };
                    assert!(available < needed && available <= cut as u64, "{kind:?} {cut}: {available} of {needed}");
                    assert_names(&error, &[&format!("{needed} bytes needed"), &format!("{available} available")]);
                }
            }
        }
    }
}

#[test]
fn bit_flips() {
    for keys in sets() {
        for kind in KINDS {
            let bytes = part(&keys, kind).to_vec();
            let head = head_len(&bytes);
            // Every byte of the envelope's header, and some of the rest.
            let within = (0..6).map(|i| head + (bytes.len() - head - 5) * i / 5);
            for at in (0..24).chain((24..head).step_by(6)).chain(within).chain([bytes.len() - 4, bytes.len() - 1]) {
                let mut flipped = bytes.clone();
                flipped[at] ^= 1 << (at % 8);
                for error in refusals(&keys, kind, &flipped) {
                    match (at, &error) {
                        (0..4, TfheError::Wire(WireError::BadMagic { .. }))
                        | (4..6, TfheError::Wire(WireError::UnknownEnvelopeVersion { .. }))
                        | (6..24, TfheError::Wire(WireError::HeaderChecksum { .. })) => {}
                        // Before the checksum is reached, the head may already say something impossible.
                        (24.., _) if at < head => assert!(!matches!(error, TfheError::Io(_)), "{error}"),
                        (_, TfheError::Wire(WireError::BodyChecksum { stored, computed })) => {
                            assert_names(&error, &[&format!("{stored:#010x}"), &format!("{computed:#010x}")]);
                        }
                        _ => panic!("{kind:?}, byte {at}: {error}"),
                    }
                }
            }
        }
    }
}

#[test]
fn bytes_too_many() {
    for keys in sets() {
        for kind in KINDS {
            let mut longer = part(&keys, kind).to_vec();
            longer.extend([0; 5]);
            for error in refusals(&keys, kind, &longer) {
                assert!(matches!(error, TfheError::Wire(WireError::TrailingBytes { given: 5 })), "{error}");
                assert_names(&error, &["5 bytes follow", "0 expected"]);
            }
            let expected = part(&keys, kind).len() - head_len(part(&keys, kind)) - 4;
            for change in [4i64, -4] {
                let bytes = resealed(part(&keys, kind), |body| {
                    body.resize((body.len() as i64 + change) as usize, 0);
                });
                for error in refusals(&keys, kind, &bytes) {
                    let TfheError::Mismatch { what, given, expected: needed } = error else { panic!("{error}") };
                    assert_eq!(what, "size of the key's elements in bytes");
                    assert_eq!((given as i64, needed), (expected as i64 + change, expected as u64));
                    assert_names(&error, &[&format!("is {given} where {needed}")]);
                }
            }
        }
    }
}

#[test]
fn other_kinds() {
    let [keys, _] = sets();
    let errors = [
        validate_key(KeyKind::Bootstrap, &keys.keyswitch[..], INSECURE).expect_err("a key-switching key"),
        load(&keys.keyswitch, &keys.keyswitch).expect_err("two key-switching keys"),
    ];
    for error in errors {
        let wrong = matches!(error, TfheError::Wire(WireError::WrongKind { given: 0x0206, expected: 0x0205 }));
        assert!(wrong, "{error}");
        assert_names(&error, &["0x0206", "0x0205"]);
    }
    // A secret key, above all, is not a server key.
    let secrets = keys.client.to_secret_key_bytes();
    let error = validate_key(KeyKind::Keyswitch, &secrets[..], INSECURE).expect_err("secrets");
    assert!(matches!(error, TfheError::Wire(WireError::WrongKind { given: 0x0207, expected: 0x0206 })), "{error}");
}

/// One field of the header is forged, and all checksums with it.
#[test]
fn forged_headers() {
    let [keys, _] = sets();
    let name = 1 + TEST_SMALL_U64.len();
    // Offsets within the body: the header's length, then the parameter set, tag, form and seed.
    let (n, k, size, noise) = (5 + name, 9 + name, 13 + name, 18 + name);
    let form = body(&keys.bootstrap).len().min(head_len(&keys.bootstrap) - 24 - 33);
    let cases: [(usize, &[u8], &[&str]); 14] = [
        (0, &[0; 4], &["length of the key's header", "is 0", "1 to 512"]),
        (0, &[1, 2, 0, 0], &["length of the key's header", "is 513", "1 to 512"]),
        (0, &[255; 4], &["length of the key's header", "is 4294967295", "1 to 512"]),
        (4, &[0], &["length of the parameter set's name", "is 0", "1 to 64"]),
        (n, &[0; 4], &["LWE dimension n", "is 0", "16 to 4096"]),
        (n, &[255; 4], &["LWE dimension n", "is 4294967295", "16 to 4096"]),
        (k, &[200, 0, 0, 0], &["GLWE dimension k", "is 200", "1 to 8"]),
        (size, &[0xE8, 3, 0, 0], &["polynomial size (a power of two)", "is 1000", "16 to 65536"]),
        (size, &[0, 0, 0, 0x40], &["polynomial size (a power of two)", "is 1073741824", "16 to 65536"]),
        (noise, &f64::NAN.to_le_bytes(), &["noise of the small key", "NaN"]),
        (noise + 9, &f64::INFINITY.to_le_bytes(), &["noise of the GLWE key", "inf"]),
        (noise + 17, &[33], &["log2 of the bootstrapping base", "is 33", "1 to 32"]),
        (noise + 18, &[255], &["bits of the bootstrapping gadget", "is 2295", "1 to 63"]),
        (form, &[2], &["form of the key", "is 2", "0 to 1"]),
    ];
    for kind in KINDS {
        for (at, bytes, parts) in cases {
            let forged = resealed(part(&keys, kind), |body| body[at..at + bytes.len()].copy_from_slice(bytes));
            for error in refusals(&keys, kind, &forged) {
                assert!(matches!(error, TfheError::Field { .. } | TfheError::Parameters(_)), "{error}");
                assert_names(&error, parts);
            }
        }
        // A header longer or shorter than its fields.
        let len = head_len(part(&keys, kind)) as u32 - 28;
        for (claimed, trailing) in [(len + 1, true), (len - 1, false)] {
            let forged = resealed(part(&keys, kind), |body| body[..4].copy_from_slice(&claimed.to_le_bytes()));
            for error in refusals(&keys, kind, &forged) {
                match error {
                    TfheError::Wire(WireError::TrailingBytes { given: 1 }) if trailing => {}
                    TfheError::Wire(WireError::Truncated { needed: 32, available: 31 }) if !trailing => {}
                    other => panic!("header of {claimed} bytes: {other}"),
                }
            }
        }
        // Larger numbers that are admissible, with the elements of the smaller.
        let forged = resealed(part(&keys, kind), |body| body[n..n + 4].copy_from_slice(&4096u32.to_le_bytes()));
        match kind {
            KeyKind::Bootstrap => {
                let [error, _] = refusals(&keys, kind, &forged);
                let expected = 4096 * 2 * 5 * 1024 * 8;
                assert!(matches!(error, TfheError::Mismatch { expected: e, .. } if e == expected), "{error}");
            }
            // A seeded key-switching key has the same size for every n: what gives it away is the other key.
            KeyKind::Keyswitch => {
                let error = load(&keys.bootstrap, &forged).expect_err("n differs");
                assert!(matches!(error, TfheError::Mismatch { given: 96, expected: 4096, .. }), "{error}");
            }
            KeyKind::Conversion => unreachable!("`words.rs` has its cases"),
        }
    }
}

/// The largest parameter set whose key-switching key is small when it is seeded.
fn gigantic() -> ParameterSpec {
    ParameterSpec {
        lwe_dimension: LweDimension(16),
        glwe_dimension: GlweDimension(2),
        polynomial_size: PolynomialSize::new(65536).expect("a power of two"),
        lwe_noise: NoiseDistribution::Gaussian { std_dev: 1e-6 },
        pbs: Decomposition::new(1, 63),
        ks: Decomposition::new(1, 1),
        ..ParameterSet::named(TEST_SMALL_U64, INSECURE).expect("a named set").spec().clone()
    }
}

/// The envelope and the header of a key of any size, without its elements. `body_len` counts the header too.
fn head(kind: KeyKind, spec: &ParameterSpec, form: KeyForm, tag: u64, body_len: impl FnOnce(u64) -> u64) -> Vec<u8> {
    let parameters = ParameterSet::new(spec.clone(), INSECURE).expect("admissible");
    let mut header = body(&parameters.to_bytes()).to_vec();
    header.extend(tag.to_le_bytes());
    header.push(u8::from(form == KeyForm::Full));
    header.extend([9; 32]);
    let body_len = body_len(4 + header.len() as u64);
    let mut bytes = Header { kind: kind.wire_kind(), version: 1, body_len }.encode().to_vec();
    bytes.extend((header.len() as u32).to_le_bytes());
    bytes.extend(header);
    bytes
}

/// Peak of this process's memory in bytes.
#[cfg(target_os = "linux")]
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("this process's status");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("the peak");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") * 1024
}

/// Keys that claim gigabytes and end after their header cost no memory.
#[test]
#[cfg(target_os = "linux")]
fn claims_of_gigabytes_cost_nothing() {
    let spec = gigantic();
    let client = ClientKey::generate(&ParameterSet::new(spec.clone(), INSECURE).expect("admissible"), &seed(70));
    let keyswitch = client.write_keyswitch_key(KeyForm::Seeded, server_seeds(71), Vec::new()).expect("in memory");
    let before = peak();
    let truncated = |error: TfheError| {
        // A machine without address space for the key says that instead.
        let expected = matches!(error, TfheError::Wire(WireError::Truncated { .. }) | TfheError::Memory { .. });
        assert!(expected, "{error}");
        assert!(error.to_string().contains("needs") || error.to_string().contains("needed"));
    };
    for form in [KeyForm::Full, KeyForm::Seeded] {
        // 16·9·63 or 16·3·63 polynomials of 65,536 words of 8 bytes: 4.8 or 1.6 GB.
        let elements = 16 * 63 * 65536 * 8 * if form == KeyForm::Full { 9 } else { 3 };
        let claim = head(KeyKind::Bootstrap, &spec, form, client.tag().0, |len| len + elements);
        truncated(load(&claim, &keyswitch).expect_err("no elements"));
        truncated(validate_key(KeyKind::Bootstrap, &claim[..], INSECURE).expect_err("no elements"));
    }
    // 131,072·32·4096 words of 4 bytes: 64 GiB, as much as a key may have.
    let mut wide = ParameterSpec { lwe_dimension: LweDimension(4095), ks: Decomposition::new(1, 31), ..spec };
    let elements = 131_072 * 31 * 4096 * 4;
    truncated(
        load(&[], &head(KeyKind::Keyswitch, &wide, KeyForm::Full, 1, |len| len + elements)).expect_err("no elements"),
    );
    let taken = peak() - before;
    assert!(taken < 200 << 20, "{} MiB", taken >> 20);
    // More than that is refused by the envelope, before the parameter set is looked at.
    wide.ks = Decomposition::new(1, 32);
    let claim = head(KeyKind::Keyswitch, &wide, KeyForm::Full, 1, |len| len + 131_072 * 32 * 4096 * 4);
    let error = load(&[], &claim).expect_err("too large");
    assert!(matches!(error, TfheError::Wire(WireError::TooLarge { limit: MAX_KEY_LEN, .. })), "{error}");
    assert_names(&error, &[&MAX_KEY_LEN.to_string()]);
    // And a size that the parameter set does not imply, before anything is read.
    for wrong in [0, 1 << 20, MAX_KEY_LEN - 1000] {
        let claim = head(KeyKind::Keyswitch, &wide, KeyForm::Full, 1, |len| len + wrong);
        let error = load(&[], &claim).expect_err("another size");
        assert!(matches!(error, TfheError::Mismatch { given, .. } if given == wrong), "{error}");
        assert_names(&error, &[&wrong.to_string(), &(131_072u64 * 32 * 4096 * 4).to_string()]);
    }
}

#[test]
fn parts_of_two_key_sets() {
    let [one, other] = [80, 90].map(|byte| keys(TEST_SMALL_U64, KeyForm::Seeded, byte));
    let error = load(&one.bootstrap, &other.keyswitch).expect_err("two key sets");
    let (given, expected) = (one.client.tag(), other.client.tag());
    assert!(matches!(error, TfheError::KeySet { given: g, expected: e, .. } if (g, e) == (given, expected)), "{error}");
    assert_names(&error, &["key tag of the bootstrapping key", &given.to_string(), &expected.to_string()]);
}

/// Keys of one tag, which is public, over two parameter sets.
#[test]
fn parts_of_two_parameter_sets() {
    let base = keys(TEST_SMALL_U64, KeyForm::Seeded, 80);
    let spec = base.client.parameters().spec();
    let with = |change: &dyn Fn(&mut ParameterSpec)| {
        let mut changed = spec.clone();
        change(&mut changed);
        let parameters = ParameterSet::new(changed, INSECURE).expect("admissible");
        // The tag follows from the seed.
        let client = ClientKey::generate(&parameters, &seed(80));
        assert_eq!(client.tag(), base.client.tag());
        client.write_keyswitch_key(KeyForm::Seeded, server_seeds(82), Vec::new()).expect("in memory")
    };
    let cases: [(Vec<u8>, u64, u64, &str); 5] = [
        (with(&|s| s.lwe_dimension = LweDimension(100)), 96, 100, "LWE dimension n"),
        (with(&|s| s.glwe_dimension = GlweDimension(2)), 1, 2, "GLWE dimension k"),
        (with(&|s| s.polynomial_size = PolynomialSize::new(512).expect("2^9")), 1024, 512, "polynomial size N"),
        (with(&|s| s.lwe_noise = NoiseDistribution::Gaussian { std_dev: 1e-5 }), 1, 0, "noises"),
        (with(&|s| (s.ks, s.name) = (Decomposition::new(4, 5), "mine".to_owned())), 2, 0, "gadgets"),
    ];
    for (keyswitch, given, expected, part) in cases {
        let error = load(&base.bootstrap, &keyswitch).expect_err("two parameter sets");
        assert!(
            matches!(error, TfheError::Mismatch { given: g, expected: e, .. } if (g, e) == (given, expected)),
            "{error}"
        );
        assert_names(&error, &[part, &format!("is {given} where {expected} is needed")]);
    }
}

#[test]
fn insecure_sets_need_the_opt_in() {
    let strict = SecurityPolicy::Require128Bits;
    for keys in sets() {
        let name = &keys.client.parameters().name;
        let mut errors = vec![
            ServerKey::load(&keys.bootstrap[..], &keys.keyswitch[..], Backend::Fft, strict, &mut |_, _| ())
                .expect_err("load"),
        ];
        for kind in KINDS {
            errors.push(validate_key(kind, part(&keys, kind), strict).expect_err("validate"));
            errors.push(KeyHeader::open(kind, part(&keys, kind), strict).expect_err("open"));
        }
        for error in errors {
            assert!(matches!(error, TfheError::Parameters(ParameterError::Insecure { .. })), "{error}");
            assert_names(&error, &[name, "128"]);
        }
    }
}

/// After all these refusals a key still loads, so no case refuses everything.
#[test]
fn sound_keys_load() {
    for keys in sets() {
        let server = load(&keys.bootstrap, &keys.keyswitch).expect("sound");
        let encoding = Encoding::unsigned(2, true).expect("few bits");
        let table = keys.client.parameters().test_vector(&encoding, &encoding, |m| 3 - m).expect("a table");
        let mut rng = ciphermill_lattice::Csprng::from_secret(&seed(63), 0);
        let input = keys.client.encrypt(&encoding, 1, KeyOrder::Big, &mut rng).expect("in range");
        let output = server.bootstrap(&input, &table).expect("ours");
        assert_eq!(keys.client.decrypt(&encoding, &output).expect("ours"), 2);
    }
}
