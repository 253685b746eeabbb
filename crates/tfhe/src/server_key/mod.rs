//! Bootstrapping, key-switching and conversion keys as stored and sent, and as loaded for computing.
//!
//! They are written in coefficient form, compressed by a seed or in full; the transformed form never leaves the process.
//! The bytes are drawn in docs/tfhe.md.

mod elements;
mod header;
mod options;

use std::io::Read;
use std::sync::Arc;

use ciphermill_math::Isa;
use ciphermill_math::ntt::NttProvider;

use crate::backend::Backend;
use crate::bootstrap::BlindRotation;
use crate::ciphertext::KeyTag;
use crate::circuit::{self, Circuit};
use crate::error::{TfheError, require_equal, require_key_set};
use crate::keyswitch::LweKeyswitchKey;
use crate::parameters::{ParameterSet, SecurityPolicy, TorusWidth};
use crate::progress::Progress;
use elements::{conversion_key, finish, keyswitch_elements, transform_bootstrap_key};
pub use elements::{read_bootstrap_key, read_conversion_key, read_keyswitch_key, validate_key};
pub use header::{
    BOOTSTRAP_KEY, CONVERSION_KEY, KEYSWITCH_KEY, KeyForm, KeyHeader, KeyKind, MAX_KEY_LEN, require_same_key_set,
};
pub use options::{LoadOptions, MAX_LOADED_KEY_BYTES};

/// A loaded server key: the transformed bootstrapping key and the expanded key-switching key.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
#[doc = include_str!("../example_server.txt")]
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
    #[doc = include_str!("../example.txt")]
    #[doc = include_str!("../example_server.txt")]
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
    #[doc = include_str!("../example.txt")]
    #[doc = include_str!("../example_server.txt")]
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
    #[doc = include_str!("../example.txt")]
    #[doc = include_str!("../example_server.txt")]
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
        let tag = keyswitch_header.tag();
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
    #[doc = include_str!("../example_word.txt")]
    /// // Without a conversion key, a server key bootstraps and does not select.
    /// let plain = ServerKey::load(&bootstrap[..], &keyswitch[..], Backend::Fft, policy, &mut |_, _| ())?;
    /// assert!(matches!(plain.select(&word), Err(TfheError::KeyPart(_))));
    /// assert!(plain.with_conversion(&conversion[..], policy)?.select(&word).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_conversion(mut self, conversion: impl Read, policy: SecurityPolicy) -> Result<Self, TfheError> {
        // The header is judged before the key takes memory.
        let (input, header, parameters) = KeyHeader::open(KeyKind::Conversion, conversion, policy)?;
        require_key_set("key tag of the conversion key", header.tag(), self.tag)?;
        let differs = usize::from(header.spec() != self.parameters.spec());
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
    #[doc = include_str!("../example.txt")]
    #[doc = include_str!("../example_server.txt")]
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
