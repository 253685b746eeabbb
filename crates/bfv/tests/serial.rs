//! Byte formats: objects come back, and their bytes are laid out as documented.

use std::io::Read;

use crate::support::objects::{GADGETS, Objects};
use crate::support::{INSECURE, body, context, plaintext, rng, seed};
use ciphermill_bfv::parameters::{BFV_2048, CHAM_PAPER, SET_NAMES, TEST_32, TEST_512};
use ciphermill_bfv::serial::{self, GaloisKeysHeader, MAX_LOADED_KEY_BYTES};
use ciphermill_bfv::{
    Ciphertext, Context, GaloisKeys, ParameterSet, PublicKey, RelinearizationKey, SecretKey, SeededCiphertext,
};
use ciphermill_lattice::rns::{Coefficients, RnsBasis, RnsPoly};
use ciphermill_lattice::{MaskStream, PublicSeed};
use ciphermill_math::Isa;
use ciphermill_wire::{Decoder, open};

/// The next polynomial of `basis`, bit by bit.
fn residues(basis: &RnsBasis, input: &mut Decoder<'_>) -> RnsPoly<Coefficients> {
    let n = basis.polynomial_size().get();
    let mut words = Vec::new();
    for p in basis.moduli() {
        let bits = p.bits() as usize;
        let bytes = input.bytes((n * bits).div_ceil(8)).expect("a limb");
        words.extend((0..n).map(|i| {
            (0..bits)
                .map(|k| i * bits + k)
                .enumerate()
                .fold(0, |word, (k, at)| word | u64::from(bytes[at / 8] >> (at % 8) & 1) << k)
        }));
    }
    RnsPoly::from_words(basis.polynomial_size(), words)
}

fn expand(basis: &RnsBasis, seed: [u8; 32], stream: u64) -> RnsPoly<Coefficients> {
    basis.uniform(&mut MaskStream::new(&PublicSeed(seed), stream))
}

fn spec(context: &Context) -> Vec<u8> {
    body(&context.parameters().to_bytes()).to_vec()
}

#[test]
fn everything_comes_back() {
    for name in [TEST_32, TEST_512] {
        let objects = Objects::new(name);
        for (what, kind, bytes, read) in objects.sealed() {
            assert_eq!(ciphermill_wire::Header::decode(&bytes).expect("sealed").kind, kind);
            assert_eq!(read(&objects.context, &bytes).expect(what), bytes, "{what}");
        }
    }
}

#[test]
fn named_sets_come_back() {
    for name in SET_NAMES {
        let set = ParameterSet::named(name, INSECURE).expect("a named set");
        assert_eq!(ParameterSet::from_bytes(&set.to_bytes(), INSECURE).expect("own bytes"), set);
    }
}

#[test]
fn layout_of_ciphertexts() {
    for name in [TEST_32, BFV_2048, CHAM_PAPER] {
        let context = context(name);
        let secret = SecretKey::generate(&context, &seed(22));
        let message = plaintext(&context, &mut rng(23));
        for limbs in 1..=context.chain().len() {
            let basis = context.basis(limbs);
            let seeded = secret.encrypt_seeded(&message, limbs, &mut rng(24)).expect("a level");
            let full = seeded.expand(&context).expect("ours");
            let (long, short) = (full.to_bytes(&context).expect("ours"), seeded.to_bytes(&context).expect("ours"));
            assert_eq!(long.len() as u64, context.parameters().sealed_ciphertext_len(limbs, 2));
            assert_eq!(short.len() as u64, context.parameters().sealed_seeded_ciphertext_len(limbs));
            for (form, bytes) in [(0, &long), (1, &short)] {
                let (_, mut fields) = open(bytes, serial::CIPHERTEXT, 1..=1, u64::MAX).expect("sealed");
                assert_eq!(fields.u64().expect("id"), context.parameters().id().0);
                assert_eq!(fields.u64().expect("tag"), secret.tag().0);
                let shape = [context.n().ilog2() as u8, limbs as u8, 2, form];
                assert_eq!(fields.array().expect("shape"), shape);
                assert_eq!(fields.u32().expect("reserved"), 0);
                let seed = (form == 1).then(|| fields.array().expect("seed"));
                assert_eq!(&residues(basis, &mut fields), &full.parts()[0]);
                let c1 = seed.map_or_else(|| residues(basis, &mut fields), |seed| expand(basis, seed, 0));
                assert_eq!(&c1, &full.parts()[1]);
                fields.finish().expect("nothing more");
                assert_eq!(Ciphertext::from_bytes(&context, bytes).expect("own bytes"), full);
            }
            assert_eq!(SeededCiphertext::from_bytes(&context, &short).expect("own bytes"), seeded);
            let error = SeededCiphertext::from_bytes(&context, &long).expect_err("not seeded");
            assert!(error.to_string().contains("must be seeded, is 0; use 1"), "{error}");
        }
    }
}

#[test]
fn layout_of_public_keys() {
    let context = context(TEST_512);
    let secret = SecretKey::generate(&context, &seed(25));
    let public = PublicKey::generate(&secret).expect("randomness");
    let bytes = public.to_bytes();
    let (_, mut fields) = open(&bytes, serial::PUBLIC_KEY, 1..=1, u64::MAX).expect("sealed");
    let spec = spec(&context);
    assert_eq!(fields.bytes(spec.len()).expect("parameter set"), spec);
    assert_eq!(fields.u64().expect("tag"), secret.tag().0);
    let chain = context.chain();
    let a = expand(chain, fields.array().expect("seed"), 0);
    let b = residues(chain, &mut fields);
    fields.finish().expect("nothing more");
    // b + a·s is an error: small.
    let s = chain.forward(chain.from_signed(&crate::support::secret_coefficients(&secret)));
    let mut error = chain.forward(a);
    chain.multiply(&mut error, &s);
    let mut error = chain.inverse(error);
    chain.add_assign(&mut error, &b);
    let errors: Vec<i64> = (0..context.n()).map(|i| i64::try_from(chain.compose(&error, i)).expect("small")).collect();
    assert!(errors.iter().all(|e| e.abs() < 25) && errors.iter().any(|e| *e != 0), "{errors:?}");

    let again = PublicKey::from_bytes(&context, &bytes).expect("own bytes");
    let message = plaintext(&context, &mut rng(26));
    let ciphertext = again.encrypt(&message, 2, &mut rng(27)).expect("a level");
    assert_eq!(ciphertext, public.encrypt(&message, 2, &mut rng(27)).expect("a level"));
    assert_eq!(secret.decrypt(&ciphertext).expect("ours"), message);
}

#[test]
fn secret_keys_decrypt_again() {
    for name in [TEST_32, BFV_2048] {
        let context = context(name);
        let secret = SecretKey::generate(&context, &seed(28));
        let bytes = secret.to_secret_key_bytes();
        assert_eq!(bytes.len(), 28 + spec(&context).len() + 8 + context.n() / 4);
        let again = SecretKey::from_secret_key_bytes(&bytes, INSECURE, Isa::current()).expect("own bytes");
        assert_eq!((again.tag(), again.context().parameters()), (secret.tag(), context.parameters()));
        let message = plaintext(&context, &mut rng(29));
        let ciphertext = secret.encrypt(&message, 1, &mut rng(30)).expect("a level");
        assert_eq!(again.decrypt(&ciphertext).expect("ours"), message);
    }
}

/// A stream that counts the bytes read from it.
struct Counting<'a>(&'a [u8], usize);

impl Read for Counting<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let n = self.0.read(out)?;
        self.1 += n;
        Ok(n)
    }
}

#[test]
fn layout_of_switching_keys() {
    let Objects { context, secret, relinearization, galois, .. } = Objects::new(TEST_32);
    let (chain, spec) = (context.chain(), spec(&context));
    let elements = [3, 5, 63];
    for (bytes, kind, elements, gadgets) in [
        (galois.to_bytes(&context).expect("ours"), serial::GALOIS_KEYS, &elements[..], &GADGETS[..]),
        (relinearization.to_bytes(&context).expect("ours"), serial::RELINEARIZATION_KEY, &[0], &GADGETS[..1]),
    ] {
        let (_, mut fields) = open(&bytes, kind, 1..=1, u64::MAX).expect("sealed");
        let head = fields.u32().expect("length") as usize;
        let mut head = Decoder::new(fields.bytes(head).expect("head"));
        assert_eq!(head.bytes(spec.len()).expect("parameter set"), spec);
        assert_eq!(head.u64().expect("tag"), secret.tag().0);
        assert_eq!(head.u32().expect("count") as usize, elements.len());
        for (i, &element) in elements.iter().enumerate() {
            assert_eq!(head.u32().expect("element") as usize, element);
            // 3 limbs of 30 bits: a digit each, or two of 16 bits each.
            let (code, digits) = if gadgets[i] == GADGETS[1] { ([1, 16], 6) } else { ([0, 1], 3) };
            assert_eq!((head.array().expect("gadget"), head.u16().expect("digits")), (code, digits));
            let seed = fields.array().expect("seed");
            for j in 0..u64::from(digits) {
                let (b, a) = (residues(chain, &mut fields), expand(chain, seed, j));
                if element != 0 {
                    let key = galois.get(element).expect("there");
                    assert_eq!(key.gadget(), gadgets[i]);
                    assert_eq!(key.digits()[j as usize], [b, a].map(|poly| chain.forward(poly)));
                }
            }
        }
        head.finish().expect("nothing more");
        fields.finish().expect("nothing more");
    }
    let bytes = galois.to_bytes(&context).expect("ours");
    let again = GaloisKeys::from_bytes(&context, &bytes).expect("own bytes");
    assert_eq!((again.tag(), again.parameter_id()), (galois.tag(), galois.parameter_id()));
    for element in elements {
        let (again, key) = (again.get(element).expect("there"), galois.get(element).expect("there"));
        assert_eq!((again.tag(), again.parameter_id(), again.gadget()), (key.tag(), key.parameter_id(), key.gadget()));
        assert_eq!(again.digits(), key.digits());
    }
    let again = RelinearizationKey::from_bytes(&context, &relinearization.to_bytes(&context).expect("ours"));
    assert_eq!(again.expect("own bytes").tag(), secret.tag());
}

/// The facts that a device needs about keys are in their first bytes, and no more is read.
#[test]
fn the_head_of_galois_keys() {
    let Objects { context, secret, galois, .. } = Objects::new(TEST_32);
    let bytes = galois.to_bytes(&context).expect("ours");
    let mut counting = Counting(&bytes, 0);
    let header = GaloisKeysHeader::read(&mut counting, INSECURE).expect("own bytes");
    assert_eq!(counting.1, 24 + 4 + spec(&context).len() + 12 + 3 * 8);
    assert_eq!((header.parameters(), header.tag()), (context.parameters(), secret.tag()));
    let requests: Vec<_> = header.requests().map(|request| (request.element, request.gadget)).collect();
    assert_eq!(requests, [(3, GADGETS[0]), (5, GADGETS[1]), (63, GADGETS[2])]);
    assert_eq!(header.sealed_len(), bytes.len() as u64);
    let words: usize = [3, 5, 63]
        .iter()
        .flat_map(|&element| galois.get(element).expect("there").digits())
        .flat_map(|digit| digit.iter().map(|poly| poly.words().len()))
        .sum();
    assert_eq!(header.loaded_bytes(), 8 * words as u64);
    let secure = GaloisKeysHeader::read(&bytes[..], ciphermill_bfv::SecurityPolicy::Require128Bits);
    assert!(secure.expect_err("insecure").to_string().contains("use N = 1024 to 32768"));

    // Written and read as streams, within the memory they say they take.
    let mut written = galois.write(&context, Vec::new()).expect("memory");
    assert_eq!(written, bytes);
    GaloisKeys::read(&context, &written[..], header.loaded_bytes()).expect("enough");
    let error = GaloisKeys::read(&context, &written[..], header.loaded_bytes() - 1).expect_err("too little");
    assert!(error.to_string().contains("bytes of memory, at most"), "{error}");
    written.push(0);
    GaloisKeys::read(&context, &written[..], MAX_LOADED_KEY_BYTES).expect_err("a byte too many");
    let endless = written[..bytes.len()].chain(std::io::repeat(7));
    let error = GaloisKeys::read(&context, endless, MAX_LOADED_KEY_BYTES).expect_err("more follows");
    assert!(error.to_string().contains("1048576"), "{error}");
}

/// The numbers of a set count, not its name.
#[test]
fn a_renamed_set_is_the_same() {
    let Objects { context, secret, galois, public, ciphertext, .. } = Objects::new(TEST_32);
    let mut spec = context.parameters().spec().clone();
    spec.name = "another".to_owned();
    let other = Context::new(&ParameterSet::new(spec, INSECURE).expect("sound"), Isa::current()).expect("tables");
    let bytes = galois.to_bytes(&context).expect("ours");
    assert_eq!(GaloisKeys::from_bytes(&other, &bytes).expect("same numbers").tag(), secret.tag());
    assert_eq!(PublicKey::from_bytes(&other, &public.to_bytes()).expect("same numbers").tag(), secret.tag());
    let bytes = ciphertext.to_bytes(&context).expect("ours");
    assert_eq!(Ciphertext::from_bytes(&other, &bytes).expect("same numbers"), ciphertext);
}
