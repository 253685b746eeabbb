//! Image, kernels and output.

use std::sync::Arc;

use ciphermill_lattice::rns::RnsPoly;
use ciphermill_lattice::{Csprng, KeyTag};
use zeroize::Zeroizing;

use super::plan::ConvPlan;
use super::shape::Shape;
use crate::Encryption;
use crate::entries::require_entries;
use crate::error::HmvpError;
use crate::slots::{in_pool, map};
use ciphermill_bfv::ciphertext::{Ciphertext, Plaintext};
use ciphermill_bfv::encryption::require_tag;
use ciphermill_bfv::error::{BfvError, require_length};
use ciphermill_bfv::keys::{PublicKey, SecretKey};

/// An encrypted image.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let shape = ConvShape {
///     channels: 1, height: 3, width: 3, kernels: 1, kernel_height: 2, kernel_width: 2, stride: 1, padding: 0,
/// };
/// let plan = Arc::new(Conv2dPlan::new(&Conv2dRequest::new(shape), Isa::current())?);
/// let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
/// let image = EncryptedImage::encrypt(&plan, &secret, &[1, 2, 3, 4, 5, 6, 7, 8, 9], &mut rng)?;
/// assert_eq!(image.ciphertexts().len(), plan.image_ciphertexts());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct EncryptedInput<S> {
    plan: Arc<ConvPlan<S>>,
    ciphertexts: Vec<Ciphertext>,
}

/// Kernels in the form in which they multiply, made once and used many times.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let shape = ConvShape {
///     channels: 1, height: 3, width: 3, kernels: 1, kernel_height: 2, kernel_width: 2, stride: 1, padding: 0,
/// };
/// let plan = Arc::new(Conv2dPlan::new(&Conv2dRequest::new(shape), Isa::current())?);
/// let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
/// let image = EncryptedImage::encrypt(&plan, &secret, &[1, 2, 3, 4, 5, 6, 7, 8, 9], &mut rng)?;
/// // Each output entry is the sum of a window's upper left and lower right entries.
/// let kernels = ConvKernels::prepare(&plan, &[1, 0, 0, 1])?;
/// assert_eq!(kernels.multiply(&image)?.decrypt(&secret)?, [6, 8, 12, 14]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Kernels<S> {
    plan: Arc<ConvPlan<S>>,
    /// The key set whose images they multiply, or `None` for the images of every key set.
    tag: Option<KeyTag>,
    /// By group of kernels and limb: the spectra of each slice and group of channels, one after another.
    spectra: Arc<Vec<Vec<Vec<u64>>>>,
}

/// An encrypted output.
///
/// # Example
/// ```
#[doc = include_str!("../example.txt")]
/// let shape = ConvShape {
///     channels: 1, height: 3, width: 3, kernels: 1, kernel_height: 2, kernel_width: 2, stride: 1, padding: 0,
/// };
/// let plan = Arc::new(Conv2dPlan::new(&Conv2dRequest::new(shape), Isa::current())?);
/// # let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
/// # let image = EncryptedImage::encrypt(&plan, &secret, &[1, 2, 3, 4, 5, 6, 7, 8, 9], &mut rng)?;
/// let output = ConvKernels::prepare(&plan, &[1, 0, 0, 1])?.multiply(&image)?;
/// let received = EncryptedConvolution::from_ciphertexts(&plan, output.ciphertexts().to_vec())?;
/// assert_eq!(received.decrypt(&secret)?, [6, 8, 12, 14]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct EncryptedOutput<S> {
    plan: Arc<ConvPlan<S>>,
    ciphertexts: Vec<Ciphertext>,
}

/// An error unless there are `len` entries of `bits` bits.
fn require_entry_count(what: [&'static str; 2], entries: &[i64], len: usize, bits: u32) -> Result<(), BfvError> {
    require_length(what[0], entries.len(), len)?;
    require_entries(what[1], entries, bits)
}

/// An error unless these are `expected` ciphertexts of two parts at the plan's level, of one key.
fn require_ciphertexts<S: Shape>(
    plan: &ConvPlan<S>,
    ciphertexts: &[Ciphertext],
    expected: usize,
) -> Result<(), HmvpError> {
    let context = plan.context();
    require_length("number of ciphertexts", ciphertexts.len(), expected)?;
    for ciphertext in ciphertexts {
        context.require_parameters("a ciphertext", ciphertext.parameter_id())?;
        require_tag("a ciphertext", ciphertext.key_tag(), ciphertexts[0].key_tag())?;
        require_length("number of parts of a ciphertext", ciphertext.parts().len(), 2)?;
        require_length("number of limbs of a ciphertext", ciphertext.limb_count(), context.top())?;
    }
    Ok(())
}

impl<S: Shape> EncryptedInput<S> {
    /// Encrypts the [`image_len`](super::Conv3dShape::image_len) entries of an image under the secret key.
    ///
    /// # Errors
    /// If there are not so many, one is out of the plan's range, the key is of other parameters, or the operating system
    /// gives no randomness.
    pub fn encrypt(
        plan: &Arc<ConvPlan<S>>,
        key: &SecretKey,
        image: &[i64],
        noise: &mut Csprng,
    ) -> Result<Self, HmvpError> {
        plan.context().require_parameters("the secret key", key.context().parameters().id())?;
        Self::encrypt_with(plan, image, |plaintext| Ok(key.encrypt(plaintext, plan.context().top(), noise)?))
    }

    /// Encrypts the image under the public key.
    ///
    /// # Errors
    /// As [`encrypt`](Self::encrypt), or if the plan expects encryption under the secret key.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let shape = ConvShape {
    ///     channels: 1, height: 3, width: 3, kernels: 1, kernel_height: 2, kernel_width: 2, stride: 1, padding: 0,
    /// };
    /// let request = Conv2dRequest { encryption: Encryption::Public, ..Conv2dRequest::new(shape) };
    /// let plan = Arc::new(Conv2dPlan::new(&request, Isa::current())?);
    /// let secret = SecretKey::generate(plan.context(), &SecretSeed::from_os()?);
    /// let public = ciphermill_bfv::PublicKey::generate(&secret)?;
    /// let image = EncryptedImage::encrypt_public(&plan, &public, &[1, 2, 3, 4, 5, 6, 7, 8, 9], &mut rng)?;
    /// let kernels = ConvKernels::prepare(&plan, &[1, 0, 0, 1])?;
    /// assert_eq!(kernels.multiply(&image)?.decrypt(&secret)?, [6, 8, 12, 14]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypt_public(
        plan: &Arc<ConvPlan<S>>,
        key: &PublicKey,
        image: &[i64],
        rng: &mut Csprng,
    ) -> Result<Self, HmvpError> {
        if plan.request().encryption != Encryption::Public {
            let what = "a plan without room for the noise of public-key encryption; make one for it".to_owned();
            return Err(BfvError::Unsupported { what }.into());
        }
        plan.context().require_parameters("the public key", key.context().parameters().id())?;
        Self::encrypt_with(plan, image, |plaintext| Ok(key.encrypt(plaintext, plan.context().top(), rng)?))
    }

    fn encrypt_with(
        plan: &Arc<ConvPlan<S>>,
        image: &[i64],
        mut encrypt: impl FnMut(&Plaintext) -> Result<Ciphertext, HmvpError>,
    ) -> Result<Self, HmvpError> {
        let what = ["number of entries of the image", "an entry of the image"];
        require_entry_count(what, image, plan.request().volume().image_len(), plan.request().image_bits)?;
        let ciphertext = |input| {
            let coefficients = Zeroizing::new(plan.layout.image(input, image));
            encrypt(&Zeroizing::new(plan.context().encode(&coefficients)?))
        };
        let ciphertexts = (0..plan.layout.inputs()).map(ciphertext).collect::<Result<_, _>>()?;
        Ok(Self { plan: plan.clone(), ciphertexts })
    }

    /// From ciphertexts that were sent: the inverse of [`ciphertexts`](Self::ciphertexts).
    ///
    /// # Errors
    /// If they are not as many as the plan has, or not of its parameters and of one key.
    pub fn from_ciphertexts(plan: &Arc<ConvPlan<S>>, ciphertexts: Vec<Ciphertext>) -> Result<Self, HmvpError> {
        require_ciphertexts(plan, &ciphertexts, plan.layout.inputs())?;
        Ok(Self { plan: plan.clone(), ciphertexts })
    }

    /// Its ciphertexts: slice after slice, in each tile after tile (row after row), for each the groups of channels.
    pub fn ciphertexts(&self) -> &[Ciphertext] {
        &self.ciphertexts
    }

    /// Its plan.
    pub fn plan(&self) -> &Arc<ConvPlan<S>> {
        &self.plan
    }

    /// Its key set.
    pub fn tag(&self) -> KeyTag {
        self.ciphertexts[0].key_tag()
    }
}

impl<S: Shape> Kernels<S> {
    /// Prepares the [`kernels_len`](super::Conv3dShape::kernels_len) entries of the kernels.
    ///
    /// # Errors
    /// If there are not so many, or one is out of the plan's range.
    pub fn prepare(plan: &Arc<ConvPlan<S>>, kernels: &[i64]) -> Result<Self, HmvpError> {
        let what = ["number of entries of the kernels", "an entry of a kernel"];
        require_entry_count(what, kernels, plan.request().volume().kernels_len(), plan.request().kernel_bits)?;
        let basis = plan.context().basis(plan.context().top());
        let plaintexts = plan.layout.plaintexts_of_group();
        let group = |group: usize| {
            let mut spectra = vec![Vec::with_capacity(plaintexts * plan.context().n()); basis.len()];
            for plaintext in group * plaintexts..(group + 1) * plaintexts {
                let spectrum = basis.forward(basis.from_signed(&plan.layout.kernel(plaintext, kernels)));
                spectra.iter_mut().zip(spectrum.limbs()).for_each(|(spectra, limb)| spectra.extend_from_slice(limb));
            }
            spectra
        };
        let spectra = Arc::new(in_pool(|| map((0..plan.layout.kernel_groups()).collect(), group)));
        Ok(Self { plan: plan.clone(), tag: None, spectra })
    }

    /// The same kernels for the images of one key set. The prepared words are shared, not copied.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let shape = ConvShape {
    ///     channels: 1, height: 3, width: 3, kernels: 1, kernel_height: 2, kernel_width: 2, stride: 1, padding: 0,
    /// };
    /// let plan = Arc::new(Conv2dPlan::new(&Conv2dRequest::new(shape), Isa::current())?);
    /// let [secret, other] = [SecretSeed::from_os()?, SecretSeed::from_os()?].map(|s| SecretKey::generate(plan.context(), &s));
    /// let kernels = ConvKernels::prepare(&plan, &[1, 0, 0, 1])?.for_key_set(secret.tag());
    /// let mut encrypt = |key| EncryptedImage::encrypt(&plan, key, &[1, 2, 3, 4, 5, 6, 7, 8, 9], &mut rng);
    /// assert!(kernels.multiply(&encrypt(&secret)?).is_ok());
    /// assert!(kernels.multiply(&encrypt(&other)?).is_err(), "the image is of another key set");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_key_set(&self, tag: KeyTag) -> Self {
        Self { plan: self.plan.clone(), tag: Some(tag), spectra: self.spectra.clone() }
    }

    /// Bytes that they occupy.
    pub fn memory_bytes(&self) -> u64 {
        self.spectra.iter().flatten().map(|words| 8 * words.len() as u64).sum()
    }

    /// The key set whose images they multiply; `None` for the images of every key set.
    pub fn tag(&self) -> Option<KeyTag> {
        self.tag
    }

    /// The convolution of an image with all kernels.
    ///
    /// # Errors
    /// If the image is of another plan, or of another key set than [`for_key_set`](Self::for_key_set) names.
    pub fn multiply(&self, image: &EncryptedInput<S>) -> Result<EncryptedOutput<S>, HmvpError> {
        if self.plan != image.plan {
            return Err(HmvpError::WrongPlan { what: "the image" });
        }
        if let Some(tag) = self.tag {
            require_tag("the image", image.tag(), tag)?;
        }
        let layout = &self.plan.layout;
        let tiles = in_pool(|| map((0..layout.tiles()).collect(), |tile| self.multiply_tile(tile, image)));
        // Of each tile slice after slice; of the output slice after slice, in each tile after tile.
        let mut tiles: Vec<_> = tiles.into_iter().map(Vec::into_iter).collect();
        let mut ciphertexts = Vec::with_capacity(layout.outputs());
        for _ in 0..self.plan.request().volume().output_depth() {
            tiles.iter_mut().for_each(|tile| ciphertexts.extend(tile.take(layout.kernel_groups())));
        }
        Ok(EncryptedOutput { plan: self.plan.clone(), ciphertexts })
    }

    /// The output ciphertexts of one tile, slice after slice. Each slice of the image is transformed once, and products are
    /// summed before they are transformed back.
    fn multiply_tile(&self, tile: usize, image: &EncryptedInput<S>) -> Vec<Ciphertext> {
        let (context, layout, shape) = (self.plan.context(), &self.plan.layout, self.plan.request().volume());
        let (basis, n) = (context.basis(context.top()), context.n());
        let inputs: Vec<&Ciphertext> =
            (0..shape.depth).flat_map(|slice| &image.ciphertexts[layout.inputs_of(slice, tile)]).collect();
        // By part and limb: the spectra of each slice and group of channels, as those of the kernels.
        let limb = |(part, limb): (usize, usize)| {
            let mut spectra = Vec::with_capacity(inputs.len() * n);
            for input in &inputs {
                spectra.extend_from_slice(input.parts()[part].limb(limb));
            }
            let engine = basis.limbs()[limb].engine();
            spectra.chunks_exact_mut(n).for_each(|spectrum| engine.forward_in_place(spectrum));
            spectra
        };
        let jobs = (0..2).flat_map(|part| (0..basis.len()).map(move |limb| (part, limb)));
        let spectra = map(jobs.collect(), limb);
        let slice_words = layout.channel_groups() * n;
        let output = |(slice, kernels): (usize, &Vec<Vec<u64>>)| {
            let (overlap, first) = shape.overlap(slice);
            let factors = overlap.start * slice_words..overlap.end * slice_words;
            let terms = first * slice_words..(first + overlap.len()) * slice_words;
            let part = |part: usize| {
                let mut words = vec![0; basis.len() * n];
                // A window within the padding is 0.
                let limbs = basis.limbs().iter().zip(words.chunks_exact_mut(n)).enumerate();
                for (i, (limb, out)) in limbs.filter(|_| !overlap.is_empty()) {
                    let spectra = &spectra[part * basis.len() + i];
                    limb.engine().multiply_accumulate(out, &spectra[terms.clone()], &kernels[i][factors.clone()]);
                    limb.engine().inverse_in_place(out);
                }
                RnsPoly::from_words(basis.polynomial_size(), words)
            };
            Ciphertext::new(context.parameters().id(), inputs[0].key_tag(), vec![part(0), part(1)])
        };
        let slices =
            (0..shape.output_depth()).flat_map(|slice| self.spectra.iter().map(move |kernels| (slice, kernels)));
        map(slices.collect(), output)
    }
}

impl<S: Shape> EncryptedOutput<S> {
    /// The [`output_len`](super::Conv3dShape::output_len) entries.
    ///
    /// # Errors
    /// If the key is of another key set or other parameters.
    pub fn decrypt(&self, key: &SecretKey) -> Result<Vec<i64>, HmvpError> {
        let mut output = vec![0; self.plan.request().volume().output_len()];
        for (i, ciphertext) in self.ciphertexts.iter().enumerate() {
            let coefficients = self.plan.context().decode(&Zeroizing::new(key.decrypt(ciphertext)?));
            self.plan.layout.places(i).into_iter().for_each(|(at, index)| output[index] = coefficients[at]);
        }
        Ok(output)
    }

    /// From ciphertexts that were sent: the inverse of [`ciphertexts`](Self::ciphertexts).
    ///
    /// # Errors
    /// If they are not as many as the plan has, or not of its parameters and of one key.
    pub fn from_ciphertexts(plan: &Arc<ConvPlan<S>>, ciphertexts: Vec<Ciphertext>) -> Result<Self, HmvpError> {
        require_ciphertexts(plan, &ciphertexts, plan.layout.outputs())?;
        Ok(Self { plan: plan.clone(), ciphertexts })
    }

    /// Its ciphertexts: slice after slice, in each tile after tile, for each the groups of kernels.
    pub fn ciphertexts(&self) -> &[Ciphertext] {
        &self.ciphertexts
    }

    /// Its plan.
    pub fn plan(&self) -> &Arc<ConvPlan<S>> {
        &self.plan
    }

    /// Its key set.
    pub fn tag(&self) -> KeyTag {
        self.ciphertexts[0].key_tag()
    }
}
