//! Byte formats of ciphertexts, test vectors, GGSW ciphertexts and secret keys; those of the server keys are in
//! [`server_key`](crate::server_key). All stand in the envelope of `ciphermill-wire`; docs/tfhe.md draws them.

mod labelled;
mod words;

use ciphermill_lattice::Torus;
use ciphermill_wire::{Decoder, Encoder, Kind, open, seal};
use zeroize::{Zeroize, Zeroizing};

use crate::bounds::TableEncodings;
use crate::ciphertext::KeyTag;
use crate::client::ClientKey;
use crate::dimension::{Decomposition, GlweDimension, PolynomialSize};
use crate::elements::{read_elements, write_elements};
use crate::error::{TfheError, require_equal, require_range};
use crate::ggsw::{GgswCiphertext, GgswShape};
use crate::glwe::{GlweCiphertext, GlweSecretKey};
use crate::lwe::LweSecretKey;
use crate::parameters::{PARAMETER_VERSIONS, ParameterSet, ParameterSpec, SecurityPolicy, TorusWidth};
pub use crate::server_key::{BOOTSTRAP_KEY, CONVERSION_KEY, KEYSWITCH_KEY};
use labelled::{decode_encodings, encode_encodings};

/// Envelope kind of a parameter set.
pub const PARAMETER_SET: Kind = Kind(0x0201);
/// Envelope kind of an LWE ciphertext.
pub const CIPHERTEXT: Kind = Kind(0x0202);
/// Envelope kind of a GLWE ciphertext or test vector.
pub const GLWE: Kind = Kind(0x0203);
/// Envelope kind of a GGSW ciphertext.
pub const GGSW: Kind = Kind(0x0204);
/// Envelope kind of a client's secret keys.
pub const SECRET_KEY: Kind = Kind(0x0207);
/// Envelope kind of a word of digits.
pub const WORD: Kind = Kind(0x0209);
/// Envelope kind of a table of words.
pub const TABLE: Kind = Kind(0x020a);

/// Version of the bodies in this module, except for those of [`CIPHERTEXT`] and [`GLWE`]. A body with a parameter set of
/// another modulus switch than the plain one has version 2, of one with words version 3.
pub const BODY_VERSION: u16 = 1;
/// Newest version of the body of a [`CIPHERTEXT`]: with its bounds. Version 1 has none.
pub const CIPHERTEXT_VERSION: u16 = 2;
/// Bytes of the bounds of a ciphertext, which a body of version 1 lacks.
pub const BOUNDS_LEN: u64 = CIPHERTEXT_HEADERS[1] - CIPHERTEXT_HEADERS[0];
/// Newest version of the body of a [`GLWE`] object: a test vector with its encodings. Version 1 has none.
pub const GLWE_VERSION: u16 = 2;

const MAX_PARAMETER_SET_LEN: u64 = 512;
const MAX_SECRET_KEY_LEN: u64 = 1 << 20;
const MAX_CIPHERTEXT_LEN: u64 = 2 << 20;
const MAX_GLWE_LEN: u64 = 8 << 20;
const MAX_GGSW_LEN: u64 = 1 << 30;
/// Bytes of the body before the words, by version.
const CIPHERTEXT_HEADERS: [u64; 2] = [16, 40];
const GLWE_HEADERS: [u64; 2] = [8, 32];

fn polynomial_size(log2: u8) -> Result<PolynomialSize, TfheError> {
    require_range("log2 of the polynomial size", u64::from(log2), 4, 17)?;
    PolynomialSize::try_from(1usize << log2).map_err(TfheError::transform)
}

/// The rest of the input as exactly `count` elements.
fn elements<T: Torus>(input: &mut Decoder<'_>, count: usize) -> Result<Vec<T>, TfheError> {
    let width = T::BITS as usize / 8;
    require_equal("bytes of the elements", input.remaining(), count.saturating_mul(width))?;
    let mut bytes = input.bytes(count * width)?;
    let mut out = vec![T::ZERO; count];
    read_elements(&mut bytes, &mut out)?;
    Ok(out)
}

fn put_elements<T: Torus>(out: &mut Encoder, elements: &[T]) {
    let mut bytes = Vec::with_capacity(elements.len() * T::BITS as usize / 8);
    write_elements(&mut bytes, elements).expect("writing to memory");
    out.bytes(&bytes);
}

impl ParameterSet {
    /// The sealed parameter set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(ParameterSet::from_bytes(&parameters.to_bytes(), policy)?, parameters);
    /// let refused = ParameterSet::from_bytes(&parameters.to_bytes(), SecurityPolicy::Require128Bits);
    /// assert!(refused.is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Encoder::with_capacity(96);
        self.spec().encode(&mut out);
        seal(PARAMETER_SET, self.spec().body_version(), &out.into_vec())
    }

    /// Reads and judges a sealed parameter set.
    ///
    /// # Errors
    /// If it is malformed or not admissible under `policy`.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let bytes = parameters.to_bytes();
    /// assert_eq!(ParameterSet::from_bytes(&bytes, policy)?, parameters);
    /// assert!(matches!(ParameterSet::from_bytes(&bytes[1..], policy), Err(TfheError::Wire(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes(bytes: &[u8], policy: SecurityPolicy) -> Result<Self, TfheError> {
        let (version, mut input) = open(bytes, PARAMETER_SET, PARAMETER_VERSIONS, MAX_PARAMETER_SET_LEN)?;
        let spec = ParameterSpec::decode(&mut input, version)?;
        input.finish()?;
        Ok(Self::new(spec, policy)?)
    }
}

impl<T: Torus> GlweCiphertext<T> {
    /// The sealed ciphertext, in version 1 of its body.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Encoder::with_capacity(64);
        self.encode(None, &mut out);
        seal(GLWE, 1, &out.into_vec())
    }

    /// Reads a sealed ciphertext, which states no encodings: version 1 of its body.
    ///
    /// # Errors
    /// If it is malformed or of another torus width.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let message = vec![3u64 << 60; parameters.polynomial_size.get()];
    /// let glwe = GlweCiphertext::trivial(&message, GlweDimension(1), parameters.polynomial_size)?;
    /// assert_eq!(GlweCiphertext::from_bytes(&glwe.to_bytes())?, glwe);
    /// // The torus width differs.
    /// assert!(GlweCiphertext::<u32>::from_bytes(&glwe.to_bytes()).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TfheError> {
        let (version, mut input) = open(bytes, GLWE, 1..=1, MAX_GLWE_LEN)?;
        require_equal("torus width", TorusWidth::from_bits(input.u8()?)?.bits() as usize, T::BITS as usize)?;
        Ok(Self::decode(version, input)?.0)
    }

    fn encode(&self, encodings: Option<&TableEncodings>, out: &mut Encoder) {
        out.u8(T::BITS as u8).u8(self.dimension().0 as u8).u8(self.polynomial_size().log2() as u8);
        out.u8(0).u32(0);
        if let Some(encodings) = encodings {
            encode_encodings(encodings, out);
        }
        put_elements(out, self.coefficients());
    }

    fn decode(version: u16, mut input: Decoder<'_>) -> Result<(Self, Option<TableEncodings>), TfheError> {
        let k = input.u8()?;
        require_range("GLWE dimension", u64::from(k), 1, 8)?;
        let size = polynomial_size(input.u8()?)?;
        require_range("reserved field", u64::from(input.u8()?), 0, 0)?;
        require_range("reserved field", u64::from(input.u32()?), 0, 0)?;
        let encodings = if version > 1 { Some(decode_encodings(&mut input)?) } else { None };
        let data = elements(&mut input, (usize::from(k) + 1) * size.get())?;
        input.finish()?;
        Ok((Self::from_coefficients(data, size)?, encodings))
    }
}

impl<T: Torus> GgswCiphertext<T> {
    /// The sealed ciphertext.
    pub fn to_bytes(&self) -> Vec<u8> {
        let shape = self.shape();
        let mut out = Encoder::with_capacity(64);
        out.u8(T::BITS as u8).u8(shape.glwe_dimension.0 as u8).u8(shape.polynomial_size.log2() as u8).u8(0);
        out.u8(shape.decomposition.base_log.0 as u8).u8(shape.decomposition.level_count.0 as u8).u16(0);
        put_elements(&mut out, self.coefficients());
        seal(GGSW, BODY_VERSION, &out.into_vec())
    }

    /// Reads a sealed ciphertext.
    ///
    /// # Errors
    /// If it is malformed or of another torus width.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// use ciphermill_tfhe::ggsw::GgswCiphertext;
    /// let encryptor = GgswEncryptor::<u64>::new(client.glwe_secret_key(), parameters.pbs, parameters.glwe_noise)?;
    /// let bytes = encryptor.encrypt(1, &PublicSeed::from_os()?, 0, &mut rng).to_bytes();
    /// assert_eq!(GgswCiphertext::<u64>::from_bytes(&bytes)?.shape(), encryptor.shape());
    /// assert!(GgswCiphertext::<u32>::from_bytes(&bytes).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, TfheError> {
        let (_, mut input) = open(bytes, GGSW, BODY_VERSION..=BODY_VERSION, MAX_GGSW_LEN)?;
        require_equal("torus width", TorusWidth::from_bits(input.u8()?)?.bits() as usize, T::BITS as usize)?;
        let k = input.u8()?;
        require_range("GLWE dimension", u64::from(k), 1, 8)?;
        let polynomial_size = polynomial_size(input.u8()?)?;
        require_range("reserved field", u64::from(input.u8()?), 0, 0)?;
        let (base_log, levels) = (input.u8()?, input.u8()?);
        require_range("log2 of the base", u64::from(base_log), 1, 32)?;
        require_range("gadget bits", u64::from(base_log) * u64::from(levels), 1, u64::from(T::BITS))?;
        require_range("reserved field", u64::from(input.u16()?), 0, 0)?;
        let shape = GgswShape {
            glwe_dimension: GlweDimension(usize::from(k)),
            polynomial_size,
            decomposition: Decomposition::new(usize::from(base_log), usize::from(levels)),
        };
        let data = elements(&mut input, shape.len())?;
        input.finish()?;
        Self::from_coefficients(data, shape)
    }
}

impl ClientKey {
    /// The sealed **secret** keys: these bytes decrypt everything. Store them with mode 0600 at least.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let read = ClientKey::from_secret_key_bytes(&client.to_secret_key_bytes(), policy)?;
    /// assert_eq!(read.decrypt(&encoding, &three)?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_secret_key_bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut out = Encoder::with_capacity(256 + self.lwe.bits().len() + self.glwe.bits().len());
        self.parameters.spec().encode(&mut out);
        out.u64(self.tag.0);
        for bits in [self.lwe.bits(), self.glwe.bits()] {
            let mut packed: Zeroizing<Vec<u8>> = Zeroizing::new(vec![0; bits.len().div_ceil(8)]);
            for (i, &bit) in bits.iter().enumerate() {
                packed[i / 8] |= bit << (i % 8);
            }
            out.bytes(&packed);
        }
        let mut body = out.into_vec();
        let sealed = Zeroizing::new(seal(SECRET_KEY, self.parameters.body_version(), &body));
        body.zeroize();
        sealed
    }

    /// Reads sealed secret keys.
    ///
    /// # Errors
    /// If they are malformed or their parameter set is not admissible under `policy`.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let bytes = client.to_secret_key_bytes();
    /// assert_eq!(ClientKey::from_secret_key_bytes(&bytes, policy)?.tag(), client.tag());
    /// // The parameter set of the key is judged.
    /// assert!(ClientKey::from_secret_key_bytes(&bytes, SecurityPolicy::Require128Bits).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_secret_key_bytes(bytes: &[u8], policy: SecurityPolicy) -> Result<Self, TfheError> {
        let (version, mut input) = open(bytes, SECRET_KEY, PARAMETER_VERSIONS, MAX_SECRET_KEY_LEN)?;
        let parameters = ParameterSet::new(ParameterSpec::decode(&mut input, version)?, policy)?;
        let tag = KeyTag(input.u64()?);
        let mut unpack = |count: usize| -> Result<Vec<u8>, TfheError> {
            let packed = input.bytes(count.div_ceil(8))?;
            let unused = packed.last().map_or(0, |&last| u64::from(last) >> (count.wrapping_sub(1) % 8 + 1));
            require_range("unused bits of the secret key", unused, 0, 0)?;
            Ok((0..count).map(|i| packed[i / 8] >> (i % 8) & 1).collect())
        };
        let lwe = LweSecretKey::from_bits(unpack(parameters.lwe_dimension.0)?);
        let glwe = GlweSecretKey::from_bits(unpack(parameters.big_lwe_dimension().0)?, parameters.polynomial_size);
        input.finish()?;
        Ok(Self { parameters, lwe, glwe, tag })
    }
}
