//! The modulus switch before a blind rotation: from torus elements to exponents modulo 2N.
//!
//! Both switches round each mask element a_i to the nearest of the 2N multiples of q/2N. The rounding errors r_i change
//! the phase by −Σ r_i·s_i. A key bit s_i is 0 or 1, so it has mean 1/2, and s_i − 1/2 is ±1/2 for every key:
//!
//! −Σ r_i·s_i = −½·Σ r_i − Σ r_i·(s_i − ½).
//!
//! The first sum is public. [`ModulusSwitch::Plain`] leaves it in the phase. [`ModulusSwitch::Centred`] adds ½·Σ r_i to
//! the body, which leaves Σ r_i·(s_i − ½): half of the variance, and the same variance for every key.
//!
//! The switches also differ in the body's rounding. The sum Σ ã_i·s_i of rounded mask elements is a whole number of
//! steps. The rounding of the body therefore acts on the whole phase: it adds no noise, it decides the place at which a
//! phase passes from one exponent to the next. Tables have an even number 2h of exponents per message, −h to h − 1. Only
//! the floor gives them the phases from −h to h, centred on the message. The centred switch takes the floor of the body,
//! the plain one rounds it and so moves both edges by half a step.

use ciphermill_lattice::Torus;

use crate::dimension::PolynomialSize;

/// How ciphertexts under the small key become exponents: a property of a parameter set.
///
/// # Example
/// ```
#[doc = include_str!("example.txt")]
/// let ciphertext = LweCiphertext::trivial(1u32 << 30, LweDimension(96));
/// let size = parameters.polynomial_size;
/// for switch in [ModulusSwitch::Plain, ModulusSwitch::Centred] {
///     // A quarter of the torus is a quarter of 2N.
///     assert_eq!(switch.exponents(ciphertext.elements(), size).last(), Some(&(size.get() / 2)));
/// }
/// // The plain switch rounds the body, the centred one takes the floor.
/// let above = LweCiphertext::trivial((1u32 << 30) - 1, LweDimension(96));
/// assert_eq!(ModulusSwitch::Plain.exponents(above.elements(), size).last(), Some(&(size.get() / 2)));
/// assert_eq!(ModulusSwitch::Centred.exponents(above.elements(), size).last(), Some(&(size.get() / 2 - 1)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ModulusSwitch {
    /// Rounds each element to the nearest exponent.
    #[default]
    Plain,
    /// Rounds the mask, adds half of the mask's rounding errors to the body, and takes the body's floor.
    Centred,
}

impl ModulusSwitch {
    /// The exponents modulo 2N of the elements of a ciphertext, mask first and body last.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let (key, size) = (client.lwe_secret_key(), parameters.polynomial_size);
    /// let ciphertext = key.encrypt::<u32>(3 << 28, parameters.lwe_noise, &mut rng)?;
    /// let exponents = ModulusSwitch::Centred.exponents(ciphertext.elements(), size);
    /// // The definition returns the same exponents.
    /// assert_eq!(exponents, reference::modulus_switch(ModulusSwitch::Centred, &ciphertext, size));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn exponents<T: Torus>(self, elements: &[T], polynomial_size: PolynomialSize) -> Vec<usize> {
        let grid = Grid { log_order: polynomial_size.get().trailing_zeros() + 1 };
        let mut exponents: Vec<usize> = elements.iter().map(|&x| grid.nearest(x.to_u64_msb())).collect();
        if let (ModulusSwitch::Centred, Some((body, mask))) = (self, elements.split_last()) {
            let errors = mask.iter().zip(&exponents).map(|(&x, &e)| grid.error(x.to_u64_msb(), e));
            let doubled = 2 * i128::from(body.to_u64_msb()) + errors.sum::<i128>();
            exponents[mask.len()] = grid.floor_of_half(doubled);
        }
        exponents
    }

    /// Its number in the byte formats.
    pub(crate) fn code(self) -> u8 {
        match self {
            ModulusSwitch::Plain => 0,
            ModulusSwitch::Centred => 1,
        }
    }
}

impl std::fmt::Display for ModulusSwitch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            ModulusSwitch::Plain => "plain",
            ModulusSwitch::Centred => "centred",
        })
    }
}

/// The exponents modulo 2^`log_order` as points of a torus of 64 bits.
#[derive(Clone, Copy)]
struct Grid {
    log_order: u32,
}

impl Grid {
    /// log2 of the distance of two points.
    fn log_step(self) -> u32 {
        64 - self.log_order
    }

    /// The nearest exponent; the upper one of two.
    fn nearest(self, x: u64) -> usize {
        self.wrap(u128::from(x >> (self.log_step() - 1)).wrapping_add(1) >> 1)
    }

    /// The distance from `x` to its nearest point `exponent`, at most half a step.
    fn error(self, x: u64, exponent: usize) -> i128 {
        i128::from(((exponent as u64) << self.log_step()).wrapping_sub(x) as i64)
    }

    /// The exponent at or below `doubled`/2.
    fn floor_of_half(self, doubled: i128) -> usize {
        self.wrap((doubled >> (self.log_step() + 1)) as u128)
    }

    fn wrap(self, exponent: u128) -> usize {
        (exponent & ((1 << self.log_order) - 1)) as usize
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::lwe::LweCiphertext;
    use crate::reference;

    const BOTH: [ModulusSwitch; 2] = [ModulusSwitch::Plain, ModulusSwitch::Centred];

    fn size(log_size: u32) -> PolynomialSize {
        PolynomialSize::new(1 << log_size).expect("a power of two")
    }

    #[test]
    fn rounds_to_the_nearest_exponent_and_wraps() {
        let grid = Grid { log_order: 4 };
        assert_eq!(grid.nearest(0), 0);
        assert_eq!(grid.nearest(1 << 60), 1);
        assert_eq!(grid.nearest((1 << 59) - 1), 0);
        assert_eq!(grid.nearest(1 << 59), 1);
        assert_eq!(grid.nearest(u64::MAX), 0);
        assert_eq!(grid.nearest(15 << 60), 15);
    }

    /// Worked by hand for N = 16, so 32 exponents and a step of 2^27 on a torus of 32 bits.
    #[test]
    fn known_answers_of_the_centred_switch() {
        const STEP: u32 = 1 << 27;
        let exponents = |elements: &[u32]| ModulusSwitch::Centred.exponents(elements, size(4));
        // No rounding errors: the body's floor.
        assert_eq!(exponents(&[3 * STEP, 7 * STEP]), [3, 7]);
        assert_eq!(exponents(&[3 * STEP, 8 * STEP - 1]), [3, 7]);
        // Errors of +0.25 and +0.25 steps raise the body by 0.25 steps: 7.75 reaches 8, and 7.75 less an ulp does not.
        let quarter = STEP / 4;
        assert_eq!(exponents(&[3 * STEP - quarter, 5 * STEP - quarter, 7 * STEP + 3 * quarter]), [3, 5, 8]);
        assert_eq!(exponents(&[3 * STEP - quarter, 5 * STEP - quarter, 7 * STEP + 3 * quarter - 1]), [3, 5, 7]);
        // Errors of −0.25 and +0.25 steps cancel.
        assert_eq!(exponents(&[3 * STEP + quarter, 5 * STEP - quarter, 8 * STEP - 1]), [3, 5, 7]);
        // Half an ulp counts: an error of +1 ulp leaves a body of one ulp below a step below it, and two ulp reach it.
        assert_eq!(exponents(&[3 * STEP - 1, 8 * STEP - 1]), [3, 7]);
        assert_eq!(exponents(&[3 * STEP - 2, 8 * STEP - 1]), [3, 8]);
        // A tie is rounded up, with an error of +0.5 steps. Below 0 the exponent wraps.
        assert_eq!(exponents(&[3 * STEP + 2 * quarter, 3 * quarter]), [4, 1]);
        assert_eq!(exponents(&[3 * STEP + quarter, 0]), [3, 31]);
        // The mask wraps at the end of the torus; its error is one ulp.
        assert_eq!(exponents(&[u32::MAX, 0]), [0, 0]);
    }

    proptest! {
        /// Shifts against the rational arithmetic of the definition, at every size and both widths. Elements near the
        /// middle between two exponents, and near an exponent, occur as often as others.
        #[test]
        fn equals_the_definition(
            log_size in 4u32..=17,
            elements in prop::collection::vec((any::<u64>(), -2i64..=2, 0u8..3), 1..40),
        ) {
            let half_step = 1u64 << (62 - log_size);
            let near = |&(x, offset, place): &(u64, i64, u8)| match place {
                0 => x,
                place => (x & (2 * half_step).wrapping_neg())
                    .wrapping_add(u64::from(place - 1) * half_step)
                    .wrapping_add_signed(offset),
            };
            let wide = LweCiphertext::from_elements(elements.iter().map(near).collect::<Vec<u64>>());
            let narrow = LweCiphertext::from_elements(wide.elements().iter().map(|&x| (x >> 32) as u32).collect());
            for switch in BOTH {
                let expected = reference::modulus_switch(switch, &wide, size(log_size));
                prop_assert_eq!(switch.exponents(wide.elements(), size(log_size)), expected);
                let expected = reference::modulus_switch(switch, &narrow, size(log_size));
                prop_assert_eq!(switch.exponents(narrow.elements(), size(log_size)), expected);
            }
        }

        /// The centred exponents have the phase of the input but for Σ r_i·(s_i − ½), whose terms are at most a quarter of
        /// a step, and but for the floor.
        #[test]
        fn the_phase_error_is_centred(key in prop::collection::vec(0u8..2, 1..60), seed in any::<u64>()) {
            let size = size(7);
            let step = (-8f64).exp2();
            let mut state = seed;
            let mut next = || {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 32) as u32
            };
            let elements: Vec<u32> = (0..=key.len()).map(|_| next()).collect();
            let exponents = ModulusSwitch::Centred.exponents(&elements, size);
            let turns = |x: f64| x - x.round();
            let torus = |x: u32| f64::from(x) * (-32f64).exp2();
            let (mut before, mut after, mut expected) = (torus(elements[key.len()]), exponents[key.len()] as f64 * step, 0.0);
            for ((&x, &e), &bit) in elements.iter().zip(&exponents).zip(&key) {
                before -= torus(x) * f64::from(bit);
                after -= e as f64 * step * f64::from(bit);
                expected -= turns(e as f64 * step - torus(x)) * (f64::from(bit) - 0.5);
            }
            // The floor lowers the phase by up to one step.
            let lowered = turns(before + expected - after);
            prop_assert!(lowered > -1e-9 && lowered < step + 1e-9, "{} steps", lowered / step);
        }
    }
}
