//! The numbers of a parameter set and their byte form.

use std::fmt;

use ciphermill_lattice::NoiseDistribution;
use ciphermill_wire::{Decoder, Encoder};

use crate::circuit::ConversionShape;
use crate::dimension::{
    Decomposition, DecompositionBaseLog, DecompositionLevelCount, GlweDimension, LweDimension, PolynomialSize,
};
use crate::error::{TfheError, require_range};
use crate::ggsw_shape::GgswShape;
use crate::modulus_switch::ModulusSwitch;
use crate::parameters::error::ParameterError;

/// Longest name of a parameter set, in bytes.
pub const MAX_NAME_LEN: usize = 64;

/// Width of the discretised torus of GLWE ciphertexts. Ciphertexts under the small key are always 32 bits wide.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// assert_eq!(parameters.torus, TorusWidth::U64);
/// assert_eq!((TorusWidth::U32.bits(), TorusWidth::U64.bytes()), (32, 8));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TorusWidth {
    /// 32 bits.
    U32,
    /// 64 bits.
    U64,
}

impl TorusWidth {
    /// 32 or 64.
    pub fn bits(self) -> u32 {
        match self {
            TorusWidth::U32 => 32,
            TorusWidth::U64 => 64,
        }
    }

    /// The width that a stored object states.
    pub(crate) fn from_bits(given: u8) -> Result<Self, TfheError> {
        match given {
            32 => Ok(TorusWidth::U32),
            64 => Ok(TorusWidth::U64),
            _ => Err(TfheError::Field { what: "torus width", given: u64::from(given), min: 32, max: 64 }),
        }
    }

    /// Bytes of one torus element.
    pub fn bytes(self) -> usize {
        self.bits() as usize / 8
    }
}

/// Under which key ciphertexts travel, and with it the order of key switch and blind rotation.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let small = client.encrypt(&encoding, 3, KeyOrder::Small, &mut rng)?;
/// assert!(small.to_bytes().len() < three.to_bytes().len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyOrder {
    /// Under the extracted key of dimension k·N: key switch first, then blind rotation.
    Big,
    /// Under the small key of dimension n: blind rotation first, key switch last (the paper's order).
    Small,
}

impl KeyOrder {
    /// Its number in the byte formats.
    pub(crate) fn code(self) -> u8 {
        match self {
            KeyOrder::Big => 0,
            KeyOrder::Small => 1,
        }
    }
}

impl fmt::Display for KeyOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            KeyOrder::Big => "big",
            KeyOrder::Small => "small",
        })
    }
}

/// The numbers of a parameter set.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// // A variant of a named set is judged like any other.
/// let spec = ParameterSpec { name: "MY_SET".to_owned(), max_norm2: 1.0, ..parameters.spec().clone() };
/// assert_eq!(spec.big_lwe_dimension(), LweDimension(1024));
/// assert!(ParameterSet::new(spec, policy)?.log2_p_fail() < parameters.log2_p_fail());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ParameterSpec {
    /// Name, at most [`MAX_NAME_LEN`] bytes of printable ASCII without spaces.
    pub name: String,
    /// Torus of GLWE ciphertexts and of LWE ciphertexts under the big key.
    pub torus: TorusWidth,
    /// n.
    pub lwe_dimension: LweDimension,
    /// k.
    pub glwe_dimension: GlweDimension,
    /// N.
    pub polynomial_size: PolynomialSize,
    /// Noise of 32-bit LWE ciphertexts under the small key and of the key-switching key.
    pub lwe_noise: NoiseDistribution,
    /// Noise of GLWE ciphertexts, of the bootstrapping key and of LWE ciphertexts under the big key.
    pub glwe_noise: NoiseDistribution,
    /// Gadget of the bootstrapping key.
    pub pbs: Decomposition,
    /// Gadget of the key-switching key.
    pub ks: Decomposition,
    /// Message bits (a padding bit comes on top) for which the failure probability is stated.
    pub message_bits: u32,
    /// Greatest 2-norm of an integer linear combination of bootstrapped ciphertexts before the next bootstrap.
    pub max_norm2: f64,
    /// The modulus switch before a blind rotation.
    pub modulus_switch: ModulusSwitch,
    /// The gadgets of words, if the set has them ([`circuit`](crate::circuit)).
    pub word: Option<WordGadgets>,
}

/// The gadgets by which digits become selectors ([`circuit`](crate::circuit)). All act on one ring: k = 1 and N' = k·N.
///
/// # Example
/// ```
#[doc = include_str!("../example_word.txt")]
/// use ciphermill_tfhe::dimension::Decomposition;
/// let gadgets = parameters.word.ok_or("a set with words")?;
/// assert_eq!(gadgets.selector, Decomposition::new(7, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WordGadgets {
    /// Of the selectors.
    pub selector: Decomposition,
    /// Of the trace.
    pub trace: Decomposition,
    /// Of the scheme switch.
    pub square: Decomposition,
}

/// Version of the bodies that hold a parameter set with the plain modulus switch.
const PLAIN_VERSION: u16 = 1;

/// Version of the bodies that hold a parameter set with another modulus switch.
const SWITCH_VERSION: u16 = 2;

/// Version of the bodies that hold a parameter set with words.
const WORD_VERSION: u16 = 3;

/// Versions of the bodies that hold a parameter set.
pub(crate) const PARAMETER_VERSIONS: std::ops::RangeInclusive<u16> = PLAIN_VERSION..=WORD_VERSION;

impl ParameterSpec {
    /// k·N, the dimension of LWE ciphertexts under the big key.
    pub fn big_lwe_dimension(&self) -> LweDimension {
        self.glwe_dimension.extracted_lwe_dimension(self.polynomial_size)
    }

    /// LWE dimension of ciphertexts under the chosen key.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let [big, small] = [KeyOrder::Big, KeyOrder::Small].map(|order| parameters.lwe_dimension_of(order));
    /// assert_eq!((big, small), (LweDimension(1024), LweDimension(96)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn lwe_dimension_of(&self, choice: KeyOrder) -> LweDimension {
        match choice {
            KeyOrder::Big => self.big_lwe_dimension(),
            KeyOrder::Small => self.lwe_dimension,
        }
    }

    /// Sizes of a GGSW ciphertext of the bootstrapping key.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let encryptor = GgswEncryptor::<u64>::new(client.glwe_secret_key(), parameters.pbs, parameters.glwe_noise)?;
    /// assert_eq!(parameters.ggsw_shape(), encryptor.shape());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ggsw_shape(&self) -> GgswShape {
        GgswShape {
            glwe_dimension: self.glwe_dimension,
            polynomial_size: self.polynomial_size,
            decomposition: self.pbs,
        }
    }

    /// The sizes of the conversion key; `None` for a set without words, and for a k·N that is not a power of two.
    #[must_use]
    pub fn conversion_shape(&self) -> Option<ConversionShape> {
        let size = PolynomialSize::new(self.big_lwe_dimension().0).ok()?;
        let WordGadgets { trace, square, .. } = self.word?;
        Some(ConversionShape { polynomial_size: size, trace, square })
    }

    /// The sizes of the conversion key; refuses a set without one.
    pub(crate) fn require_conversion_shape(&self) -> Result<ConversionShape, TfheError> {
        self.conversion_shape().ok_or_else(|| self.no_words())
    }

    /// What a set without words is refused with.
    pub(crate) fn no_words(&self) -> TfheError {
        TfheError::NoWords { name: self.name.clone() }
    }

    /// Version of a body that holds this parameter set. Sets with the plain switch keep the bytes of version 1, and sets
    /// without words those of version 2.
    pub(crate) fn body_version(&self) -> u16 {
        match (self.word, self.modulus_switch) {
            (None, ModulusSwitch::Plain) => PLAIN_VERSION,
            (None, ModulusSwitch::Centred) => SWITCH_VERSION,
            (Some(_), _) => WORD_VERSION,
        }
    }

    pub(crate) fn encode(&self, out: &mut Encoder) {
        out.u8(self.name.len() as u8).bytes(self.name.as_bytes());
        out.u8(self.torus.bits() as u8);
        out.u32(self.lwe_dimension.0 as u32).u32(self.glwe_dimension.0 as u32).u32(self.polynomial_size.get() as u32);
        for noise in [self.lwe_noise, self.glwe_noise] {
            match noise {
                NoiseDistribution::Gaussian { std_dev } => out.u8(0).f64(std_dev),
                NoiseDistribution::TUniform { bound_log2 } => out.u8(1).f64(f64::from(bound_log2)),
            };
        }
        for gadget in [self.pbs, self.ks] {
            out.u8(gadget.base_log.0 as u8).u8(gadget.level_count.0 as u8);
        }
        out.u8(self.message_bits as u8).f64(self.max_norm2);
        if self.body_version() >= SWITCH_VERSION {
            out.u8(self.modulus_switch.code());
        }
        if let Some(WordGadgets { selector, trace, square }) = self.word {
            for gadget in [selector, trace, square] {
                out.u8(gadget.base_log.0 as u8).u8(gadget.level_count.0 as u8);
            }
        }
    }

    /// Reads the fields of a body of this version; [`ParameterSet::new`] judges them.
    pub(crate) fn decode(input: &mut Decoder<'_>, version: u16) -> Result<Self, TfheError> {
        let len = usize::from(input.u8()?);
        require_range("length of the parameter set's name", len as u64, 1, MAX_NAME_LEN as u64)?;
        let name = String::from_utf8_lossy(input.bytes(len)?).into_owned();
        let torus = TorusWidth::from_bits(input.u8()?)?;
        let lwe_dimension = LweDimension(input.u32()? as usize);
        let glwe_dimension = GlweDimension(input.u32()? as usize);
        let size = input.u32()? as usize;
        let polynomial_size = PolynomialSize::try_from(size).map_err(|_| TfheError::Field {
            what: "polynomial size (a power of two)",
            given: size as u64,
            min: 16,
            max: 65536,
        })?;
        let mut noise = || -> Result<NoiseDistribution, TfheError> {
            let tag = input.u8()?;
            let value = input.f64()?;
            match tag {
                0 => Ok(NoiseDistribution::Gaussian { std_dev: value }),
                // An integer, so that a noise has one form.
                1 if (0.0..=62.0).contains(&value) && value.fract() == 0.0 && value.is_sign_positive() => {
                    Ok(NoiseDistribution::TUniform { bound_log2: value as u32 })
                }
                1 => {
                    let what = "log2 of the TUniform bound (an integer)";
                    Err(ParameterError::Range { what, given: value, min: 0.0, max: 62.0 }.into())
                }
                _ => Err(TfheError::Field { what: "noise distribution", given: u64::from(tag), min: 0, max: 1 }),
            }
        };
        let (lwe_noise, glwe_noise) = (noise()?, noise()?);
        let mut gadget = || -> Result<Decomposition, TfheError> {
            Ok(Decomposition {
                base_log: DecompositionBaseLog(usize::from(input.u8()?)),
                level_count: DecompositionLevelCount(usize::from(input.u8()?)),
            })
        };
        let (pbs, ks) = (gadget()?, gadget()?);
        let message_bits = u32::from(input.u8()?);
        let max_norm2 = input.f64()?;
        let modulus_switch = match version {
            PLAIN_VERSION => ModulusSwitch::Plain,
            // A set without words and with the plain switch has version 1, so that a set has one form.
            _ => match (input.u8()?, version) {
                (0, WORD_VERSION) => ModulusSwitch::Plain,
                (1, _) => ModulusSwitch::Centred,
                (given, _) => {
                    return Err(TfheError::Field { what: "modulus switch", given: u64::from(given), min: 1, max: 1 });
                }
            },
        };
        let mut gadget = || -> Result<Decomposition, TfheError> {
            Ok(Decomposition::new(usize::from(input.u8()?), usize::from(input.u8()?)))
        };
        let word = match version {
            WORD_VERSION => Some(WordGadgets { selector: gadget()?, trace: gadget()?, square: gadget()? }),
            _ => None,
        };
        Ok(Self {
            name,
            torus,
            lwe_dimension,
            glwe_dimension,
            polynomial_size,
            lwe_noise,
            glwe_noise,
            pbs,
            ks,
            message_bits,
            max_norm2,
            modulus_switch,
            word,
        })
    }
}
