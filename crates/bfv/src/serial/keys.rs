//! The secret and the public key.

use std::sync::Arc;

use ciphermill_lattice::rng::SEED_LEN;
use ciphermill_lattice::{KeyTag, PublicSeed};
use ciphermill_math::Isa;
use ciphermill_math::ntt::{CpuNttProvider, NttProvider};
use ciphermill_wire::{Decoder, Encoder, open, seal};
use zeroize::{Zeroize, Zeroizing};

use super::ciphertext::residues;
use super::{BODY_VERSION, MAX_PARAMETER_SET_LEN, PUBLIC_KEY, SECRET_KEY};
use crate::context::Context;
use crate::error::{BfvError, require_range};
use crate::keys::PublicKey;
use crate::parameters::{MAX_POLYNOMIAL_SIZE, ParameterSet, ParameterSpec, SecurityPolicy};
use crate::secret_key::{MASK_STREAM, SecretKey, mask};

/// Coefficients in a byte.
const PER_BYTE: usize = 4;

/// Reads the numbers of a set, which must be those of `context`; the names may differ.
pub(super) fn require_spec(what: &'static str, context: &Context, input: &mut Decoder<'_>) -> Result<(), BfvError> {
    context.require_parameters(what, ParameterSpec::decode(input)?.id())
}

impl SecretKey {
    /// The sealed **secret** key: these bytes decrypt everything. Store them with mode 0600 or stricter.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let bytes = secret.to_secret_key_bytes();
    /// assert_eq!(SecretKey::from_secret_key_bytes(&bytes, policy, Isa::current())?.tag(), secret.tag());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_secret_key_bytes(&self) -> Zeroizing<Vec<u8>> {
        // Never grown, so that no copy stays behind.
        let mut out = Encoder::with_capacity(MAX_PARAMETER_SET_LEN as usize + 8 + self.coefficients.len() / PER_BYTE);
        self.context.parameters().spec().encode(&mut out);
        out.u64(self.tag.0);
        for four in self.coefficients.chunks_exact(PER_BYTE) {
            out.u8(four.iter().rev().fold(0, |byte, &x| byte << 2 | (x & 3) as u8));
        }
        let mut body = out.into_vec();
        let sealed = Zeroizing::new(seal(SECRET_KEY, BODY_VERSION, &body));
        body.zeroize();
        sealed
    }

    /// Reads a sealed secret key and makes its context for `isa`.
    ///
    /// # Errors
    /// If it is malformed, its parameter set is not admissible under `policy`, or the CPU lacks `isa`.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let bytes = secret.to_secret_key_bytes();
    /// let again = SecretKey::from_secret_key_bytes(&bytes, policy, Isa::current())?;
    /// let x = secret.encrypt(&context.encode(&[4])?, top, &mut rng)?;
    /// assert_eq!(again.decrypt(&x)?, secret.decrypt(&x)?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_secret_key_bytes(bytes: &[u8], policy: SecurityPolicy, isa: Isa) -> Result<Self, BfvError> {
        Self::from_secret_key_bytes_with_engines(bytes, policy, Arc::new(CpuNttProvider::new(isa)), isa)
    }

    /// Reads a sealed secret key and makes its context with the transforms of `provider`, as
    /// [`Context::with_engines`] does.
    ///
    /// # Errors
    /// If it is malformed, its parameter set is not admissible under `policy`, or its context cannot be made.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// use std::sync::Arc;
    ///
    /// use ciphermill_math::ntt::CpuNttProvider;
    ///
    /// let (bytes, provider) = (secret.to_secret_key_bytes(), Arc::new(CpuNttProvider::new(Isa::Portable)));
    /// let again = SecretKey::from_secret_key_bytes_with_engines(&bytes, policy, provider, Isa::current())?;
    /// assert_eq!(again.context().ntt().info().kind.isa(), Some(Isa::Portable));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_secret_key_bytes_with_engines(
        bytes: &[u8],
        policy: SecurityPolicy,
        provider: Arc<dyn NttProvider>,
        isa: Isa,
    ) -> Result<Self, BfvError> {
        let limit = MAX_PARAMETER_SET_LEN + 8 + (MAX_POLYNOMIAL_SIZE / PER_BYTE) as u64;
        let (_, mut input) = open(bytes, SECRET_KEY, BODY_VERSION..=BODY_VERSION, limit)?;
        let parameters = ParameterSet::new(ParameterSpec::decode(&mut input)?, policy)?;
        let tag = KeyTag(input.u64()?);
        let packed = input.bytes(parameters.polynomial_size.get() / PER_BYTE)?;
        input.finish()?;
        // The two bits of each coefficient, with their sign; −2 is none, and only whether there is one is looked at.
        let places = packed.iter().flat_map(|&byte| [0, 2, 4, 6].map(|shift| (i64::from(byte) << (62 - shift)) >> 62));
        let coefficients: Zeroizing<Vec<i64>> = Zeroizing::new(places.collect());
        let none = coefficients.iter().fold(0u8, |none, &x| none | u8::from(x == -2));
        require_range("number of kinds of coefficients of the secret key that are not -1, 0 or 1", none, 0, 0)?;
        Ok(Self::from_coefficients(&Context::with_engines(&parameters, provider, isa)?, tag, coefficients))
    }
}

impl PublicKey {
    /// The sealed key: its parameter set, the seed of a, and b.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let public = PublicKey::generate(&secret)?;
    /// assert_eq!(PublicKey::from_bytes(&context, &public.to_bytes())?.tag(), public.tag());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Encoder::with_capacity(MAX_PARAMETER_SET_LEN as usize + Self::body_len(&self.context));
        self.context.parameters().spec().encode(&mut out);
        self.encode(&mut out);
        seal(PUBLIC_KEY, BODY_VERSION, &out.into_vec())
    }

    /// Bytes of a key behind its parameter set.
    pub(crate) fn body_len(context: &Context) -> usize {
        size_of::<u64>() + SEED_LEN + context.chain().packed_len()
    }

    /// Appends the key without its parameter set.
    pub(crate) fn encode(&self, out: &mut Encoder) {
        let chain = self.context.chain();
        out.u64(self.tag.0).bytes(&self.seed.0).bytes(&chain.pack(&chain.inverse(self.parts[0].clone())));
    }

    /// The next key, without its parameter set.
    pub(crate) fn decode(context: &Context, input: &mut Decoder<'_>) -> Result<Self, BfvError> {
        let chain = context.chain();
        let (tag, seed) = (KeyTag(input.u64()?), PublicSeed(input.array()?));
        let body = residues(chain, input)?;
        let parts = [chain.forward(body), mask(context, &seed, MASK_STREAM)];
        Ok(Self { context: context.clone(), tag, seed, parts })
    }

    /// Reads a sealed key.
    ///
    /// # Errors
    /// If it is malformed or of another parameter set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let bytes = PublicKey::generate(&secret)?.to_bytes();
    /// let x = PublicKey::from_bytes(&context, &bytes)?.encrypt(&context.encode(&[4])?, top, &mut rng)?;
    /// assert_eq!(context.decode(&secret.decrypt(&x)?)[0], 4);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes(context: &Context, bytes: &[u8]) -> Result<Self, BfvError> {
        let limit = MAX_PARAMETER_SET_LEN + Self::body_len(context) as u64;
        let (_, mut input) = open(bytes, PUBLIC_KEY, BODY_VERSION..=BODY_VERSION, limit)?;
        require_spec("the public key", context, &mut input)?;
        let key = Self::decode(context, &mut input)?;
        input.finish()?;
        Ok(key)
    }
}
