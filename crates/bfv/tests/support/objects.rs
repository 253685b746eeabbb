//! One object of every kind, and the readers of their bytes.

use ciphermill_bfv::keys::GaloisRequest;
use ciphermill_bfv::{
    BfvError, Ciphertext, Context, Gadget, GaloisKeys, ParameterSet, PublicKey, RelinearizationKey, SecretKey,
    SeededCiphertext, serial,
};
use ciphermill_lattice::DecompositionBaseLog;
use ciphermill_math::Isa;
use ciphermill_wire::Kind;

use super::{INSECURE, context, plaintext, rng, seed};

pub struct Objects {
    pub context: Context,
    pub secret: SecretKey,
    pub public: PublicKey,
    pub relinearization: RelinearizationKey,
    pub galois: GaloisKeys,
    pub seeded: SeededCiphertext,
    pub ciphertext: Ciphertext,
}

/// The gadgets of the Galois keys for 3, 5 and 2N − 1.
pub const GADGETS: [Gadget; 3] = [
    Gadget::Limbs { limbs_per_digit: 1 },
    Gadget::Bits { base_log: DecompositionBaseLog(16) },
    Gadget::Limbs { limbs_per_digit: 1 },
];

/// Reads an object and writes it again.
pub type Reader = fn(&Context, &[u8]) -> Result<Vec<u8>, BfvError>;

impl Objects {
    pub fn new(name: &str) -> Self {
        let context = context(name);
        let secret = SecretKey::generate(&context, &seed(20));
        let elements = [3, 5, 2 * context.n() - 1];
        let requests: Vec<_> =
            elements.into_iter().zip(GADGETS).map(|(element, gadget)| GaloisRequest { element, gadget }).collect();
        let mut rng = rng(21);
        let message = plaintext(&context, &mut rng);
        Self {
            public: PublicKey::generate(&secret).expect("randomness"),
            relinearization: RelinearizationKey::generate(&secret).expect("a special modulus"),
            galois: GaloisKeys::generate(&secret, &requests).expect("a special modulus"),
            seeded: secret.encrypt_seeded(&message, 2, &mut rng).expect("a level"),
            ciphertext: secret.encrypt(&message, 2, &mut rng).expect("a level"),
            secret,
            context,
        }
    }

    /// Name, kind, bytes and reader of each.
    pub fn sealed(&self) -> [(&'static str, Kind, Vec<u8>, Reader); 7] {
        let c = &self.context;
        [
            ("parameter set", serial::PARAMETER_SET, c.parameters().to_bytes(), |_, b| {
                Ok(ParameterSet::from_bytes(b, INSECURE)?.to_bytes())
            }),
            ("ciphertext", serial::CIPHERTEXT, self.ciphertext.to_bytes(c).expect("ours"), |c, b| {
                Ciphertext::from_bytes(c, b)?.to_bytes(c)
            }),
            ("seeded ciphertext", serial::CIPHERTEXT, self.seeded.to_bytes(c).expect("ours"), |c, b| {
                SeededCiphertext::from_bytes(c, b)?.to_bytes(c)
            }),
            ("secret key", serial::SECRET_KEY, self.secret.to_secret_key_bytes().to_vec(), |_, b| {
                Ok(SecretKey::from_secret_key_bytes(b, INSECURE, Isa::current())?.to_secret_key_bytes().to_vec())
            }),
            ("public key", serial::PUBLIC_KEY, self.public.to_bytes(), |c, b| {
                Ok(PublicKey::from_bytes(c, b)?.to_bytes())
            }),
            (
                "relinearisation key",
                serial::RELINEARIZATION_KEY,
                self.relinearization.to_bytes(c).expect("ours"),
                |c, b| RelinearizationKey::from_bytes(c, b)?.to_bytes(c),
            ),
            ("Galois keys", serial::GALOIS_KEYS, self.galois.to_bytes(c).expect("ours"), |c, b| {
                GaloisKeys::from_bytes(c, b)?.to_bytes(c)
            }),
        ]
    }
}
