//! The client's side: secret keys, encryption, decryption, and generation of the server's keys.

use std::io::Write;

use ciphermill_lattice::rng::{Csprng, RngError};
use ciphermill_lattice::{PublicSeed, SecretSeed, Torus};
use rayon::prelude::*;

use crate::bounds::{Bounds, TableEncodings};
use crate::ciphertext::{Ciphertext, KeyTag, LweElements, TestVector, TestVectorElements};
use crate::circuit::SeededConversionKey;
use crate::elements::write_elements;
use crate::encoding::{Encoding, EncodingError};
use crate::error::{TfheError, require_equal, require_key_set};
use crate::ggsw::{GgswEncryptor, expand_masks};
use crate::glwe::GlweSecretKey;
use crate::keyswitch::SeededLweKeyswitchKey;
use crate::lwe::{LweCiphertext, LweSecretKey};
use crate::noise;
use crate::parameters::{KeyOrder, ParameterSet, TorusWidth};
use crate::progress::Progress;
use crate::range::MessageRange;
use crate::server_key::{KeyForm, KeyHeader, KeyKind};
use crate::test_vector::test_vector;

/// The purpose of a random stream of a client's secret seed.
#[derive(Clone, Copy)]
enum Purpose {
    LweKey = 1,
    GlweKey = 2,
    KeyTag = 3,
}

fn stream(seed: &SecretSeed, purpose: Purpose) -> Csprng {
    Csprng::from_secret(seed, purpose as u64)
}

/// Randomness of one server key: a public seed for its masks and, drawn independently, a secret one for its noise.
///
/// It is given away to the key that is made with it, because two keys with the same masks and noise would betray the secret
/// key.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let keyswitch = client.write_keyswitch_key(KeyForm::Seeded, KeySeeds::from_os()?, Vec::new())?;
/// assert_eq!(validate_key(KeyKind::Keyswitch, &keyswitch[..], policy)?.tag(), client.tag());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct KeySeeds {
    masks: PublicSeed,
    noise: SecretSeed,
}

impl KeySeeds {
    /// Fresh seeds.
    ///
    /// # Errors
    /// If the operating system gives no randomness.
    pub fn from_os() -> Result<Self, RngError> {
        Ok(Self { masks: PublicSeed::from_os()?, noise: SecretSeed::from_os()? })
    }

    /// Seeds of known content, for reproducible tests only: anybody who knows the bytes can decrypt.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let seeds = || KeySeeds::from_bytes([1; 32], [2; 32]);
    /// let key = || client.write_keyswitch_key(KeyForm::Seeded, seeds(), Vec::new());
    /// assert_eq!(key()?, key()?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes(masks: [u8; 32], noise: [u8; 32]) -> Self {
        Self { masks: PublicSeed(masks), noise: SecretSeed::from_bytes(noise) }
    }

    /// The noise of part `index` of the key.
    fn noise(&self, index: u64) -> Csprng {
        Csprng::from_secret(&self.noise, index)
    }
}

/// The secret keys of one key set: the small LWE key and the GLWE key, which is also the big LWE key.
///
/// Zeroised on drop, never printed; [`to_secret_key_bytes`](ClientKey::to_secret_key_bytes) is the only way out.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let x = client.encrypt(&encoding, 5, KeyOrder::Small, &mut rng)?;
/// assert_eq!(client.decrypt(&encoding, &x)?, 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ClientKey {
    pub(crate) parameters: ParameterSet,
    pub(crate) lwe: LweSecretKey,
    pub(crate) glwe: GlweSecretKey,
    pub(crate) tag: KeyTag,
}

impl ClientKey {
    /// Generates secret keys from a seed, which should come from the operating system.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let client = ClientKey::generate(&parameters, &SecretSeed::from_os()?);
    /// assert_eq!(client.parameters().name, TEST_SMALL_U64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn generate(parameters: &ParameterSet, seed: &SecretSeed) -> Self {
        let lwe = LweSecretKey::generate(parameters.lwe_dimension, &mut stream(seed, Purpose::LweKey));
        let glwe = GlweSecretKey::generate(
            parameters.glwe_dimension,
            parameters.polynomial_size,
            &mut stream(seed, Purpose::GlweKey),
        );
        let tag = KeyTag(stream(seed, Purpose::KeyTag).next_u64());
        Self { parameters: parameters.clone(), lwe, glwe, tag }
    }

    /// The parameter set.
    pub fn parameters(&self) -> &ParameterSet {
        &self.parameters
    }

    /// The public number of this key set.
    pub fn tag(&self) -> KeyTag {
        self.tag
    }

    /// The small LWE key.
    pub fn lwe_secret_key(&self) -> &LweSecretKey {
        &self.lwe
    }

    /// The GLWE key.
    pub fn glwe_secret_key(&self) -> &GlweSecretKey {
        &self.glwe
    }

    /// Encrypts a message under the chosen key with randomness from `rng`. The ciphertext states the encoding: every one of
    /// its messages is possible.
    ///
    /// # Errors
    /// If the message is not one of the encoding.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let x = client.encrypt(&encoding, 7, KeyOrder::Big, &mut rng)?;
    /// assert!(client.encrypt(&encoding, 8, KeyOrder::Big, &mut rng).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypt(
        &self,
        encoding: &Encoding,
        message: i64,
        choice: KeyOrder,
        rng: &mut Csprng,
    ) -> Result<Ciphertext, TfheError> {
        self.encrypt_phase(encoding.encode::<u64>(message)?, choice, rng, Some(MessageRange::of(encoding)))
    }

    /// Encrypts a message that is known to lie in `range`, a part of an encoding. A server can then do more with the
    /// ciphertext, for its results stay in a smaller range. The range is public.
    ///
    /// # Errors
    /// [`EncodingError::OutOfRange`] if the message is not in the range.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let small = MessageRange::new(encoding.places(), 0, 3)?;
    /// let x = client.encrypt_in(&small, 3, KeyOrder::Big, &mut rng)?;
    /// assert_eq!(client.decrypt(&encoding, &x)?, 3);
    /// assert!(client.encrypt_in(&small, 4, KeyOrder::Big, &mut rng).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypt_in(
        &self,
        range: &MessageRange,
        message: i64,
        choice: KeyOrder,
        rng: &mut Csprng,
    ) -> Result<Ciphertext, TfheError> {
        let (min, max) = (range.min(), range.max());
        if !(min..=max).contains(&message) {
            return Err(EncodingError::OutOfRange { given: message, min, max }.into());
        }
        self.encrypt_phase(range.encoding().place(message), choice, rng, Some(*range))
    }

    /// Encrypts a torus element, left-aligned in 64 bits and rounded to the width of the chosen key.
    pub(crate) fn encrypt_phase(
        &self,
        phase: u64,
        choice: KeyOrder,
        rng: &mut Csprng,
        range: Option<MessageRange>,
    ) -> Result<Ciphertext, TfheError> {
        let p = &self.parameters;
        let elements = match (choice, p.torus) {
            (KeyOrder::Small, _) => LweElements::U32(self.lwe.encrypt(u32::from_u64_msb(phase), p.lwe_noise, rng)?),
            (KeyOrder::Big, TorusWidth::U32) => {
                let key = self.glwe.to_lwe_secret_key();
                LweElements::U32(key.encrypt(u32::from_u64_msb(phase), p.glwe_noise, rng)?)
            }
            (KeyOrder::Big, TorusWidth::U64) => {
                LweElements::U64(self.glwe.to_lwe_secret_key().encrypt(phase, p.glwe_noise, rng)?)
            }
        };
        let bounds = Bounds::UNSTATED.at_least(noise::fresh_variance(p, choice)).with_range(range);
        Ok(Ciphertext::new(self.tag, choice, elements).with_bounds(bounds))
    }

    /// Decrypts to the nearest message.
    ///
    /// # Errors
    /// If the ciphertext belongs to another key set, its phase is nearest to no message of the encoding, or it states
    /// another number of places than the encoding has.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(client.decrypt(&encoding, &three)?, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decrypt(&self, encoding: &Encoding, ciphertext: &Ciphertext) -> Result<i64, TfheError> {
        let (given, expected) = (ciphertext.bounds().range().map(|range| range.places()), encoding.places());
        if let Some(given) = given
            && given != expected
        {
            return Err(TfheError::OtherEncoding { given, expected });
        }
        Ok(encoding.decode(self.decrypt_phase(ciphertext)?)?)
    }

    /// The phase (message plus noise), left-aligned in 64 bits.
    ///
    /// # Errors
    /// If the ciphertext belongs to another key set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// // The phase, left-aligned in 64 bits, is the encoded message and noise.
    /// let noise = client.decrypt_phase(&three)?.wrapping_sub(encoding.encode(3)?) as i64;
    /// assert!(noise.abs() < 1 << 59);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decrypt_phase(&self, ciphertext: &Ciphertext) -> Result<u64, TfheError> {
        require_key_set("key tag of the ciphertext", ciphertext.key_tag(), self.tag)?;
        let phase = |key: &LweSecretKey| -> Result<u64, TfheError> {
            Ok(match ciphertext.elements() {
                LweElements::U32(c) => key.decrypt_phase::<u32>(c)?.to_u64_msb(),
                LweElements::U64(c) => key.decrypt_phase::<u64>(c)?,
            })
        };
        match ciphertext.choice() {
            KeyOrder::Small => phase(&self.lwe),
            KeyOrder::Big => phase(&self.glwe.to_lwe_secret_key()),
        }
    }

    /// Generates the bootstrapping key: GGSW encryptions of the n small-key bits under the GLWE key. It is written as it
    /// is made, in parallel batches, and never held in memory.
    ///
    /// # Errors
    /// If writing fails, or there is no transform for N.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let mut done = 0;
    /// let seeds = KeySeeds::from_os()?;
    /// let key = client.write_bootstrap_key(KeyForm::Seeded, seeds, Vec::new(), &mut |ready, _| done = ready)?;
    /// assert!(done > 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_bootstrap_key<W: Write>(
        &self,
        form: KeyForm,
        seeds: KeySeeds,
        writer: W,
        progress: Progress<'_>,
    ) -> Result<W, TfheError> {
        match self.parameters.torus {
            TorusWidth::U32 => self.write_bootstrap_key_as::<u32, W>(form, &seeds, writer, progress),
            TorusWidth::U64 => self.write_bootstrap_key_as::<u64, W>(form, &seeds, writer, progress),
        }
    }

    fn write_bootstrap_key_as<T: Torus, W: Write>(
        &self,
        form: KeyForm,
        seeds: &KeySeeds,
        writer: W,
        progress: Progress<'_>,
    ) -> Result<W, TfheError> {
        let masks = seeds.masks;
        let header = KeyHeader::new(KeyKind::Bootstrap, self.parameters.spec().clone(), self.tag, form, masks);
        let encryptor = GgswEncryptor::<T>::new(&self.glwe, self.parameters.pbs, self.parameters.glwe_noise)?;
        let shape = encryptor.shape();
        let bits = self.lwe.bits();
        let mut out = header.seal(writer)?;
        // Two ciphertexts per thread are made while none is written: few, so that memory stays small.
        let batch = 2 * rayon::current_num_threads();
        let mut bodies = vec![T::ZERO; batch * shape.bodies_len()];
        let mut rows = vec![T::ZERO; if form == KeyForm::Full { shape.len() } else { 0 }];
        for (number, message_bits) in bits.chunks(batch).enumerate() {
            let first = number * batch;
            bodies.par_chunks_exact_mut(shape.bodies_len()).zip(message_bits).enumerate().for_each_init(
                || encryptor.scratch(),
                |scratch, (j, (bodies, &bit))| {
                    let index = (first + j) as u64;
                    let mut noise = seeds.noise(index);
                    let first_row = index * shape.row_count() as u64;
                    encryptor.encrypt_bodies(bit, &masks, first_row, &mut noise, bodies, scratch);
                },
            );
            for (j, bodies) in bodies.chunks_exact(shape.bodies_len()).take(message_bits.len()).enumerate() {
                match form {
                    KeyForm::Seeded => write_elements(&mut out, bodies)?,
                    KeyForm::Full => {
                        expand_masks(shape, &masks, ((first + j) * shape.row_count()) as u64, bodies, &mut rows);
                        write_elements(&mut out, &rows)?;
                    }
                }
            }
            progress((first + message_bits.len()) as u64, bits.len() as u64);
        }
        Ok(out.finish()?)
    }

    /// Generates the key-switching key from the big to the small key and writes it.
    ///
    /// # Errors
    /// If writing fails.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let seeded = client.write_keyswitch_key(KeyForm::Seeded, KeySeeds::from_os()?, Vec::new())?;
    /// let full = client.write_keyswitch_key(KeyForm::Full, KeySeeds::from_os()?, Vec::new())?;
    /// assert!(seeded.len() * 90 < full.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_keyswitch_key<W: Write>(&self, form: KeyForm, seeds: KeySeeds, writer: W) -> Result<W, TfheError> {
        let key = self.generate_keyswitch_key(seeds)?;
        let spec = self.parameters.spec().clone();
        let header = KeyHeader::new(KeyKind::Keyswitch, spec, self.tag, form, key.seed);
        let mut out = header.seal(writer)?;
        match form {
            KeyForm::Seeded => write_elements(&mut out, &key.bodies)?,
            KeyForm::Full => {
                // Block by block: the whole key is hundreds of megabytes.
                let mut rows = vec![0u32; key.shape().block_len()];
                for index in 0..key.shape().input_dimension.0 {
                    key.expand_block(index, &mut rows);
                    write_elements(&mut out, &rows)?;
                }
            }
        }
        Ok(out.finish()?)
    }

    /// Generates the key-switching key, compressed.
    ///
    /// # Errors
    /// Never for an admissible parameter set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let key = client.generate_keyswitch_key(KeySeeds::from_os()?)?;
    /// assert_eq!(key.shape().output_dimension, parameters.lwe_dimension);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn generate_keyswitch_key(&self, seeds: KeySeeds) -> Result<SeededLweKeyswitchKey, TfheError> {
        SeededLweKeyswitchKey::generate(
            &self.glwe.to_lwe_secret_key(),
            &self.lwe,
            self.parameters.ks,
            self.parameters.lwe_noise,
            seeds.masks,
            |index| seeds.noise(index),
        )
    }

    /// Writes the sealed conversion key, which turns digits into selectors ([`circuit`](crate::circuit)).
    ///
    /// # Errors
    /// [`TfheError::NoWords`] for a parameter set without words; if writing fails.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example_word.txt")]
    /// use ciphermill_tfhe::KeyKind;
    /// assert_eq!(conversion.len() as u64, parameters.sealed_key_len(KeyKind::Conversion, KeyForm::Seeded));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_conversion_key<W: Write>(&self, form: KeyForm, seeds: KeySeeds, writer: W) -> Result<W, TfheError> {
        let key = self.generate_conversion_key(seeds)?;
        let spec = self.parameters.spec().clone();
        let header = KeyHeader::new(KeyKind::Conversion, spec, self.tag, form, key.seed);
        let mut out = header.seal(writer)?;
        match form {
            KeyForm::Seeded => write_elements(&mut out, &key.bodies)?,
            KeyForm::Full => write_elements(&mut out, key.expand().coefficients())?,
        }
        Ok(out.finish()?)
    }

    /// The big key as one polynomial: that of the ring of tables.
    ///
    /// # Errors
    /// [`TfheError::NoWords`] for a parameter set without words.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example_word.txt")]
    /// let key = client.table_secret_key()?;
    /// assert_eq!((key.dimension().0, key.polynomial_size().get()), (1, 512));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn table_secret_key(&self) -> Result<GlweSecretKey, TfheError> {
        let shape = self.parameters.require_conversion_shape()?;
        Ok(GlweSecretKey::from_bits(self.glwe.bits().to_vec(), shape.polynomial_size))
    }

    /// The conversion key, compressed by a seed.
    ///
    /// # Errors
    /// [`TfheError::NoWords`] for a parameter set without words.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example_word.txt")]
    /// let key = client.generate_conversion_key(KeySeeds::from_os()?)?;
    /// assert_eq!(Some(key.shape()), parameters.conversion_shape());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn generate_conversion_key(&self, seeds: KeySeeds) -> Result<SeededConversionKey, TfheError> {
        let shape = self.parameters.require_conversion_shape()?;
        let key = self.table_secret_key()?;
        let noise = self.parameters.glwe_noise;
        SeededConversionKey::generate(&key, shape, noise, seeds.masks, |row| seeds.noise(row))
    }
}

impl ParameterSet {
    /// A noiseless ciphertext of a message, valid under every key that carries `key_tag`.
    ///
    /// # Errors
    /// If the message is not one of the encoding.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let two = parameters.trivial(&encoding, 2, KeyOrder::Big, client.tag())?;
    /// assert_eq!(client.decrypt(&encoding, &two)?, 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trivial(
        &self,
        encoding: &Encoding,
        message: i64,
        choice: KeyOrder,
        key_tag: KeyTag,
    ) -> Result<Ciphertext, TfheError> {
        let dimension = self.lwe_dimension_of(choice);
        let elements = match (choice, self.torus) {
            (KeyOrder::Big, TorusWidth::U64) => {
                LweElements::U64(LweCiphertext::trivial(encoding.encode(message)?, dimension))
            }
            _ => LweElements::U32(LweCiphertext::trivial(encoding.encode(message)?, dimension)),
        };
        let bounds = Bounds::UNSTATED.at_least(0.0).with_range(Some(MessageRange::of(encoding)));
        Ok(Ciphertext::new(key_tag, choice, elements).with_bounds(bounds))
    }

    /// The test vector of a function from messages of `input` to messages of `output`; see [`test_vector`].
    ///
    /// # Errors
    /// As [`test_vector`].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    #[doc = include_str!("example_server.txt")]
    /// let double = parameters.test_vector(&encoding, &encoding, |m| 2 * m % 8)?;
    /// assert_eq!(client.decrypt(&encoding, &server.bootstrap(&three, &double)?)?, 6);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn test_vector(
        &self,
        input: &Encoding,
        output: &Encoding,
        f: impl Fn(i64) -> i64,
    ) -> Result<TestVector, TfheError> {
        let (k, n) = (self.glwe_dimension, self.polynomial_size);
        let elements = match self.torus {
            TorusWidth::U32 => TestVectorElements::U32(test_vector(k, n, input, output, f)?),
            TorusWidth::U64 => TestVectorElements::U64(test_vector(k, n, input, output, f)?),
        };
        Ok(TestVector::new(elements, Some(TableEncodings { input: *input, output: *output })))
    }

    /// Checks that a test vector has this set's sizes.
    ///
    /// # Errors
    /// If width, k or N differ.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let other = ParameterSet::named("MESSAGE_4_2M64", SecurityPolicy::Require128Bits)?;
    /// assert!(parameters.check_test_vector(&square).is_ok());
    /// assert!(other.check_test_vector(&square).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_test_vector(&self, vector: &TestVector) -> Result<(), TfheError> {
        require_equal("torus width of the test vector", vector.torus().bits() as usize, self.torus.bits() as usize)?;
        let (k, n) = match vector.elements() {
            TestVectorElements::U32(v) => (v.dimension(), v.polynomial_size()),
            TestVectorElements::U64(v) => (v.dimension(), v.polynomial_size()),
        };
        require_equal("GLWE dimension of the test vector", k.0, self.glwe_dimension.0)?;
        require_equal("polynomial size of the test vector", n.get(), self.polynomial_size.get())
    }

    /// Checks that a ciphertext has this set's sizes for its key choice.
    ///
    /// # Errors
    /// If width or dimension differ.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let other = ParameterSet::named("MESSAGE_4_2M64", SecurityPolicy::Require128Bits)?;
    /// assert!(parameters.check_ciphertext(&three).is_ok());
    /// assert!(other.check_ciphertext(&three).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn check_ciphertext(&self, ciphertext: &Ciphertext) -> Result<(), TfheError> {
        let width = match ciphertext.choice() {
            KeyOrder::Small => TorusWidth::U32,
            KeyOrder::Big => self.torus,
        };
        require_equal("torus width of the ciphertext", ciphertext.torus().bits() as usize, width.bits() as usize)?;
        let expected = self.lwe_dimension_of(ciphertext.choice()).0;
        require_equal("LWE dimension of the ciphertext", ciphertext.dimension().0, expected)
    }
}
