//! Truncated, oversized, flipped and forged bytes of everything small: parameter sets, ciphertexts, test vectors, GGSW
//! ciphertexts, secret keys. Server keys are in `hostile_keys.rs`.

use crate::support::hostile::{assert_names, body, resealed};
use crate::support::{INSECURE, seed};
use ciphermill_lattice::{NoiseDistribution, PolynomialSize};
use ciphermill_tfhe::ciphertext::LweElements;
use ciphermill_tfhe::dimension::{Decomposition, GlweDimension, LweDimension};
use ciphermill_tfhe::ggsw::{GgswCiphertext, GgswShape};
use ciphermill_tfhe::glwe::GlweCiphertext;
use ciphermill_tfhe::lwe::LweCiphertext;
use ciphermill_tfhe::parameters::{NVME_TFHE_PAPER, TEST_SMALL_U32, TEST_SMALL_U64};
use ciphermill_tfhe::{
    Bounds, Ciphertext, ClientKey, Encoding, KeyOrder, KeyTag, MessageRange, ModulusSwitch, ParameterError,
    ParameterSet, ParameterSpec, SecurityPolicy, TableEncodings, TestVector, TestVectorElements, TfheError, TorusWidth,
};
use ciphermill_wire::{Header, Kind, WireError, seal};

type Reader = fn(&[u8]) -> Result<(), TfheError>;

fn size(n: usize) -> PolynomialSize {
    PolynomialSize::new(n).expect("a power of two")
}

/// A parameter set as small as they come, so that every byte of its objects can be tried.
fn tiny() -> ParameterSpec {
    ParameterSpec {
        name: "tiny".to_owned(),
        torus: TorusWidth::U32,
        lwe_dimension: LweDimension(19),
        glwe_dimension: GlweDimension(1),
        polynomial_size: size(16),
        lwe_noise: NoiseDistribution::Gaussian { std_dev: 1e-6 },
        glwe_noise: NoiseDistribution::TUniform { bound_log2: 3 },
        pbs: Decomposition::new(8, 2),
        ks: Decomposition::new(4, 4),
        message_bits: 1,
        max_norm2: 1.0,
        modulus_switch: ModulusSwitch::Plain,
        word: None,
    }
}

fn tiny_client() -> ClientKey {
    ClientKey::generate(&ParameterSet::new(tiny(), INSECURE).expect("admissible"), &seed(1))
}

fn ciphertext() -> Vec<u8> {
    let elements = LweCiphertext::from_elements((0..20u32).collect());
    Ciphertext::new(KeyTag(7), KeyOrder::Small, LweElements::U32(elements)).to_bytes()
}

fn wide_ciphertext() -> Vec<u8> {
    let elements = LweCiphertext::from_elements((0..17u64).collect());
    Ciphertext::new(KeyTag(7), KeyOrder::Big, LweElements::U64(elements)).to_bytes()
}

/// The first version of the body, which states no bounds.
fn first_ciphertext() -> Vec<u8> {
    let elements = LweCiphertext::from_elements((0..20u32).collect());
    Ciphertext::new(KeyTag(7), KeyOrder::Small, LweElements::U32(elements)).with_bounds(Bounds::UNSTATED).to_bytes()
}

/// Ranges and padding of both kinds, so that every field has a value.
fn labelled_table() -> Vec<u8> {
    let elements = GlweCiphertext::<u64>::from_coefficients((0..32).collect(), size(16)).expect("two polynomials");
    let input = Encoding::new(-2, 5, true).expect("contains zero");
    let output = Encoding::new(-7, 9, false).expect("contains zero");
    TestVector::new(TestVectorElements::U64(elements), Some(TableEncodings { input, output })).to_bytes()
}

fn labelled_ciphertext() -> Vec<u8> {
    let elements = LweCiphertext::from_elements((0..20u32).collect());
    let range = MessageRange::new(22, -5, 11).expect("few messages");
    let bounds = Bounds::new(Some(range), 1e-9).expect("a variance");
    Ciphertext::new(KeyTag(7), KeyOrder::Small, LweElements::U32(elements)).with_bounds(bounds).to_bytes()
}

fn glwe() -> Vec<u8> {
    GlweCiphertext::<u32>::from_coefficients((0..32).collect(), size(16)).expect("two polynomials").to_bytes()
}

fn ggsw() -> Vec<u8> {
    let shape = GgswShape {
        glwe_dimension: GlweDimension(1),
        polynomial_size: size(16),
        decomposition: Decomposition::new(8, 2),
    };
    GgswCiphertext::<u64>::from_coefficients((0..128).collect(), shape).expect("four rows").to_bytes()
}

fn read_parameters(bytes: &[u8]) -> Result<(), TfheError> {
    ParameterSet::from_bytes(bytes, INSECURE).map(drop)
}

fn read_ciphertext(bytes: &[u8]) -> Result<(), TfheError> {
    Ciphertext::from_bytes(bytes).map(drop)
}

fn read_table(bytes: &[u8]) -> Result<(), TfheError> {
    TestVector::from_bytes(bytes).map(drop)
}

fn read_ggsw(bytes: &[u8]) -> Result<(), TfheError> {
    GgswCiphertext::<u64>::from_bytes(bytes).map(drop)
}

fn read_secrets(bytes: &[u8]) -> Result<(), TfheError> {
    ClientKey::from_secret_key_bytes(bytes, INSECURE).map(drop)
}

fn objects() -> Vec<(&'static str, Vec<u8>, Reader)> {
    let client = tiny_client();
    vec![
        ("parameter set", client.parameters().to_bytes(), read_parameters),
        ("ciphertext", ciphertext(), read_ciphertext),
        ("wide ciphertext", wide_ciphertext(), read_ciphertext),
        ("first ciphertext", first_ciphertext(), read_ciphertext),
        ("labelled ciphertext", labelled_ciphertext(), read_ciphertext),
        ("test vector", glwe(), read_table),
        ("labelled test vector", labelled_table(), read_table),
        ("GGSW ciphertext", ggsw(), read_ggsw),
        ("secret keys", client.to_secret_key_bytes().to_vec(), read_secrets),
    ]
}

#[test]
fn every_truncation_names_what_is_missing() {
    for (name, bytes, read) in objects() {
        read(&bytes).expect(name);
        for len in 0..bytes.len() {
            let error = read(&bytes[..len]).expect_err(name);
            let TfheError::Wire(WireError::Truncated { needed, available }) = error else {
                panic!("{name} cut to {len}: {error}")
            };
            assert_eq!(available, len as u64, "{name}");
            assert_eq!(needed, if len < 24 { 24 } else { bytes.len() as u64 }, "{name}");
            assert_names(&error, &[&format!("{needed} bytes needed"), &format!("{len} available")]);
        }
    }
}

#[test]
fn every_bit_flip_is_refused() {
    for (name, bytes, read) in objects() {
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            let error = read(&flipped).expect_err(name);
            match (bit / 8, &error) {
                (0..4, TfheError::Wire(WireError::BadMagic { .. }))
                | (4..6, TfheError::Wire(WireError::UnknownEnvelopeVersion { .. }))
                | (6..24, TfheError::Wire(WireError::HeaderChecksum { .. }))
                | (24.., TfheError::Wire(WireError::BodyChecksum { .. })) => {}
                (byte, other) => panic!("{name}, bit {} of byte {byte}: {other}", bit % 8),
            }
        }
    }
}

/// With the checksum of the flipped body, only the body can be wrong: it is refused, or it is another object
/// that has exactly these bytes.
#[test]
fn every_forged_bit_is_refused_or_read_as_it_stands() {
    let mut refused = 0;
    for (name, bytes, _) in objects() {
        let again: fn(&[u8]) -> Result<Vec<u8>, TfheError> = match name {
            "parameter set" => |b| ParameterSet::from_bytes(b, INSECURE).map(|p| p.to_bytes()),
            "ciphertext" | "wide ciphertext" | "first ciphertext" | "labelled ciphertext" => {
                |b| Ciphertext::from_bytes(b).map(|c| c.to_bytes())
            }
            "test vector" | "labelled test vector" => |b| TestVector::from_bytes(b).map(|v| v.to_bytes()),
            "GGSW ciphertext" => |b| GgswCiphertext::<u64>::from_bytes(b).map(|g| g.to_bytes()),
            _ => |b| ClientKey::from_secret_key_bytes(b, INSECURE).map(|k| k.to_secret_key_bytes().to_vec()),
        };
        for bit in 0..body(&bytes).len() * 8 {
            let forged = resealed(&bytes, |body| body[bit / 8] ^= 1 << (bit % 8));
            match again(&forged) {
                Ok(bytes) => assert!(bytes == forged, "{name}, body bit {bit}"),
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    refused += 1;
                }
            }
        }
    }
    assert!(refused > 500, "{refused}");
}

#[test]
fn bytes_too_many_are_counted() {
    for (name, mut bytes, read) in objects() {
        // Behind the object.
        bytes.extend([0; 3]);
        let error = read(&bytes).expect_err(name);
        assert!(matches!(error, TfheError::Wire(WireError::TrailingBytes { given: 3 })), "{name}: {error}");
        assert_names(&error, &["3 bytes follow", "0 expected"]);
        bytes.truncate(bytes.len() - 3);
        // Within the body, whose checksum is right.
        let error = read(&resealed(&bytes, |body| body.extend([0; 2]))).expect_err(name);
        match error {
            TfheError::Wire(WireError::TrailingBytes { given: 2 }) => {}
            TfheError::Mismatch { what: "bytes of the elements", given, expected } => {
                assert_eq!(given, expected + 2);
                assert_names(&error, &[&format!("{given} where {expected}")]);
            }
            other => panic!("{name}: {other}"),
        }
    }
}

#[test]
fn lengths_beyond_the_limit_are_refused_by_the_header_alone() {
    for (name, bytes, read) in objects() {
        let Header { kind, version, .. } = Header::decode(&bytes).expect("sealed");
        for body_len in [(1 << 30) + 1, u64::MAX - 28, u64::MAX] {
            let header = Header { kind, version, body_len }.encode();
            let error = read(&header).expect_err(name);
            let TfheError::Wire(WireError::TooLarge { given, limit }) = error else { panic!("{name}: {error}") };
            assert!(given == body_len && limit <= 1 << 30, "{name}: {limit}");
            assert_names(&error, &[&format!("{given} bytes"), &format!("limit is {limit}")]);
        }
    }
}

#[test]
fn other_kinds_are_refused() {
    let objects = objects();
    for (name, _, read) in &objects {
        let mut others = 0;
        for (_, bytes, reads) in &objects {
            if std::ptr::fn_addr_eq(*read, *reads) {
                continue;
            }
            let error = read(bytes).expect_err(name);
            let TfheError::Wire(WireError::WrongKind { given, expected }) = error else { panic!("{name}: {error}") };
            assert_ne!(given, expected);
            assert_names(&error, &[&format!("{given:#06x}"), &format!("{expected:#06x}")]);
            others += 1;
        }
        assert!(others >= 4);
        let unknown = read(&seal(Kind(0x02ff), 1, &[0; 8])).expect_err(name);
        assert!(matches!(unknown, TfheError::Wire(WireError::WrongKind { given: 0x02ff, .. })));
    }
}

/// One forged field of a body: a ciphertext's, a table's or a GGSW's.
struct Forgery {
    what: &'static str,
    at: usize,
    bytes: &'static [u8],
    given: u64,
    min: u64,
    max: u64,
}

const fn forgery(what: &'static str, at: usize, bytes: &'static [u8], given: u64, min: u64, max: u64) -> Forgery {
    Forgery { what, at, bytes, given, min, max }
}

fn check_forgeries(object: &[u8], read: Reader, forgeries: &[Forgery]) {
    for forgery in forgeries {
        let end = forgery.at + forgery.bytes.len();
        let forged = resealed(object, |body| body[forgery.at..end].copy_from_slice(forgery.bytes));
        let error = read(&forged).expect_err(forgery.what);
        let TfheError::Field { what, given, min, max } = error else { panic!("{}: {error}", forgery.what) };
        assert_eq!((what, given, min, max), (forgery.what, forgery.given, forgery.min, forgery.max));
        assert_names(&error, &[what, &format!("is {given}"), &format!("{min} to {max}")]);
    }
}

#[test]
fn forged_ciphertexts() {
    let forgeries = [
        forgery("key choice", 8, &[2], 2, 0, 1),
        forgery("key choice", 8, &[255], 255, 0, 1),
        forgery("torus width", 9, &[0], 0, 32, 64),
        forgery("torus width", 9, &[33], 33, 32, 64),
        forgery("reserved field", 10, &[1, 0], 1, 0, 0),
        forgery("reserved field", 10, &[0, 128], 32768, 0, 0),
        forgery("LWE dimension", 12, &[0; 4], 0, 1, 131_072),
        forgery("LWE dimension", 12, &[1, 0, 2, 0], 131_073, 1, 131_072),
        forgery("LWE dimension", 12, &[255; 4], u64::from(u32::MAX), 1, 131_072),
    ];
    check_forgeries(&ciphertext(), read_ciphertext, &forgeries);
    // The largest admissible dimension: half a megabyte is declared and not there, so none is allocated.
    let largest = resealed(&ciphertext(), |body| body[12..16].copy_from_slice(&131_072u32.to_le_bytes()));
    let error = read_ciphertext(&largest).expect_err("it holds 20 words");
    assert!(matches!(error, TfheError::Mismatch { given: 80, expected: 524_292, .. }), "{error}");
    // The same words, read with another width.
    let wide = resealed(&ciphertext(), |body| body[9] = 64);
    assert!(matches!(read_ciphertext(&wide), Err(TfheError::Mismatch { given: 80, expected: 160, .. })));
    // Too short for its own header.
    let error = read_ciphertext(&resealed(&ciphertext(), |body| body.truncate(15))).expect_err("no dimension");
    assert!(matches!(error, TfheError::Wire(WireError::Truncated { needed: 4, available: 3 })), "{error}");
}

#[test]
fn forged_tables() {
    let forgeries = [
        forgery("torus width", 0, &[16], 16, 32, 64),
        forgery("GLWE dimension", 1, &[0], 0, 1, 8),
        forgery("GLWE dimension", 1, &[9], 9, 1, 8),
        forgery("GLWE dimension", 1, &[200], 200, 1, 8),
        forgery("log2 of the polynomial size", 2, &[3], 3, 4, 17),
        forgery("log2 of the polynomial size", 2, &[18], 18, 4, 17),
        forgery("log2 of the polynomial size", 2, &[255], 255, 4, 17),
        forgery("reserved field", 3, &[1], 1, 0, 0),
        forgery("reserved field", 4, &[0, 0, 0, 1], 1 << 24, 0, 0),
    ];
    check_forgeries(&glwe(), read_table, &forgeries);
    let narrow: Reader = |bytes| GlweCiphertext::<u32>::from_bytes(bytes).map(drop);
    check_forgeries(&glwe(), narrow, &forgeries);
    let wide: Reader = |bytes| GlweCiphertext::<u64>::from_bytes(bytes).map(drop);
    assert!(matches!(wide(&glwe()), Err(TfheError::Mismatch { given: 32, expected: 64, .. })));
    // 9 polynomials of 2^17: 4.7 MB are declared, 128 bytes are present.
    let largest = resealed(&glwe(), |body| body[1..3].copy_from_slice(&[8, 17]));
    let error = read_table(&largest).expect_err("it holds 32 words");
    assert!(matches!(error, TfheError::Mismatch { given: 128, expected: 4_718_592, .. }), "{error}");
}

#[test]
fn forged_ggsw_ciphertexts() {
    let forgeries = [
        forgery("torus width", 0, &[65], 65, 32, 64),
        forgery("GLWE dimension", 1, &[0], 0, 1, 8),
        forgery("GLWE dimension", 1, &[200], 200, 1, 8),
        forgery("log2 of the polynomial size", 2, &[64], 64, 4, 17),
        forgery("reserved field", 3, &[255], 255, 0, 0),
        forgery("log2 of the base", 4, &[0], 0, 1, 32),
        forgery("log2 of the base", 4, &[33], 33, 1, 32),
        forgery("gadget bits", 5, &[0], 0, 1, 64),
        forgery("gadget bits", 5, &[9], 72, 1, 64),
        forgery("gadget bits", 5, &[255], 2040, 1, 64),
        forgery("reserved field", 6, &[0, 1], 256, 0, 0),
    ];
    check_forgeries(&ggsw(), read_ggsw, &forgeries);
    // 81·64 polynomials of 2^17 words: 5 GB are declared, 1 KB is present.
    let largest = resealed(&ggsw(), |body| body[1..6].copy_from_slice(&[8, 17, 0, 1, 64]));
    let error = read_ggsw(&largest).expect_err("it holds 128 words");
    assert!(matches!(error, TfheError::Mismatch { given: 1024, expected: 5_435_817_984, .. }), "{error}");
}

#[test]
fn forged_secret_keys() {
    let client = tiny_client();
    let bytes = client.to_secret_key_bytes();
    let spec_len = body(&client.parameters().to_bytes()).len();
    // n = 19: the upper five bits of the third byte are unused.
    let unused = resealed(&bytes, |body| body[spec_len + 8 + 2] |= 0x80);
    let error = read_secrets(&unused).expect_err("unused bits");
    let TfheError::Field { what: "unused bits of the secret key", given: 16.., max: 0, .. } = error else {
        panic!("{error}")
    };
    // One byte of key bits less than the parameter set asks for.
    let short = resealed(&bytes, |body| body.truncate(body.len() - 1));
    assert!(matches!(read_secrets(&short), Err(TfheError::Wire(WireError::Truncated { needed: 2, available: 1 }))));
    // Another parameter set in front of the same bits.
    let mut other = tiny();
    other.lwe_dimension = LweDimension(1000);
    let parameters = ParameterSet::new(other, INSECURE).expect("admissible").to_bytes();
    let forged = resealed(&bytes, |old| drop(old.splice(..spec_len, body(&parameters).iter().copied())));
    assert!(matches!(read_secrets(&forged), Err(TfheError::Wire(WireError::Truncated { needed: 125, .. }))));
}

/// Claims of a hostile parameter set, by name of the parameter that is judged.
#[test]
fn forged_parameter_sets() {
    let range = |change: fn(&mut ParameterSpec), parameter: &str, given: &str, limits: &str| {
        let mut spec = tiny();
        change(&mut spec);
        let error = ParameterSet::new(spec, INSECURE).expect_err(parameter);
        let ParameterError::Range { what, .. } = error else { panic!("{parameter}: {error}") };
        assert_eq!(what, parameter);
        assert_names(&error, &[parameter, given, limits]);
    };
    range(|s| s.lwe_dimension.0 = 0, "LWE dimension n", "is 0", "16 to 4096");
    range(|s| s.lwe_dimension.0 = 4097, "LWE dimension n", "is 4097", "16 to 4096");
    range(|s| s.lwe_dimension.0 = usize::MAX / 2, "LWE dimension n", "is 9223372036854776", "16 to 4096");
    range(|s| s.glwe_dimension.0 = 0, "GLWE dimension k", "is 0", "1 to 8");
    range(|s| s.glwe_dimension.0 = 200, "GLWE dimension k", "is 200", "1 to 8");
    range(|s| s.polynomial_size = size(1 << 17), "polynomial size N", "is 131072", "16 to 65536");
    range(|s| (s.glwe_dimension.0, s.polynomial_size) = (4, size(65536)), "k*N", "is 262144", "16 to 131072");
    range(|s| s.pbs = Decomposition::new(0, 1), "log2 of the bootstrapping base", "is 0", "1 to 32");
    range(|s| s.pbs = Decomposition::new(33, 1), "log2 of the bootstrapping base", "is 33", "1 to 32");
    let gadget = "bits of the bootstrapping gadget (base log times levels)";
    range(|s| s.pbs = Decomposition::new(9, 5), gadget, "is 45", "1 to 32");
    range(|s| s.pbs = Decomposition::new(9, 0), gadget, "is 0", "1 to 32");
    range(|s| (s.torus, s.pbs) = (TorusWidth::U64, Decomposition::new(32, 2)), gadget, "is 64", "1 to 63");
    range(|s| s.ks = Decomposition::new(17, 1), "log2 of the key-switching base", "is 17", "1 to 16");
    let gadget = "bits of the key-switching gadget (base log times levels)";
    range(|s| s.ks = Decomposition::new(3, 11), gadget, "is 33", "1 to 32");
    range(|s| s.message_bits = 0, "message bits", "is 0", "1 to 16");
    range(|s| s.message_bits = 17, "message bits", "is 17", "1 to 16");
    range(|s| s.max_norm2 = f64::NAN, "2-norm of linear combinations", "is NaN", "1 to 65536");
    range(|s| s.max_norm2 = f64::INFINITY, "2-norm of linear combinations", "is inf", "1 to 65536");
    range(|s| s.max_norm2 = -2.0, "2-norm of linear combinations", "is -2", "1 to 65536");
    let zero = |noise: &mut NoiseDistribution| *noise = NoiseDistribution::Gaussian { std_dev: 0.0 };
    let mut noiseless = tiny();
    zero(&mut noiseless.lwe_noise);
    let error = ParameterSet::new(noiseless, INSECURE).expect_err("no noise");
    assert!(matches!(error, ParameterError::Range { what: "log2 of the LWE noise", .. }), "{error}");

    for std_dev in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, -0.1, 7.0] {
        let mut spec = tiny();
        spec.glwe_noise = NoiseDistribution::Gaussian { std_dev };
        let error = ParameterSet::new(spec, INSECURE).expect_err("no noise");
        assert!(matches!(error, ParameterError::Noise { key: "GLWE", .. }), "{error}");
        assert_names(&error, &["GLWE", &std_dev.to_string(), "use 0 to"]);
    }
    let mut spec = tiny();
    spec.lwe_noise = NoiseDistribution::TUniform { bound_log2: 31 };
    let error = ParameterSet::new(spec, INSECURE).expect_err("bound");
    assert_names(&error, &["small", "2^31", "at most 2^30"]);

    for name in ["", "two words", "zéro", "nul\0", &"x".repeat(65)] {
        let error = ParameterSet::new(ParameterSpec { name: name.to_owned(), ..tiny() }, INSECURE).expect_err(name);
        assert_eq!(error, ParameterError::Name(name.len()));
        assert_names(&error, &["1 to 64", &format!("{} bytes", name.len())]);
    }
}

/// Fields that no `ParameterSpec` can hold, in bytes. The name takes five bytes, the torus one.
#[test]
fn forged_parameter_bytes() {
    let bytes = ParameterSet::new(tiny(), INSECURE).expect("admissible").to_bytes();
    let (n, size, noise) = (6, 14, 18);
    let forgeries = [
        forgery("length of the parameter set's name", 0, &[0], 0, 1, 64),
        forgery("length of the parameter set's name", 0, &[65], 65, 1, 64),
        forgery("torus width", 5, &[48], 48, 32, 64),
        forgery("polynomial size (a power of two)", size, &[0; 4], 0, 16, 65536),
        forgery("polynomial size (a power of two)", size, &[17, 0, 0, 0], 17, 16, 65536),
        forgery("polynomial size (a power of two)", size, &[8, 0, 0, 0], 8, 16, 65536),
        forgery("polynomial size (a power of two)", size, &[255; 4], u64::from(u32::MAX), 16, 65536),
        forgery("noise distribution", noise, &[2], 2, 0, 1),
    ];
    check_forgeries(&bytes, read_parameters, &forgeries);
    let dimension = resealed(&bytes, |body| body[n..n + 4].fill(255));
    let error = read_parameters(&dimension).expect_err("n");
    assert_names(&error, &["LWE dimension n", "4294967295", "16 to 4096"]);
    // Bounds of TUniform travel as f64: NaN, fractions and negative zero are not integers.
    for bound in [f64::NAN, 3.5, -0.0, -1.0, 63.0, f64::INFINITY] {
        let glwe_noise = noise + 9 + 1;
        let forged = resealed(&bytes, |body| body[glwe_noise..glwe_noise + 8].copy_from_slice(&bound.to_le_bytes()));
        let error = read_parameters(&forged).expect_err("a bound");
        assert!(matches!(error, TfheError::Parameters(ParameterError::Range { .. })), "{bound}: {error}");
        assert_names(&error, &["TUniform", &bound.to_string(), "0 to 62"]);
    }
}

#[test]
fn sets_below_128_bits_need_the_opt_in_everywhere() {
    let strict = SecurityPolicy::Require128Bits;
    let insecure = |error: TfheError, name: &str| {
        let TfheError::Parameters(ParameterError::Insecure { name: named, bits }) = &error else { panic!("{error}") };
        assert!(named == name && *bits < 128.0);
        assert_names(&error, &[name, &format!("{bits:.1} bits"), "required 128", "opt in"]);
    };
    for name in [TEST_SMALL_U64, TEST_SMALL_U32, NVME_TFHE_PAPER] {
        insecure(ParameterSet::named(name, strict).expect_err("named").into(), name);
        let parameters = ParameterSet::named(name, INSECURE).expect("opted in");
        insecure(ParameterSet::new(parameters.spec().clone(), strict).expect_err("new").into(), name);
        insecure(ParameterSet::from_bytes(&parameters.to_bytes(), strict).expect_err("from bytes"), name);
    }
    let bytes = tiny_client().to_secret_key_bytes();
    insecure(ClientKey::from_secret_key_bytes(&bytes, strict).expect_err("secret keys"), "tiny");
    let unknown = ParameterSet::named("MESSAGE_9", strict).expect_err("no such set");
    assert_names(&unknown, &["MESSAGE_9", NVME_TFHE_PAPER]);
}

/// Keys short enough to be tried one by one are not made secure by any noise.
#[test]
fn short_keys_are_never_secure() {
    for n in 16..128 {
        for log2_std in -31..=-2 {
            let spec = ParameterSpec {
                lwe_dimension: LweDimension(n),
                lwe_noise: NoiseDistribution::Gaussian { std_dev: f64::from(log2_std).exp2() },
                ..tiny()
            };
            let error = ParameterSet::new(spec, SecurityPolicy::Require128Bits).expect_err("a short key");
            let ParameterError::Insecure { bits, .. } = error else { panic!("n {n}: {error}") };
            assert!(bits <= n as f64, "n {n}, noise 2^{log2_std}: {bits}");
        }
    }
}

/// The fields of the second version's label, each with a value that no object has.
#[test]
fn labels_that_state_nonsense_are_refused() {
    let (ciphertext, table) = (labelled_ciphertext(), labelled_table());
    let put = |sealed: &[u8], at: usize, bytes: &[u8]| {
        resealed(sealed, |body| body[at..at + bytes.len()].copy_from_slice(bytes))
    };
    let word = |value: i32| value.to_le_bytes();
    for (forged, named) in [
        // 22 places hold -5 to 16 at most.
        (put(&ciphertext, 24, &word(17)), "messages from -5 to 17 exceed the 22 places"),
        (put(&ciphertext, 20, &word(12)), "messages from 12 to 11 are not a range"),
        (put(&ciphertext, 16, &word(i32::MAX)), "2147483647 places make no encoding"),
        (put(&ciphertext, 16, &word(0)), "range without places"),
        (put(&ciphertext, 28, &word(1)), "reserved field is 1"),
        (put(&ciphertext, 32, &(-1f64).to_le_bytes()), "the variance -1 is not a bound"),
        (put(&ciphertext, 32, &(-0f64).to_le_bytes()), "the variance -0 is not a bound"),
        (put(&ciphertext, 32, &f64::NAN.to_le_bytes()), "the variance NaN is not a bound"),
    ] {
        assert_names(&read_ciphertext(&forged).expect_err(named), &[named]);
    }
    for (forged, named) in [
        (put(&table, 8, &word(1)), "messages from 1 to 5 make no encoding"),
        (put(&table, 20, &word(-1)), "messages from -7 to -1 make no encoding"),
        (put(&table, 24, &[2]), "padding bit is 2"),
        (put(&table, 26, &[1]), "reserved field is 1"),
        (put(&table, 28, &word(1)), "reserved field is 1"),
    ] {
        assert_names(&read_table(&forged).expect_err(named), &[named]);
    }
}
