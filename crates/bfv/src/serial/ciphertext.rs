//! Ciphertexts.

use ciphermill_lattice::rns::{Coefficients, RnsBasis, RnsPoly};
use ciphermill_lattice::{KeyTag, PublicSeed};
use ciphermill_wire::{Decoder, Encoder, open, seal, sealed_len};

use super::{BODY_VERSION, CIPHERTEXT};
use crate::ciphertext::{Ciphertext, SeededCiphertext};
use crate::context::Context;
use crate::error::{BfvError, require_range};
use crate::parameters::{ParameterId, ParameterSpec};

/// Bytes before the seed or the residues.
const HEADER_LEN: u64 = 24;
/// Bytes of the seed.
const SEED_LEN: u64 = 32;
/// c_0, c_1 and perhaps c_2.
const PARTS: std::ops::RangeInclusive<usize> = 2..=3;

/// How c_1 is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Full = 0,
    Seeded = 1,
}

/// A ciphertext as its bytes give it.
enum Stored {
    Full(Ciphertext),
    Seeded(SeededCiphertext),
}

impl ParameterSpec {
    /// Bytes of a sealed ciphertext of `limbs` limbs and `parts` parts.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[1])?, 2, &mut rng)?;
    /// assert_eq!(context.parameters().sealed_ciphertext_len(2, 2), x.to_bytes(&context)?.len() as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sealed_ciphertext_len(&self, limbs: usize, parts: usize) -> u64 {
        sealed_len(HEADER_LEN + parts as u64 * self.packed_len(limbs))
    }

    /// Bytes of a sealed seeded ciphertext of `limbs` limbs.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt_seeded(&context.encode(&[1])?, 2, &mut rng)?;
    /// assert_eq!(context.parameters().sealed_seeded_ciphertext_len(2), x.to_bytes(&context)?.len() as u64);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sealed_seeded_ciphertext_len(&self, limbs: usize) -> u64 {
        sealed_len(HEADER_LEN + SEED_LEN + self.packed_len(limbs))
    }
}

fn put_header(context: &Context, tag: KeyTag, limbs: usize, parts: usize, form: Form, out: &mut Encoder) {
    out.u64(context.parameters().id().0).u64(tag.0);
    out.u8(context.parameters().polynomial_size.log2() as u8);
    out.u8(limbs as u8).u8(parts as u8).u8(form as u8).u32(0);
}

impl Stored {
    /// Reads a body.
    fn decode(context: &Context, input: &mut Decoder<'_>) -> Result<Self, BfvError> {
        let parameters = ParameterId(input.u64()?);
        let tag = KeyTag(input.u64()?);
        let (log2, limbs, parts) = (input.u8()?, usize::from(input.u8()?), usize::from(input.u8()?));
        let (form, reserved) = (input.u8()?, input.u32()?);
        context.require_parameters("the ciphertext", parameters)?;
        let size = context.parameters().polynomial_size.log2();
        require_range("log2 of the ciphertext's polynomial size", log2, size, size)?;
        context.require_limbs(limbs)?;
        require_range("form of the ciphertext", form, Form::Full as u8, Form::Seeded as u8)?;
        let max = if form == Form::Full as u8 { *PARTS.end() } else { *PARTS.start() };
        require_range("number of parts of the ciphertext", parts as u64, *PARTS.start() as u64, max as u64)?;
        require_range("reserved field of the ciphertext", reserved, 0, 0)?;
        let basis = context.basis(limbs);
        if form == Form::Seeded as u8 {
            let seed = PublicSeed(input.array()?);
            return Ok(Stored::Seeded(SeededCiphertext { parameters, tag, seed, c0: residues(basis, input)? }));
        }
        let parts = (0..parts).map(|_| residues(basis, input)).collect::<Result<_, _>>()?;
        Ok(Stored::Full(Ciphertext { parameters, tag, parts }))
    }

    /// Reads a sealed ciphertext.
    fn from_bytes(context: &Context, bytes: &[u8]) -> Result<Self, BfvError> {
        let limit = HEADER_LEN + SEED_LEN + *PARTS.end() as u64 * context.chain().packed_len() as u64;
        let (_, mut input) = open(bytes, CIPHERTEXT, BODY_VERSION..=BODY_VERSION, limit)?;
        let stored = Self::decode(context, &mut input)?;
        input.finish()?;
        Ok(stored)
    }
}

/// The next polynomial. Nothing is allocated unless the input holds it.
pub(crate) fn residues(basis: &RnsBasis, input: &mut Decoder<'_>) -> Result<RnsPoly<Coefficients>, BfvError> {
    Ok(basis.unpack(input.bytes(basis.packed_len())?)?)
}

impl Ciphertext {
    /// The sealed ciphertext.
    ///
    /// # Errors
    /// If it is of another parameter set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[1])?, top, &mut rng)?;
    /// assert_eq!(Ciphertext::from_bytes(&context, &x.to_bytes(&context)?)?, x);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self, context: &Context) -> Result<Vec<u8>, BfvError> {
        context.require_parameters("the ciphertext", self.parameters)?;
        let basis = context.basis(self.limb_count());
        let mut out = Encoder::with_capacity(HEADER_LEN as usize + self.parts.len() * basis.packed_len());
        put_header(context, self.tag, self.limb_count(), self.parts.len(), Form::Full, &mut out);
        for part in &self.parts {
            out.bytes(&basis.pack(part));
        }
        Ok(seal(CIPHERTEXT, BODY_VERSION, &out.into_vec()))
    }

    /// Reads a sealed ciphertext; a seeded one is expanded.
    ///
    /// # Errors
    /// If it is malformed or of another parameter set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[1])?, top, &mut rng)?;
    /// let mut bytes = x.to_bytes(&context)?;
    /// assert_eq!(Ciphertext::from_bytes(&context, &bytes)?, x);
    /// bytes[100] ^= 1;
    /// assert!(matches!(Ciphertext::from_bytes(&context, &bytes), Err(BfvError::Wire(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes(context: &Context, bytes: &[u8]) -> Result<Self, BfvError> {
        match Stored::from_bytes(context, bytes)? {
            Stored::Full(ciphertext) => Ok(ciphertext),
            Stored::Seeded(ciphertext) => ciphertext.expand(context),
        }
    }
}

impl SeededCiphertext {
    /// The sealed ciphertext.
    ///
    /// # Errors
    /// If it is of another parameter set.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt_seeded(&context.encode(&[1])?, top, &mut rng)?;
    /// assert!(x.to_bytes(&context)?.len() < x.expand(&context)?.to_bytes(&context)?.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_bytes(&self, context: &Context) -> Result<Vec<u8>, BfvError> {
        context.require_parameters("the ciphertext", self.parameters)?;
        let mut out = Encoder::default();
        put_header(context, self.tag, self.limb_count(), *PARTS.start(), Form::Seeded, &mut out);
        out.bytes(&self.seed.0).bytes(&context.basis(self.limb_count()).pack(&self.c0));
        Ok(seal(CIPHERTEXT, BODY_VERSION, &out.into_vec()))
    }

    /// Reads a sealed ciphertext, which must be seeded.
    ///
    /// # Errors
    /// If it is malformed, of another parameter set or not seeded.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt_seeded(&context.encode(&[1])?, top, &mut rng)?;
    /// assert_eq!(SeededCiphertext::from_bytes(&context, &x.to_bytes(&context)?)?, x);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_bytes(context: &Context, bytes: &[u8]) -> Result<Self, BfvError> {
        match Stored::from_bytes(context, bytes)? {
            Stored::Seeded(ciphertext) => Ok(ciphertext),
            Stored::Full(_) => {
                let (what, seeded) = ("form of the ciphertext, which must be seeded,", Form::Seeded as i128);
                Err(BfvError::Range { what, given: Form::Full as i128, min: seeded, max: seeded })
            }
        }
    }
}
