//! GLWE (TRLWE) ciphertexts: k mask polynomials and a body polynomial in T_N\[X\] = T\[X\]/(X^N + 1).

use ciphermill_lattice::rng::Csprng;
use ciphermill_lattice::{NoiseDistribution, Torus};
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use crate::dimension::{GlweDimension, LweDimension, PolynomialSize};
use crate::error::{TfheError, require_equal, require_range};
use crate::linear::linear_operations;
use crate::lwe::{LweCiphertext, LweSecretKey, random_bits};
use crate::noise_check::check_noise;
use crate::product::BinaryMultiplier;

/// A binary GLWE secret key: k polynomials of N bits. Zeroised on drop; it has no `Debug` of its content.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let key = GlweSecretKey::generate(GlweDimension(1), parameters.polynomial_size, &mut rng);
/// let message = vec![3 << 60; parameters.polynomial_size.get()];
/// let ciphertext = key.encrypt::<u64>(&message, parameters.glwe_noise, &mut rng)?;
/// let phase = key.decrypt_phase(&ciphertext)?;
/// assert!(phase.iter().all(|phase| phase.wrapping_add(1 << 59) >> 60 == 3));
/// assert_eq!((key.dimension(), key.polynomial_size()), (GlweDimension(1), parameters.polynomial_size));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct GlweSecretKey {
    bits: Vec<u8>,
    #[zeroize(skip)]
    polynomial_size: PolynomialSize,
}

impl GlweSecretKey {
    /// Uniformly random key of k polynomials of N coefficients.
    pub fn generate(dimension: GlweDimension, polynomial_size: PolynomialSize, rng: &mut Csprng) -> Self {
        Self { bits: random_bits(dimension.0 * polynomial_size.get(), rng), polynomial_size }
    }

    /// Key from k·N bits that are already known to be 0 or 1.
    pub(crate) fn from_bits(bits: Vec<u8>, polynomial_size: PolynomialSize) -> Self {
        debug_assert!(bits.len().is_multiple_of(polynomial_size.get()) && bits.iter().all(|&b| b < 2));
        Self { bits, polynomial_size }
    }

    /// k.
    pub fn dimension(&self) -> GlweDimension {
        GlweDimension(self.bits.len() / self.polynomial_size.get())
    }

    /// N.
    pub fn polynomial_size(&self) -> PolynomialSize {
        self.polynomial_size
    }

    /// The bits of all k polynomials, each 0 or 1, lowest degree first.
    pub(crate) fn bits(&self) -> &[u8] {
        &self.bits
    }

    /// The bits of each polynomial.
    pub(crate) fn polynomials(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.bits.chunks_exact(self.polynomial_size.get())
    }

    /// The LWE key under which extracted samples are encrypted: the coefficients of the k polynomials in order.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let key = client.glwe_secret_key();
    /// assert_eq!(key.to_lwe_secret_key().dimension(), parameters.big_lwe_dimension());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn to_lwe_secret_key(&self) -> LweSecretKey {
        LweSecretKey::from_bits(self.bits.clone())
    }

    /// Encrypts a polynomial of N encoded messages with fresh noise.
    ///
    /// # Errors
    /// If `message` does not have N coefficients, no transform exists for N, or the noise cannot be sampled on the torus.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let key = client.glwe_secret_key();
    /// let message = vec![3u64 << 60; parameters.polynomial_size.get()];
    /// let glwe = key.encrypt(&message, parameters.glwe_noise, &mut rng)?;
    /// assert_ne!(glwe.body(), message, "mask and noise hide the message");
    /// assert!(key.encrypt(&message[1..], parameters.glwe_noise, &mut rng).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encrypt<T: Torus>(
        &self,
        message: &[T],
        noise: NoiseDistribution,
        rng: &mut Csprng,
    ) -> Result<GlweCiphertext<T>, TfheError> {
        let n = self.polynomial_size.get();
        require_equal("coefficients of the message", message.len(), n)?;
        check_noise::<T>(noise, "GLWE")?;
        let multiplier = BinaryMultiplier::new(&self.bits, self.polynomial_size)?;
        let mut data = vec![T::ZERO; self.bits.len() + n];
        let (mask, body) = data.split_at_mut(self.bits.len());
        T::fill_random(rng, mask);
        body.copy_from_slice(message);
        noise.add_to(rng, body);
        multiplier.add_mask_products(mask, body, &mut multiplier.scratch());
        Ok(GlweCiphertext { data, polynomial_size: self.polynomial_size })
    }

    /// Phase polynomial b − Σ a_i s_i: the encoded messages plus noise.
    ///
    /// # Errors
    /// If the ciphertext's k or N are not the key's.
    pub fn decrypt_phase<T: Torus>(&self, ciphertext: &GlweCiphertext<T>) -> Result<Vec<T>, TfheError> {
        require_equal("GLWE dimension of the ciphertext", ciphertext.dimension().0, self.dimension().0)?;
        require_equal(
            "polynomial size of the ciphertext",
            ciphertext.polynomial_size.get(),
            self.polynomial_size.get(),
        )?;
        let multiplier = BinaryMultiplier::new(&self.bits, self.polynomial_size)?;
        // Mask times key: with the public mask it would give the key.
        let mut products = Zeroizing::new(vec![T::ZERO; self.polynomial_size.get()]);
        multiplier.add_mask_products(ciphertext.mask(), &mut products, &mut multiplier.scratch());
        Ok(ciphertext.body().iter().zip(products.iter()).map(|(&b, &p)| b.wrapping_sub(p)).collect())
    }
}

impl std::fmt::Debug for GlweSecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "GlweSecretKey(k {}, N {})", self.dimension().0, self.polynomial_size.get())
    }
}

/// A GLWE ciphertext: k mask polynomials, then the body, N coefficients each.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let key = client.glwe_secret_key();
/// let message = |value: u64| vec![value << 60; parameters.polynomial_size.get()];
/// let mut sum = key.encrypt(&message(1), parameters.glwe_noise, &mut rng)?;
/// sum.add_assign(&key.encrypt(&message(2), parameters.glwe_noise, &mut rng)?)?;
/// assert!(key.decrypt_phase(&sum)?.iter().all(|phase| phase.wrapping_add(1 << 59) >> 60 == 3));
/// assert_eq!(GlweCiphertext::from_bytes(&sum.to_bytes())?, sum);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GlweCiphertext<T> {
    data: Vec<T>,
    polynomial_size: PolynomialSize,
}

linear_operations!(GlweCiphertext);

impl<T: Torus> GlweCiphertext<T> {
    /// The noiseless encryption of a polynomial under every key.
    ///
    /// # Errors
    /// If `message` does not have N coefficients.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// // Every key decrypts a trivial ciphertext.
    /// let message = vec![3u64 << 60; parameters.polynomial_size.get()];
    /// let glwe = GlweCiphertext::trivial(&message, GlweDimension(1), parameters.polynomial_size)?;
    /// assert_eq!(client.glwe_secret_key().decrypt_phase(&glwe)?, message);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn trivial(
        message: &[T],
        dimension: GlweDimension,
        polynomial_size: PolynomialSize,
    ) -> Result<Self, TfheError> {
        require_equal("coefficients of the message", message.len(), polynomial_size.get())?;
        let mut data = vec![T::ZERO; dimension.0 * polynomial_size.get()];
        data.extend_from_slice(message);
        Ok(Self { data, polynomial_size })
    }

    /// From (k+1)·N coefficients, mask first.
    ///
    /// # Errors
    /// If their number is not that of 2 to 9 polynomials.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let (size, n) = (parameters.polynomial_size, parameters.polynomial_size.get());
    /// let glwe = GlweCiphertext::from_coefficients([vec![1u64; 2 * n], vec![2; n]].concat(), size)?;
    /// assert_eq!((glwe.dimension(), glwe.polynomial_size()), (GlweDimension(2), size));
    /// assert_eq!((glwe.mask(), glwe.body()), (&vec![1; 2 * n][..], &vec![2; n][..]));
    /// // One polynomial is too few.
    /// assert!(GlweCiphertext::from_coefficients(vec![1u64; n], size).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn from_coefficients(data: Vec<T>, polynomial_size: PolynomialSize) -> Result<Self, TfheError> {
        let n = polynomial_size.get();
        require_equal("remainder of the coefficients by the polynomial size", data.len() % n, 0)?;
        // k + 1 polynomials: those that parameter sets admit, and that the byte form can say.
        require_range("number of polynomials (k + 1)", (data.len() / n) as u64, 2, 9)?;
        Ok(Self { data, polynomial_size })
    }

    /// k.
    pub fn dimension(&self) -> GlweDimension {
        GlweDimension(self.data.len() / self.polynomial_size.get() - 1)
    }

    /// N.
    pub fn polynomial_size(&self) -> PolynomialSize {
        self.polynomial_size
    }

    /// The k mask polynomials.
    pub fn mask(&self) -> &[T] {
        &self.data[..self.data.len() - self.polynomial_size.get()]
    }

    /// The body polynomial.
    pub fn body(&self) -> &[T] {
        &self.data[self.data.len() - self.polynomial_size.get()..]
    }

    /// All (k+1)·N coefficients.
    pub fn coefficients(&self) -> &[T] {
        &self.data
    }

    /// All (k+1)·N coefficients, mutable.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let message = vec![0u64; parameters.polynomial_size.get()];
    /// let mut glwe = GlweCiphertext::trivial(&message, GlweDimension(1), parameters.polynomial_size)?;
    /// // The body follows the k mask polynomials.
    /// glwe.coefficients_mut()[1024 + 7] = 3;
    /// assert_eq!((glwe.body()[7], glwe.coefficients()[1024 + 7]), (3, 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn coefficients_mut(&mut self) -> &mut [T] {
        &mut self.data
    }

    fn require_same_size(&self, rhs: &Self) -> Result<(), TfheError> {
        let sizes = (rhs.polynomial_size.get(), self.polynomial_size.get());
        require_equal("polynomial size of the second operand", sizes.0, sizes.1)?;
        require_equal("GLWE dimension of the second operand", rhs.dimension().0, self.dimension().0)
    }

    /// Sample extraction: the LWE ciphertext, of dimension k·N, of the coefficient of X^`degree`.
    ///
    /// The phase's coefficient at X^h is b_h − Σ_c (Σ_{j≤h} a_{c,h−j} s_{c,j} − Σ_{j>h} a_{c,N+h−j} s_{c,j}), so the
    /// extracted mask is a_c read backwards from h, negated where the index wraps.
    ///
    /// # Errors
    /// If `degree` ≥ N.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let key = client.glwe_secret_key();
    /// let mut message = vec![0; parameters.polynomial_size.get()];
    /// message[7] = 3 << 60;
    /// let coefficient = key.encrypt::<u64>(&message, parameters.glwe_noise, &mut rng)?.extract(7)?;
    /// let phase = key.to_lwe_secret_key().decrypt_phase(&coefficient)?;
    /// assert_eq!(phase.wrapping_add(1 << 59) >> 60, 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn extract(&self, degree: usize) -> Result<LweCiphertext<T>, TfheError> {
        let n = self.polynomial_size.get();
        if degree >= n {
            return Err(TfheError::Field {
                what: "degree to extract",
                given: degree as u64,
                min: 0,
                max: n as u64 - 1,
            });
        }
        let mut data = Vec::with_capacity(self.data.len() - n + 1);
        for a in self.mask().chunks_exact(n) {
            data.extend(a[..=degree].iter().rev());
            data.extend(a[degree + 1..].iter().rev().map(|&x| T::ZERO.wrapping_sub(x)));
        }
        data.push(self.body()[degree]);
        Ok(LweCiphertext::from_elements(data))
    }

    /// k·N, the dimension of extracted samples.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let message = vec![3u64 << 60; parameters.polynomial_size.get()];
    /// let glwe = GlweCiphertext::trivial(&message, GlweDimension(2), parameters.polynomial_size)?;
    /// assert_eq!(glwe.extracted_dimension(), LweDimension(2048));
    /// assert_eq!(glwe.extract(0)?.dimension(), glwe.extracted_dimension());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn extracted_dimension(&self) -> LweDimension {
        LweDimension(self.mask().len())
    }
}
