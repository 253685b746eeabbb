//! Where a transform takes its coefficients from.

/// A polynomial whose coefficients are produced on demand, block by block.
///
/// A forward transform reads each coefficient exactly once, in blocks that it chooses, so a source can rotate, subtract
/// or decompose while the transform's first pass loads.
pub trait CoefficientSource<T: Copy> {
    /// Number of coefficients.
    fn len(&self) -> usize;

    /// Whether the polynomial has no coefficients.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the coefficients `start..start + out.len()` to `out`.
    ///
    /// # Panics
    /// If `start + out.len() > self.len()`: a caller's error, never an effect of outside input.
    fn read(&self, start: usize, out: &mut [T]);
}

impl<T: Copy> CoefficientSource<T> for [T] {
    fn len(&self) -> usize {
        <[T]>::len(self)
    }

    fn read(&self, start: usize, out: &mut [T]) {
        out.copy_from_slice(&self[start..start + out.len()]);
    }
}

impl<T: Copy> CoefficientSource<T> for Vec<T> {
    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn read(&self, start: usize, out: &mut [T]) {
        self.as_slice().read(start, out);
    }
}
