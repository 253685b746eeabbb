//! Bootstrapping and key-switching keys as stored and sent, and as loaded for computing.
//!
//! Both are written in coefficient form, compressed by a seed or in full; the transformed form never leaves the
//! process. The bytes are drawn in docs/tfhe.md.

use std::io::{Read, Write};
use std::sync::Arc;

use ciphermill_lattice::{PublicSeed, Torus};
use ciphermill_math::Isa;
use ciphermill_math::ntt::{CpuNttProvider, NttProvider};
use ciphermill_wire::{Decoder, Encoder, Kind, OpenReader, SealWriter, WireError, sealed_len};
use rayon::prelude::*;

use crate::backend::Backend;
use crate::bootstrap::{BackendTorus, BlindRotation};
use crate::ciphertext::KeyTag;
use crate::circuit::{self, Circuit, ConversionKey, SeededConversionKey};
use crate::elements::{BLOCK, read_elements, read_new_elements};
use crate::error::{TfheError, require_equal, require_range};
use crate::ggsw::{GgswCiphertext, expand_masks};
use crate::keyswitch::{KeyswitchShape, LweKeyswitchKey, SeededLweKeyswitchKey};
use crate::memory::{AlignedBuffer, try_reserve};
use crate::noise::key_word;
use crate::parameters::{PARAMETER_VERSIONS, ParameterSet, ParameterSpec, SecurityPolicy, TorusWidth};
use crate::progress::Progress;

/// Envelope kind of a bootstrapping key.
pub const BOOTSTRAP_KEY: Kind = Kind(0x0205);
/// Envelope kind of a key-switching key.
pub const KEYSWITCH_KEY: Kind = Kind(0x0206);
/// Envelope kind of a conversion key.
pub const CONVERSION_KEY: Kind = Kind(0x0208);

/// Most bytes of a key of any admissible parameter set that this crate loads.
pub const MAX_KEY_LEN: u64 = 1 << 36;

/// Default limit of the memory of loaded keys: three times the need of the largest named set. A seeded key of a few
/// megabytes can ask for a hundred gigabytes.
pub const MAX_LOADED_KEY_BYTES: u64 = 8 << 30;

const MAX_HEADER_LEN: u64 = 512;

/// How masks are stored.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
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
#[doc = include_str!("example.txt")]
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
#[doc = include_str!("example.txt")]
#[doc = include_str!("example_server.txt")]
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
    seed: PublicSeed,
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
    #[doc = include_str!("example.txt")]
    #[doc = include_str!("example_server.txt")]
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
    #[doc = include_str!("example.txt")]
    #[doc = include_str!("example_server.txt")]
    /// let expected = parameters.sealed_key_len(KeyKind::Keyswitch, KeyForm::Seeded);
    /// assert_eq!(keyswitch.len() as u64, expected);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sealed_key_len(&self, kind: KeyKind, form: KeyForm) -> u64 {
        KeyHeader::new(kind, self.clone(), KeyTag(0), form, PublicSeed([0; 32])).sealed_len()
    }
}

/// Reads a key to its end without keeping it: conformance and checksum.
///
/// # Errors
/// If anything is malformed, or the set is not admissible under `policy`.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
#[doc = include_str!("example_server.txt")]
/// assert_eq!(validate_key(KeyKind::Keyswitch, &keyswitch[..], policy)?.tag(), client.tag());
/// assert!(validate_key(KeyKind::Bootstrap, &keyswitch[..], policy).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn validate_key<R: Read>(kind: KeyKind, reader: R, policy: SecurityPolicy) -> Result<KeyHeader, TfheError> {
    let (mut input, header, _) = KeyHeader::open(kind, reader, policy)?;
    std::io::copy(&mut input, &mut std::io::sink())?;
    finish(input)?;
    Ok(header)
}

/// Reads a bootstrapping key in coefficient form for an engine of another crate: `visit` receives the n GGSW ciphertexts
/// in order. The masks of a seeded key are expanded.
///
/// # Errors
/// If the key is malformed, not admissible under `policy` or of another torus width, or if `visit` fails.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
#[doc = include_str!("example_server.txt")]
/// let mut selectors = Vec::new();
/// let (header, _) = server_key::read_bootstrap_key::<u64>(&bootstrap[..], policy, |selector| {
///     selectors.push(selector);
///     Ok(())
/// })?;
/// assert_eq!(selectors.len(), header.spec().lwe_dimension.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_bootstrap_key<T: Torus>(
    reader: impl Read,
    policy: SecurityPolicy,
    mut visit: impl FnMut(GgswCiphertext<T>) -> Result<(), TfheError>,
) -> Result<(KeyHeader, ParameterSet), TfheError> {
    let (mut input, header, parameters) = KeyHeader::open(KeyKind::Bootstrap, reader, policy)?;
    require_equal("torus width of the bootstrapping key", parameters.torus.bits() as usize, T::BITS as usize)?;
    let shape = parameters.ggsw_shape();
    for index in 0..parameters.lwe_dimension.0 {
        let rows = match header.form {
            KeyForm::Full => read_new_elements(&mut input, "a GGSW ciphertext", shape.len())?,
            KeyForm::Seeded => {
                let bodies = read_new_elements(&mut input, "a GGSW ciphertext", shape.bodies_len())?;
                let mut rows = vec![T::ZERO; shape.len()];
                expand_masks(shape, &header.seed, (index * shape.row_count()) as u64, &bodies, &mut rows);
                rows
            }
        };
        visit(GgswCiphertext::from_coefficients(rows, shape)?)?;
    }
    finish(input)?;
    Ok((header, parameters))
}

/// Reads a key-switching key in coefficient form for an engine of another crate.
///
/// # Errors
/// If the key is malformed or not admissible under `policy`.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
#[doc = include_str!("example_server.txt")]
/// let (header, _, key) = server_key::read_keyswitch_key(&keyswitch[..], policy)?;
/// assert_eq!(key.shape().output_dimension, header.spec().lwe_dimension);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_keyswitch_key(
    reader: impl Read,
    policy: SecurityPolicy,
) -> Result<(KeyHeader, ParameterSet, LweKeyswitchKey), TfheError> {
    let (mut input, header, parameters) = KeyHeader::open(KeyKind::Keyswitch, reader, policy)?;
    let key = keyswitch_elements(&mut input, &header)?;
    finish(input)?;
    Ok((header, parameters, key))
}

/// Checks the key's checksum, and that nothing follows it.
fn finish<R: Read>(input: OpenReader<R>) -> Result<(), TfheError> {
    // Enough to say how many bytes there are, without following a stream that never ends.
    let given = std::io::copy(&mut input.finish()?.take(1 << 20), &mut std::io::sink())?;
    if given == 0 { Ok(()) } else { Err(WireError::TrailingBytes { given }.into()) }
}

/// Checks that two keys are of one key set.
///
/// # Errors
/// If their tags or parameter sets differ.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
#[doc = include_str!("example_server.txt")]
/// let header = validate_key(KeyKind::Bootstrap, &bootstrap[..], policy)?;
/// let other = ClientKey::generate(&parameters, &SecretSeed::from_os()?);
/// let other = other.write_keyswitch_key(KeyForm::Seeded, KeySeeds::from_os()?, Vec::new())?;
/// let other = validate_key(KeyKind::Keyswitch, &other[..], policy)?;
/// assert!(server_key::require_same_key_set(&header, &other).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn require_same_key_set(bootstrap: &KeyHeader, keyswitch: &KeyHeader) -> Result<(), TfheError> {
    if bootstrap.tag != keyswitch.tag {
        let what = "key tag of the bootstrapping key (the key-switching key has another)";
        return Err(TfheError::Mismatch { what, given: bootstrap.tag.0, expected: keyswitch.tag.0 });
    }
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
    ];
    require_equal(what, differ.into_iter().filter(|&differs| differs).count(), 0)
}

/// Options of loading a server key.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
#[doc = include_str!("example_server.txt")]
/// let options = LoadOptions { max_bytes: 1 << 10, ..LoadOptions::new(Backend::Fft) };
/// let loaded = ServerKey::load_with(&options, &bootstrap[..], &keyswitch[..], policy, &mut |_, _| ());
/// assert!(matches!(loaded, Err(TfheError::KeyTooLarge { .. })));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct LoadOptions {
    /// The transform that multiplies polynomials.
    pub backend: Backend,
    /// The instruction set of all work but the NTT.
    pub isa: Isa,
    /// Memory that the loaded keys may occupy, in bytes.
    pub max_bytes: u64,
    /// The source of the Goldilocks NTT, for [`Backend::Ntt`].
    pub ntt: Arc<dyn NttProvider>,
}

impl LoadOptions {
    /// The best instruction set of this CPU, its NTT, and up to [`MAX_LOADED_KEY_BYTES`].
    ///
    /// # Example
    /// ```
    /// use ciphermill_math::Isa;
    /// use ciphermill_tfhe::{Backend, LoadOptions};
    ///
    /// let options = LoadOptions::new(Backend::Fft);
    /// assert_eq!((options.isa, options.backend), (Isa::current(), Backend::Fft));
    /// ```
    pub fn new(backend: Backend) -> Self {
        Self::on(Isa::current(), backend)
    }

    /// [`new`](Self::new), on the given instruction set.
    ///
    /// # Example
    /// ```
    /// use ciphermill_math::Isa;
    /// use ciphermill_tfhe::server_key::MAX_LOADED_KEY_BYTES;
    /// use ciphermill_tfhe::{Backend, LoadOptions};
    ///
    /// let options = LoadOptions::on(Isa::Portable, Backend::Ntt);
    /// assert_eq!((options.isa, options.backend), (Isa::Portable, Backend::Ntt));
    /// assert_eq!(options.max_bytes, MAX_LOADED_KEY_BYTES);
    /// ```
    pub fn on(isa: Isa, backend: Backend) -> Self {
        Self { backend, isa, max_bytes: MAX_LOADED_KEY_BYTES, ntt: Arc::new(CpuNttProvider::new(isa)) }
    }

    /// The most memory that loading a key of this set takes at any moment, on the threads of the current Rayon pool, in
    /// bytes. It includes the loaded key.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let options = LoadOptions::new(Backend::Fft);
    /// assert!(options.loading_bytes(&parameters) > parameters.loaded_key_bytes(Backend::Fft));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn loading_bytes(&self, parameters: &ParameterSpec) -> u64 {
        let (shape, count) = (parameters.ggsw_shape(), parameters.lwe_dimension.0);
        // Of a full key, two batches as they are read; of a seeded one, two of bodies and one of the rows made of them.
        let batch = 2 * (shape.len() as u64).max(shape.bodies_len() as u64 * 2) * batch_len(count) as u64;
        let component = shape.len().div_ceil(shape.glwe_dimension.glwe_size()) as u64;
        let spectra = component * rayon::current_num_threads() as u64;
        let seeds = parameters.big_lwe_dimension().0 as u64 * parameters.ks.level_count.0 as u64 * 4;
        let words = (batch + spectra + BLOCK as u64).saturating_mul(8);
        let working = words.max(seeds + 8 * BLOCK as u64).saturating_add(LOADING_OVERHEAD);
        // Rows and bodies of the conversion key, and the spectra of one automorphism, while it is transformed.
        let conversion = parameters.conversion_shape().map_or(0, |shape| 3 * 8 * shape.len() as u64);
        let loaded =
            parameters.loaded_key_bytes(self.backend).saturating_add(parameters.loaded_conversion_bytes(self.backend));
        loaded.saturating_add(working.max(conversion))
    }
}

/// Bytes of readers, tables and threads while a key is loaded: 230 KB were measured.
const LOADING_OVERHEAD: u64 = 1 << 20;

/// A loaded server key: the transformed bootstrapping key and the expanded key-switching key.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
#[doc = include_str!("example_server.txt")]
/// let output = server.bootstrap(&three, &square)?;
/// assert_eq!(client.decrypt(&encoding, &output)?, 1);
/// assert_eq!((server.parameters(), server.tag()), (&parameters, client.tag()));
/// assert_eq!(server.backend(), Backend::Fft);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct ServerKey {
    pub(crate) parameters: ParameterSet,
    pub(crate) tag: KeyTag,
    backend: Backend,
    pub(crate) isa: Isa,
    pub(crate) keyswitch: LweKeyswitchKey,
    pub(crate) rotation: Rotation,
    pub(crate) circuit: Option<Box<dyn Circuit>>,
    ntt: Arc<dyn NttProvider>,
    max_bytes: u64,
}

/// The transformed bootstrapping key, by the width of its torus.
#[derive(Debug)]
pub(crate) enum Rotation {
    U32(Box<dyn BlindRotation<u32>>),
    U64(Box<dyn BlindRotation<u64>>),
}

impl ServerKey {
    /// Loads both keys. The bootstrapping key is transformed as it is read, in parallel batches, so that its coefficient
    /// form is never in memory as a whole.
    ///
    /// # Errors
    /// If a key is malformed, not admissible under `policy`, the two do not belong together, or they would take more than
    /// [`MAX_LOADED_KEY_BYTES`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    #[doc = include_str!("example_server.txt")]
    /// let server = ServerKey::load(&bootstrap[..], &keyswitch[..], Backend::Ntt, policy, &mut |_, _| ())?;
    /// assert_eq!(server.tag(), client.tag());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load(
        bootstrap: impl Read,
        keyswitch: impl Read,
        backend: Backend,
        policy: SecurityPolicy,
        progress: Progress<'_>,
    ) -> Result<Self, TfheError> {
        Self::load_with(&LoadOptions::new(backend), bootstrap, keyswitch, policy, progress)
    }

    /// [`load`](Self::load), to compute with the given instruction set, if the loaded keys take at most `max_bytes`.
    ///
    /// # Errors
    /// As [`load`](Self::load), and if the CPU lacks the instruction set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    #[doc = include_str!("example_server.txt")]
    /// let portable = ServerKey::load_on(
    ///     Isa::Portable, 1 << 30, &bootstrap[..], &keyswitch[..], Backend::Fft, policy, &mut |_, _| (),
    /// )?;
    /// let output = portable.bootstrap(&three, &square)?;
    /// assert_eq!(client.decrypt(&encoding, &output)?, 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load_on(
        isa: Isa,
        max_bytes: u64,
        bootstrap: impl Read,
        keyswitch: impl Read,
        backend: Backend,
        policy: SecurityPolicy,
        progress: Progress<'_>,
    ) -> Result<Self, TfheError> {
        let options = LoadOptions { max_bytes, ..LoadOptions::on(isa, backend) };
        Self::load_with(&options, bootstrap, keyswitch, policy, progress)
    }

    /// [`load`](Self::load) with all options.
    ///
    /// # Errors
    /// As [`load`](Self::load), and if the CPU lacks the instruction set or the provider has no transform for N.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    #[doc = include_str!("example_server.txt")]
    /// let needed = parameters.loaded_key_bytes(Backend::Fft);
    /// let options = LoadOptions { max_bytes: needed, ..LoadOptions::new(Backend::Fft) };
    /// let server = ServerKey::load_with(&options, &bootstrap[..], &keyswitch[..], policy, &mut |_, _| ())?;
    /// assert_eq!(server.memory_bytes(), needed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load_with(
        options: &LoadOptions,
        bootstrap: impl Read,
        keyswitch: impl Read,
        policy: SecurityPolicy,
        progress: Progress<'_>,
    ) -> Result<Self, TfheError> {
        let &LoadOptions { backend, isa, max_bytes, .. } = options;
        // Both headers are judged before either key takes memory.
        let (mut keyswitch_input, keyswitch_header, parameters) =
            KeyHeader::open(KeyKind::Keyswitch, keyswitch, policy)?;
        let (mut input, header, _) = KeyHeader::open(KeyKind::Bootstrap, bootstrap, policy)?;
        let tag = keyswitch_header.tag;
        require_same_key_set(&header, &keyswitch_header)?;
        let needed = parameters.loaded_key_bytes(backend);
        if needed > max_bytes {
            return Err(TfheError::KeyTooLarge { needed, limit: max_bytes });
        }
        let keyswitch = keyswitch_elements(&mut keyswitch_input, &keyswitch_header)?;
        finish(keyswitch_input)?;
        let rotation = match parameters.torus {
            TorusWidth::U32 => Rotation::U32(transform_bootstrap_key(&mut input, &header, options, progress)?),
            TorusWidth::U64 => Rotation::U64(transform_bootstrap_key(&mut input, &header, options, progress)?),
        };
        finish(input)?;
        Ok(Self {
            parameters,
            tag,
            backend,
            isa,
            keyswitch,
            rotation,
            circuit: None,
            ntt: Arc::clone(&options.ntt),
            max_bytes,
        })
    }

    /// Adds a conversion key, so that the server key also selects and looks up words.
    ///
    /// # Errors
    /// If the key is malformed, not admissible under `policy`, not of this key set, or exceeds the memory that loading allowed.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example_word.txt")]
    /// // Without a conversion key, a server key bootstraps and does not select.
    /// let plain = ServerKey::load(&bootstrap[..], &keyswitch[..], Backend::Fft, policy, &mut |_, _| ())?;
    /// assert!(matches!(plain.select(&word), Err(TfheError::KeyPart(_))));
    /// assert!(plain.with_conversion(&conversion[..], policy)?.select(&word).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_conversion(mut self, conversion: impl Read, policy: SecurityPolicy) -> Result<Self, TfheError> {
        // The header is judged before the key takes memory.
        let (input, header, parameters) = KeyHeader::open(KeyKind::Conversion, conversion, policy)?;
        if header.tag != self.tag {
            let (given, expected) = (header.tag.0, self.tag.0);
            return Err(TfheError::Mismatch { what: "key tag of the conversion key", given, expected });
        }
        let differs = usize::from(header.spec != *self.parameters.spec());
        require_equal("parameter sets that differ between the conversion key and the bootstrapping key", differs, 0)?;
        let needed = self.memory_bytes().saturating_add(parameters.loaded_conversion_bytes(self.backend));
        if needed > self.max_bytes {
            return Err(TfheError::KeyTooLarge { needed, limit: self.max_bytes });
        }
        let key = conversion_key(input, &header)?;
        self.circuit = Some(circuit::of(&key, &self.parameters, self.backend, self.isa, &*self.ntt)?);
        Ok(self)
    }

    /// The parameter set.
    pub fn parameters(&self) -> &ParameterSet {
        &self.parameters
    }

    /// The key set.
    pub fn tag(&self) -> KeyTag {
        self.tag
    }

    /// The back end.
    pub fn backend(&self) -> Backend {
        self.backend
    }

    /// Bytes that the loaded key occupies.
    pub fn memory_bytes(&self) -> u64 {
        let rotation = match &self.rotation {
            Rotation::U32(r) => r.memory_bytes(),
            Rotation::U64(r) => r.memory_bytes(),
        };
        let circuit = self.circuit.as_ref().map_or(0, |circuit| circuit.memory_bytes());
        rotation + circuit + std::mem::size_of_val(self.keyswitch.elements()) as u64
    }

    /// The key-switching key.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    #[doc = include_str!("example_server.txt")]
    /// assert_eq!(server.keyswitch_key().shape().output_dimension, parameters.lwe_dimension);
    /// let ciphertext::LweElements::U64(big) = three.elements() else { unreachable!("the big key has 64 bits") };
    /// let small = server.keyswitch_key().switch(big)?;
    /// assert_eq!(client.lwe_secret_key().decrypt_phase(&small)?.wrapping_add(1 << 27) >> 28, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn keyswitch_key(&self) -> &LweKeyswitchKey {
        &self.keyswitch
    }
}

/// The conversion key after its header.
fn conversion_key(mut input: OpenReader<impl Read>, header: &KeyHeader) -> Result<ConversionKey, TfheError> {
    let shape = header.spec.require_conversion_shape()?;
    let what = "the conversion key";
    drop(try_reserve::<u64>(what, shape.len() + shape.bodies_len())?);
    let key = match header.form {
        KeyForm::Seeded => {
            let bodies = read_new_elements(&mut input, what, shape.bodies_len())?;
            SeededConversionKey { shape, seed: header.seed, bodies }.expand()
        }
        KeyForm::Full => ConversionKey::from_coefficients(read_new_elements(&mut input, what, shape.len())?, shape)?,
    };
    finish(input)?;
    Ok(key)
}

fn keyswitch_elements(input: &mut impl Read, header: &KeyHeader) -> Result<LweKeyswitchKey, TfheError> {
    let spec = &header.spec;
    let shape = KeyswitchShape {
        input_dimension: spec.big_lwe_dimension(),
        output_dimension: spec.lwe_dimension,
        decomposition: spec.ks,
    };
    let what = "the key-switching key";
    match header.form {
        KeyForm::Seeded => {
            let bodies = read_new_elements(input, what, shape.row_count())?;
            // Expanding multiplies the size by n + 1, and cannot fail: so ask before.
            drop(try_reserve::<u32>(what, shape.len())?);
            Ok(SeededLweKeyswitchKey { shape, seed: header.seed, bodies }.expand())
        }
        KeyForm::Full => {
            // Touched as it is read, as in `read_new_elements`.
            let mut elements = AlignedBuffer::try_with_capacity(what, shape.len())?;
            while elements.len() < shape.len() {
                let read = elements.len();
                elements.grow(shape.len().min(read + BLOCK));
                read_elements(input, &mut elements[read..])?;
            }
            LweKeyswitchKey::from_buffer(elements, shape)
        }
    }
}

fn transform_bootstrap_key<T: BackendTorus>(
    input: &mut impl Read,
    header: &KeyHeader,
    options: &LoadOptions,
    progress: Progress<'_>,
) -> Result<Box<dyn BlindRotation<T>>, TfheError> {
    let spec = &header.spec;
    let (shape, count) = (spec.ggsw_shape(), spec.lwe_dimension.0);
    let mut builder = T::builder(options.backend, key_word(spec), options.isa, &*options.ntt, shape, count)?;
    let batch = batch_len(count);
    let element_count = match header.form {
        KeyForm::Seeded => shape.bodies_len(),
        KeyForm::Full => shape.len(),
    };
    drop(try_reserve::<T>("batches of the bootstrapping key", batch * (2 * element_count + 2 * shape.len()))?);
    let mut rows = vec![T::ZERO; if header.form == KeyForm::Seeded { batch * shape.len() } else { 0 }];
    // One batch is read while the other is expanded and transformed.
    let [mut current, mut next] = [(); 2].map(|()| vec![T::ZERO; batch * element_count]);
    let len_from = |first: usize| batch.min(count - first) * element_count;
    read_elements(input, &mut current[..len_from(0)])?;
    for first in (0..count).step_by(batch) {
        let number = batch.min(count - first);
        let elements = &current[..number * element_count];
        let following = first + number;
        let (mut pushed, mut read) = (Ok(()), Ok(()));
        rayon::in_place_scope(|scope| {
            let (builder, rows, pushed) = (&mut builder, &mut rows, &mut pushed);
            scope.spawn(move |_| {
                *pushed = match header.form {
                    KeyForm::Full => builder.push(elements),
                    KeyForm::Seeded => {
                        let rows = &mut rows[..number * shape.len()];
                        expand_batch(header, first, elements, rows);
                        builder.push(rows)
                    }
                };
            });
            if following < count {
                read = read_elements(input, &mut next[..len_from(following)]);
            }
        });
        pushed?;
        read?;
        std::mem::swap(&mut current, &mut next);
        progress(following as u64, count as u64);
    }
    builder.finish()
}

/// Ciphertexts of a bootstrapping key that are read while as many are transformed.
fn batch_len(count: usize) -> usize {
    (2 * rayon::current_num_threads()).min(count)
}

/// Rebuilds the rows of seeded GGSW ciphertexts from the `first` on, in parallel.
fn expand_batch<T: Torus>(header: &KeyHeader, first: usize, bodies: &[T], rows: &mut [T]) {
    let shape = header.spec.ggsw_shape();
    rows.par_chunks_exact_mut(shape.len()).zip(bodies.par_chunks_exact(shape.bodies_len())).enumerate().for_each(
        |(j, (rows, bodies))| {
            expand_masks(shape, &header.seed, ((first + j) * shape.row_count()) as u64, bodies, rows);
        },
    );
}
