//! Sums, differences and integer multiples of ciphertexts.

/// Linear operations of a ciphertext type whose coefficients are in `data`; `require_same_size` compares two of them.
macro_rules! linear_operations {
    ($ciphertext:ident) => {
        impl<T: Torus> $ciphertext<T> {
            /// Adds `rhs`: messages and noise variances add.
            ///
            /// # Errors
            /// If the sizes differ.
            pub fn add_assign(&mut self, rhs: &Self) -> Result<(), TfheError> {
                self.zip_with(rhs, T::wrapping_add)
            }

            /// Subtracts `rhs`: messages subtract, noise variances add.
            ///
            /// # Errors
            /// If the sizes differ.
            pub fn sub_assign(&mut self, rhs: &Self) -> Result<(), TfheError> {
                self.zip_with(rhs, T::wrapping_sub)
            }

            /// Multiplies by an integer v; the noise variance grows by v².
            pub fn scalar_mul_assign(&mut self, value: i32) {
                for element in &mut self.data {
                    *element = element.wrapping_mul_i64(i64::from(value));
                }
            }

            fn zip_with(&mut self, rhs: &Self, op: impl Fn(T, T) -> T) -> Result<(), TfheError> {
                self.require_same_size(rhs)?;
                for (l, &r) in self.data.iter_mut().zip(&rhs.data) {
                    *l = op(*l, r);
                }
                Ok(())
            }
        }
    };
}

pub(crate) use linear_operations;
