//! The headers of server keys: form, kind, parameter set and key set.

use std::io::{Read, Write};

use ciphermill_lattice::PublicSeed;
use ciphermill_wire::{Decoder, Encoder, Kind, OpenReader, SealWriter, sealed_len};

use crate::ciphertext::KeyTag;
use crate::error::{TfheError, require_equal, require_key_set, require_range};
use crate::parameters::{PARAMETER_VERSIONS, ParameterSet, ParameterSpec, SecurityPolicy};

/// Envelope kind of a bootstrapping key.
pub const BOOTSTRAP_KEY: Kind = Kind(0x0205);
/// Envelope kind of a key-switching key.
pub const KEYSWITCH_KEY: Kind = Kind(0x0206);
/// Envelope kind of a conversion key.
pub const CONVERSION_KEY: Kind = Kind(0x0208);

/// Most bytes of a key of any admissible parameter set that this crate loads.
pub const MAX_KEY_LEN: u64 = 1 << 36;

const MAX_HEADER_LEN: u64 = 512;

/// How masks are stored.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let [seeded, full] =
///     [KeyForm::Seeded, KeyForm::Full].map(|form| parameters.sealed_key_len(KeyKind::Bootstrap, form));
/// // At k = 1 half of all polynomials are masks.
/// assert!(seeded < full && full < 2 * seeded);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyForm {
    /// A public seed stands for them.
    Seeded,
    /// They are written out.
    Full,
}

/// Which of the two server keys.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// assert_eq!(KeyKind::Bootstrap.wire_kind(), serial::BOOTSTRAP_KEY);
/// assert_eq!(KeyKind::Keyswitch.wire_kind(), serial::KEYSWITCH_KEY);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyKind {
    /// The bootstrapping key.
    Bootstrap,
    /// The key-switching key.
    Keyswitch,
    /// The conversion key, of parameter sets with words.
    Conversion,
}

impl KeyKind {
    /// The envelope's kind.
    pub fn wire_kind(self) -> Kind {
        match self {
            KeyKind::Bootstrap => BOOTSTRAP_KEY,
            KeyKind::Keyswitch => KEYSWITCH_KEY,
            KeyKind::Conversion => CONVERSION_KEY,
        }
    }
}

/// The header before the elements of a key.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
#[doc = include_str!("../example_server.txt")]
/// // A server reads the whole key once, without keeping it, and learns its header.
/// let header = validate_key(KeyKind::Bootstrap, &bootstrap[..], policy)?;
/// assert_eq!((header.tag(), header.form()), (client.tag(), KeyForm::Seeded));
/// assert_eq!(header.sealed_len(), bootstrap.len() as u64);
/// // A damaged key is refused.
/// assert!(validate_key(KeyKind::Bootstrap, &bootstrap[..1000], policy).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct KeyHeader {
    kind: KeyKind,
    spec: ParameterSpec,
    tag: KeyTag,
    form: KeyForm,
    pub(super) seed: PublicSeed,
}

impl KeyHeader {
    pub(crate) fn new(kind: KeyKind, spec: ParameterSpec, tag: KeyTag, form: KeyForm, seed: PublicSeed) -> Self {
        Self { kind, spec, tag, form, seed }
    }

    /// The parameter set's numbers, not yet judged.
    pub fn spec(&self) -> &ParameterSpec {
        &self.spec
    }

    /// The key set.
    pub fn tag(&self) -> KeyTag {
        self.tag
    }

    /// How masks are stored.
    pub fn form(&self) -> KeyForm {
        self.form
    }

    /// Bytes of the whole sealed key.
    pub fn sealed_len(&self) -> u64 {
        sealed_len(self.body_len())
    }

    fn body_len(&self) -> u64 {
        4 + self.encode().len() as u64 + self.elements_len()
    }

    /// Bytes of the elements. Saturates for specs that are not admissible.
    fn elements_len(&self) -> u64 {
        let wide = |x: usize| x as u64;
        let s = &self.spec;
        let (n, k, size) = (wide(s.lwe_dimension.0), wide(s.glwe_dimension.0), wide(s.polynomial_size.get()));
        let factors = match (self.kind, self.form) {
            (KeyKind::Bootstrap, KeyForm::Seeded) => [n, k + 1, wide(s.pbs.level_count.0), size, wide(s.torus.bytes())],
            (KeyKind::Bootstrap, KeyForm::Full) => {
                [n, (k + 1).saturating_mul(k + 1), wide(s.pbs.level_count.0), size, wide(s.torus.bytes())]
            }
            (KeyKind::Keyswitch, KeyForm::Seeded) => [k, size, wide(s.ks.level_count.0), 1, 4],
            (KeyKind::Keyswitch, KeyForm::Full) => [k, size, wide(s.ks.level_count.0), n + 1, 4],
            // A set without words has none; opening its header says so.
            (KeyKind::Conversion, form) => match s.conversion_shape() {
                Some(shape) if form == KeyForm::Seeded => [wide(shape.bodies_len()), 8, 1, 1, 1],
                Some(shape) => [wide(shape.len()), 8, 1, 1, 1],
                None => [0; 5],
            },
        };
        factors.into_iter().fold(1, u64::saturating_mul)
    }

    fn encode(&self) -> Vec<u8> {
        let mut out = Encoder::with_capacity(160);
        self.spec.encode(&mut out);
        out.u64(self.tag.0);
        out.u8(match self.form {
            KeyForm::Seeded => 0,
            KeyForm::Full => 1,
        });
        out.bytes(&self.seed.0);
        out.into_vec()
    }

    fn decode(kind: KeyKind, version: u16, bytes: &[u8]) -> Result<Self, TfheError> {
        let mut input = Decoder::new(bytes);
        let spec = ParameterSpec::decode(&mut input, version)?;
        let tag = KeyTag(input.u64()?);
        let form = match input.u8()? {
            0 => KeyForm::Seeded,
            1 => KeyForm::Full,
            given => {
                return Err(TfheError::Field { what: "form of the key", given: u64::from(given), min: 0, max: 1 });
            }
        };
        let seed = PublicSeed(input.array()?);
        input.finish()?;
        Ok(Self { kind, spec, tag, form, seed })
    }

    /// Starts the envelope and writes the header; the elements follow.
    pub(crate) fn seal<W: Write>(&self, writer: W) -> Result<SealWriter<W>, TfheError> {
        let mut out = SealWriter::new(writer, self.kind.wire_kind(), self.spec.body_version(), self.body_len())?;
        let header = self.encode();
        out.write_all(&(header.len() as u32).to_le_bytes())?;
        out.write_all(&header)?;
        Ok(out)
    }

    /// Reads envelope and header; the elements follow. The parameter set is judged, and the envelope's length must
    /// match the set.
    ///
    /// # Errors
    /// If anything is malformed or the set is not admissible under `policy`.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    #[doc = include_str!("../example_server.txt")]
    /// // The header is enough to judge a key before its elements arrive.
    /// let (_, header, set) = KeyHeader::open(KeyKind::Keyswitch, &keyswitch[..], policy)?;
    /// assert_eq!((header.tag(), &set), (client.tag(), &parameters));
    /// let refused = KeyHeader::open(KeyKind::Keyswitch, &keyswitch[..], SecurityPolicy::Require128Bits);
    /// assert!(refused.is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open<R: Read>(
        kind: KeyKind,
        reader: R,
        policy: SecurityPolicy,
    ) -> Result<(OpenReader<R>, Self, ParameterSet), TfheError> {
        let mut input = OpenReader::new(reader, kind.wire_kind(), PARAMETER_VERSIONS, MAX_KEY_LEN)?;
        let mut len = [0; 4];
        input.read_exact(&mut len)?;
        let len = u64::from(u32::from_le_bytes(len));
        require_range("length of the key's header", len, 1, MAX_HEADER_LEN)?;
        let mut bytes = vec![0; len as usize];
        input.read_exact(&mut bytes)?;
        let header = Self::decode(kind, input.version(), &bytes)?;
        let parameters = ParameterSet::new(header.spec.clone(), policy)?;
        if kind == KeyKind::Conversion {
            parameters.require_words()?;
        }
        let (given, expected) = (input.remaining(), header.elements_len());
        if given != expected {
            return Err(TfheError::Mismatch { what: "size of the key's elements in bytes", given, expected });
        }
        Ok((input, header, parameters))
    }
}

impl ParameterSpec {
    /// Bytes of a sealed server key of this set, as [`ClientKey`](crate::ClientKey) writes it.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    #[doc = include_str!("../example_server.txt")]
    /// let expected = parameters.sealed_key_len(KeyKind::Keyswitch, KeyForm::Seeded);
    /// assert_eq!(keyswitch.len() as u64, expected);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sealed_key_len(&self, kind: KeyKind, form: KeyForm) -> u64 {
        KeyHeader::new(kind, self.clone(), KeyTag(0), form, PublicSeed([0; 32])).sealed_len()
    }
}

/// Checks that two keys are of one key set.
///
/// # Errors
/// If their tags or parameter sets differ.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
#[doc = include_str!("../example_server.txt")]
/// let header = validate_key(KeyKind::Bootstrap, &bootstrap[..], policy)?;
/// let other = ClientKey::generate(&parameters, &SecretSeed::from_os()?);
/// let other = other.write_keyswitch_key(KeyForm::Seeded, KeySeeds::from_os()?, Vec::new())?;
/// let other = validate_key(KeyKind::Keyswitch, &other[..], policy)?;
/// assert!(server_key::require_same_key_set(&header, &other).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn require_same_key_set(bootstrap: &KeyHeader, keyswitch: &KeyHeader) -> Result<(), TfheError> {
    let what = "key tag of the bootstrapping key (the key-switching key has another)";
    require_key_set(what, bootstrap.tag, keyswitch.tag)?;
    require_same_set(&bootstrap.spec, &keyswitch.spec)
}

/// Checks that two keys are of one parameter set.
fn require_same_set(bootstrap: &ParameterSpec, keyswitch: &ParameterSpec) -> Result<(), TfheError> {
    let numbers = |s: &ParameterSpec| {
        [
            ("torus width of the bootstrapping key (the key-switching key has another)", s.torus.bits() as usize),
            ("LWE dimension n of the bootstrapping key (the key-switching key has another)", s.lwe_dimension.0),
            ("GLWE dimension k of the bootstrapping key (the key-switching key has another)", s.glwe_dimension.0),
            ("polynomial size N of the bootstrapping key (the key-switching key has another)", s.polynomial_size.get()),
        ]
    };
    for ((what, given), (_, expected)) in numbers(bootstrap).into_iter().zip(numbers(keyswitch)) {
        require_equal(what, given, expected)?;
    }
    let what = "number of gadgets, noises and names that differ between the bootstrapping and the key-switching key";
    let differ = [
        bootstrap.pbs != keyswitch.pbs || bootstrap.ks != keyswitch.ks,
        bootstrap.lwe_noise != keyswitch.lwe_noise || bootstrap.glwe_noise != keyswitch.glwe_noise,
        bootstrap.name != keyswitch.name,
        bootstrap.message_bits != keyswitch.message_bits || bootstrap.max_norm2 != keyswitch.max_norm2,
        bootstrap.modulus_switch != keyswitch.modulus_switch || bootstrap.word != keyswitch.word,
    ];
    require_equal(what, differ.into_iter().filter(|&differs| differs).count(), 0)
}
