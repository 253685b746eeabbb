//! One number per coefficient.

use crate::ciphertext::Plaintext;
use crate::context::Context;
use crate::error::{BfvError, require_range};

impl Context {
    /// Σ_j values_j·X^j.
    ///
    /// # Errors
    /// If there are more than N values or one is out of range.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let plaintext = context.encode(&[5, -2])?;
    /// assert_eq!(plaintext.coefficients()[..3], [5, context.t() - 2, 0]);
    /// assert!(context.encode(&[i64::MAX]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encode(&self, values: &[i64]) -> Result<Plaintext, BfvError> {
        let mut coefficients = self.residues(values)?;
        coefficients.resize(self.n(), 0);
        Ok(Plaintext { coefficients })
    }

    /// values_0 − Σ_(j>0) values_j·X^(N−j): times [`encode`](Self::encode) of a vector it has their dot product for its
    /// constant coefficient.
    ///
    /// # Errors
    /// As [`encode`](Self::encode).
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let x = secret.encrypt(&context.encode(&[1, 2, 3])?, top, &mut rng)?;
    /// let product = context.mul_plain(&x, &context.encode_reversed(&[10, 20, 30])?)?;
    /// assert_eq!(context.decode(&secret.decrypt(&product)?)[0], 10 + 40 + 90);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encode_reversed(&self, values: &[i64]) -> Result<Plaintext, BfvError> {
        let t = self.t();
        let mut coefficients = self.encode(values)?.coefficients;
        if let Some(wrapped) = coefficients.get_mut(1..) {
            wrapped.reverse();
            // t − x, and 0 for 0.
            wrapped.iter_mut().for_each(|x| *x = (t - *x).min((t - *x).wrapping_sub(t)));
        }
        Ok(Plaintext { coefficients })
    }

    /// The N coefficients, signed.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// assert_eq!(context.decode(&context.encode(&[-6143])?)[0], -6143);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn decode(&self, plaintext: &Plaintext) -> Vec<i64> {
        let t = self.t();
        plaintext.coefficients.iter().map(|&x| signed(x, (t - 1) / 2, t)).collect()
    }

    /// The plaintext with these coefficients modulo t.
    ///
    /// # Errors
    /// If there are not N of them or one is not below t.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let plaintext = context.plaintext(vec![7; context.n()])?;
    /// assert_eq!(context.decode(&plaintext)[31], 7);
    /// assert!(context.plaintext(vec![context.t(); 32]).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn plaintext(&self, coefficients: Vec<u64>) -> Result<Plaintext, BfvError> {
        let plaintext = Plaintext { coefficients };
        self.require_plaintext(&plaintext)?;
        Ok(plaintext)
    }

    /// At most N integers modulo t.
    pub(super) fn residues(&self, values: &[i64]) -> Result<Vec<u64>, BfvError> {
        if values.len() > self.n() {
            return Err(BfvError::Range {
                what: "number of values of a plaintext",
                given: values.len() as i128,
                min: 0,
                max: self.n() as i128,
            });
        }
        // t < 2^59, so all of them fit. Only the extremes are compared: nothing depends on where they stand.
        let t = self.t() as i64;
        let (min, max) = (-(t / 2), (t - 1) / 2);
        for extreme in [values.iter().min(), values.iter().max()].into_iter().flatten() {
            require_range("a value of a plaintext", *extreme, min, max)?;
        }
        Ok(values.iter().map(|&x| (x + (t & (x >> 63))) as u64).collect())
    }

    /// The coefficients of `plaintext` in (−t/2, t/2].
    ///
    /// # Example
    /// ```
    #[doc = include_str!("../example.txt")]
    /// let plaintext = context.plaintext(vec![context.t() - 1; context.n()])?;
    /// assert_eq!(context.centred(&plaintext)[0], -1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn centred(&self, plaintext: &Plaintext) -> Vec<i64> {
        let t = self.t();
        plaintext.coefficients.iter().map(|&x| signed(x, t / 2, t)).collect()
    }
}

/// The representative of x modulo t that is at most `greatest`, for x < t < 2^62; no branch depends on x.
pub(crate) fn signed(x: u64, greatest: u64, t: u64) -> i64 {
    let above = (greatest.wrapping_sub(x) as i64) >> 63;
    x as i64 - (t as i64 & above)
}
