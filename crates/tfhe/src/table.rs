//! Tables: the functions of test vectors that state their encodings.

use ciphermill_lattice::Torus;

use crate::bounds::TableEncodings;
use crate::ciphertext::{TestVector, TestVectorElements};
use crate::encoding::Encoding;
use crate::error::TfheError;
use crate::glwe::GlweCiphertext;
use crate::range::{MessageRange, RangeError};
use crate::test_vector::test_vector;

/// The values of a test vector at the messages of its input encoding.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let table = Table::of(&square)?.ok_or("it states its encodings")?;
/// // 2² and 3² = 9, modulo 8.
/// assert_eq!(table.values(&MessageRange::new(16, 2, 3)?)?, MessageRange::new(16, 1, 4)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    encodings: TableEncodings,
    values: Vec<i32>,
}

impl Table {
    /// Reads the table off a test vector; `None` if it states no encodings.
    ///
    /// # Errors
    /// [`TfheError::NoTable`] if its coefficients are not those of a function from the one encoding to the other.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// // The encodings are checked against the coefficients.
    /// let coarser = TableEncodings { input: Encoding::unsigned(2, true)?, output: encoding };
    /// let relabelled = TestVector::new(square.elements().clone(), Some(coarser));
    /// assert!(matches!(Table::of(&relabelled), Err(TfheError::NoTable)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn of(vector: &TestVector) -> Result<Option<Self>, TfheError> {
        let Some(encodings) = vector.encodings() else { return Ok(None) };
        let values = match vector.elements() {
            TestVectorElements::U32(v) => values(v, &encodings),
            TestVectorElements::U64(v) => values(v, &encodings),
        };
        Ok(Some(Self { encodings, values: values? }))
    }

    /// The encodings of arguments and values.
    #[must_use]
    pub fn encodings(&self) -> TableEncodings {
        self.encodings
    }

    /// Memory that the values occupy, in bytes.
    #[must_use]
    pub fn memory_bytes(&self) -> u64 {
        size_of_val(self.values.as_slice()) as u64
    }

    /// The range of the values at the messages of a range.
    ///
    /// # Errors
    /// [`RangeError::Places`] or [`RangeError::NotCovered`] if the range is not one of the input encoding.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let table = Table::of(&square)?.ok_or("it states its encodings")?;
    /// let refused = table.values(&MessageRange::new(16, -1, 3)?);
    /// assert_eq!(refused, Err(RangeError::NotCovered { min: -1, max: 3, table_min: 0, table_max: 7 }));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn values(&self, range: &MessageRange) -> Result<MessageRange, RangeError> {
        let TableEncodings { input, output } = self.encodings;
        range.require_places(input.places())?;
        let (min, max, table_min, table_max) = (range.min(), range.max(), input.min(), input.max());
        if min < table_min || max > table_max {
            return Err(RangeError::NotCovered { min, max, table_min, table_max });
        }
        let values = &self.values[(min - table_min) as usize..=(max - table_min) as usize];
        let span = values
            .iter()
            .fold((i64::MAX, i64::MIN), |(low, high), &value| (low.min(i64::from(value)), high.max(i64::from(value))));
        MessageRange::new(output.places(), span.0, span.1)
    }
}

/// The values at the messages' places, if the function of these values has this very vector.
fn values<T: Torus>(vector: &GlweCiphertext<T>, encodings: &TableEncodings) -> Result<Vec<i32>, TfheError> {
    let TableEncodings { input, output } = encodings;
    let size = vector.polynomial_size();
    if input.places() > 2 * size.get() as u64 {
        return Err(TfheError::NoTable);
    }
    let read = |message| output.decode(at(vector.body(), input, message)).map(|value| value as i32);
    let values =
        (input.min()..=input.max()).map(read).collect::<Result<Vec<_>, _>>().map_err(|_| TfheError::NoTable)?;
    let value = |message: i64| i64::from(values[(message - input.min()) as usize]);
    let expected = test_vector::<T>(vector.dimension(), size, input, output, value).map_err(|_| TfheError::NoTable)?;
    if *vector == expected { Ok(values) } else { Err(TfheError::NoTable) }
}

/// The coefficient that blind rotation finds at the place of a message; beyond half of the torus it is negated.
fn at<T: Torus>(body: &[T], input: &Encoding, message: i64) -> T {
    let (indices, places) = (2 * body.len() as i128, i128::from(input.places()));
    let index = (i128::from(message).rem_euclid(places) * indices + places / 2) / places % indices;
    let index = index as usize;
    if index < body.len() { body[index] } else { T::ZERO.wrapping_sub(body[index - body.len()]) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dimension::{GlweDimension, PolynomialSize};

    fn labelled(input: Encoding, output: Encoding, f: impl Fn(i64) -> i64) -> TestVector {
        let size = PolynomialSize::new(64).expect("a power of two");
        let elements = test_vector::<u64>(GlweDimension(1), size, &input, &output, f).expect("a table");
        TestVector::new(TestVectorElements::U64(elements), Some(TableEncodings { input, output }))
    }

    /// The table that is read off a vector is the one it was made of, for every encoding with room in 128 phase indices.
    #[test]
    fn tables_come_back_from_their_vectors() {
        for min in -9..=0i64 {
            for max in 0..=20i64 {
                let input = Encoding::new(min, max, true).expect("contains zero");
                let output = Encoding::new(-500, 500, false).expect("contains zero");
                let table = Table::of(&labelled(input, output, |m| m * m - 7)).expect("its own").expect("stated");
                for m in min..=max {
                    let one = MessageRange::new(input.places(), m, m).expect("one message");
                    let value = table.values(&one).expect("covered");
                    assert_eq!((value.min(), value.max()), (m * m - 7, m * m - 7));
                }
            }
        }
    }

    #[test]
    fn a_negacyclic_table_needs_no_padding() {
        let input = Encoding::new(0, 7, false).expect("contains zero");
        let output = Encoding::new(-3, 4, false).expect("contains zero");
        let sign = |m: i64| if m < 4 { 2 } else { -2 };
        let table = Table::of(&labelled(input, output, sign)).expect("its own").expect("stated");
        let range = table.values(&MessageRange::of(&input)).expect("covered");
        assert_eq!((range.min(), range.max()), (-2, 2));
    }

    /// A vector with one other coefficient is refused, wherever it is.
    #[test]
    fn every_coefficient_is_checked() {
        let input = Encoding::new(0, 6, true).expect("contains zero");
        let vector = labelled(input, input, |m| m);
        let TestVectorElements::U64(elements) = vector.elements() else { panic!("64 bits") };
        for index in 0..elements.coefficients().len() {
            let mut coefficients = elements.coefficients().to_vec();
            coefficients[index] ^= 1;
            let size = elements.polynomial_size();
            let other = GlweCiphertext::from_coefficients(coefficients, size).expect("its size");
            let other = TestVector::new(TestVectorElements::U64(other), vector.encodings());
            assert!(matches!(Table::of(&other), Err(TfheError::NoTable)), "coefficient {index}");
        }
    }
}
