//! Inverses of many residues at once, and whether there are any.

use crypto_bigint::{BoxedUint, Gcd, Odd};
use zeroize::{Zeroize, Zeroizing};

use super::kernel::Kernel;
use super::modulus::Scratch;
use super::work::{Accumulator, Wiped, broadcast, fold_lanes};
use super::{BigIntError, IntegerBatch, OddModulus, Residues, limbs};

impl OddModulus {
    /// The inverses, by Montgomery's trick: one inversion, and three products for each group of residues. Constant-time
    /// where there are inverses; finding the culprit where there are none is not.
    ///
    /// # Errors
    /// [`BigIntError::NotInvertible`] names the first value that shares a factor with the modulus.
    ///
    /// # Panics
    /// If the residues belong to another modulus.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// let inverses = ring.invert(&x)?;
    /// assert_eq!(low(&ring.multiply(&x, &inverses)?), [1, 1]);
    /// let zero = ring.enter(&batch(&[3, 0]))?;
    /// assert!(matches!(ring.invert(&zero), Err(BigIntError::NotInvertible { index: 1 })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn invert(&self, values: &Residues) -> Result<Residues, BigIntError> {
        self.invert_all(values, false)
    }

    /// As [`invert`](Self::invert), for values that everyone may know.
    ///
    /// # Errors
    /// [`BigIntError::NotInvertible`] names the first value that shares a factor with the modulus.
    ///
    /// # Panics
    /// If the residues belong to another modulus.
    pub fn invert_public(&self, values: &Residues) -> Result<Residues, BigIntError> {
        self.invert_all(values, true)
    }

    /// The product of all values, one residue: 1 if there are none. A product for each group of residues.
    ///
    /// # Panics
    /// If the residues belong to another modulus.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert_eq!(low(&ring.product(&x)), [15]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn product(&self, values: &Residues) -> Residues {
        self.assert_owns(values);
        self.product_of_groups(values, 0, values.groups().len())
    }

    /// Whether all values have inverses: a product for each group of residues and one greatest common divisor. Values and
    /// modulus have to be known to everyone: time depends on both.
    ///
    /// # Errors
    /// [`BigIntError::NotInvertible`] names the first value that shares a factor with the modulus. Finding it takes as many
    /// products again, and a number of divisors that grows with the logarithm of the length.
    ///
    /// # Panics
    /// If the residues belong to another modulus.
    ///
    /// # Example
    /// ```
    #[doc = include_str!("example.txt")]
    /// assert!(ring.all_units_public(&x).is_ok());
    /// let zero = ring.enter(&batch(&[3, 0]))?;
    /// assert!(matches!(ring.all_units_public(&zero), Err(BigIntError::NotInvertible { index: 1 })));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn all_units_public(&self, values: &Residues) -> Result<(), BigIntError> {
        self.assert_owns(values);
        let is_unit = |from, to| self.is_unit(&self.product_of_groups(values, from, to));
        let (mut from, mut to) = (0, values.groups().len());
        if is_unit(from, to) {
            return Ok(());
        }
        while to - from > 1 {
            let middle = from.midpoint(to);
            if is_unit(from, middle) { from = middle } else { to = middle }
        }
        let lanes = from * values.lanes..((from + 1) * values.lanes).min(values.len());
        let index = lanes.clone().find(|&index| !self.is_unit(&self.gather(values, &[index])));
        // Divisors of the product divide one of its factors.
        Err(BigIntError::NotInvertible { index: index.unwrap_or(lanes.start) })
    }

    /// The number whose divisors decide about inverses: N, or n of N = n².
    fn core(&self) -> Zeroizing<Odd<BoxedUint>> {
        Zeroizing::new(Odd::new(limbs::to_uint(self.root().unwrap_or(self.value()))).expect("the modulus is odd"))
    }

    fn is_unit(&self, single: &Residues) -> bool {
        let (low, _) = self.leave_parts(single);
        let core = self.core();
        *core.gcd_vartime(&low.uint(0)).as_ref() == BoxedUint::one()
    }

    /// One group of `values`, with 1 in lanes without a number, whatever a slice has left there.
    fn copy_padded(&self, to: &mut [u64], values: &Residues, index: usize) {
        let kernel = self.kernel();
        let group = values.group(index);
        let missing = ((index + 1) * values.lanes).saturating_sub(values.len());
        if missing == 0 {
            to.copy_from_slice(group);
            return;
        }
        let mut single = Wiped::zeroed(kernel.single_words());
        kernel.one(to);
        for lane in 0..values.lanes - missing {
            kernel.extract(&mut single, group, lane);
            kernel.insert(to, lane, &single);
        }
    }

    fn product_of_groups(&self, values: &Residues, from: usize, to: usize) -> Residues {
        let kernel = self.kernel();
        let mut out = self.one(1);
        if from == to {
            return out;
        }
        let mut scratch = Scratch::new(kernel);
        let (mut product, mut factor) = (Accumulator::new(kernel), Wiped::zeroed(kernel.group_words()));
        self.copy_padded(product.set(), values, from);
        for index in from + 1..to {
            self.copy_padded(&mut factor, values, index);
            product.multiply(kernel, &factor, &mut scratch.0);
        }
        let count = (values.len() - from * values.lanes).min(values.lanes);
        let mut single = Wiped::zeroed(kernel.single_words());
        fold_lanes(kernel, &mut single, product.get(), count, &mut scratch.0);
        kernel.insert(out.group_mut(0), 0, &single);
        out
    }

    fn invert_all(&self, values: &Residues, public: bool) -> Result<Residues, BigIntError> {
        self.assert_owns(values);
        let (kernel, words, count) = (self.kernel(), values.group_words, values.groups().len());
        let mut out = self.one(values.len());
        if count == 0 {
            return Ok(out);
        }
        let mut scratch = Scratch::new(kernel);
        // Group g becomes the product of groups 0 to g, lane by lane.
        let mut prefixes = Wiped::zeroed(count * words);
        self.copy_padded(&mut prefixes[..words], values, 0);
        let mut group = Wiped::zeroed(words);
        for index in 1..count {
            self.copy_padded(&mut group, values, index);
            let (lower, upper) = prefixes.split_at_mut(index * words);
            kernel.multiply(&mut upper[..words], &lower[(index - 1) * words..], &group, &mut scratch.0);
        }
        let mut inverse = Accumulator::new(kernel);
        self.invert_lanes(&mut inverse, &prefixes[(count - 1) * words..], &mut scratch, public)
            .ok_or_else(|| self.all_units_public(values).err().unwrap_or(BigIntError::NotInvertible { index: 0 }))?;
        for index in (1..count).rev() {
            kernel.multiply(
                out.group_mut(index),
                inverse.get(),
                &prefixes[(index - 1) * words..][..words],
                &mut scratch.0,
            );
            self.copy_padded(&mut group, values, index);
            inverse.multiply(kernel, &group, &mut scratch.0);
        }
        out.group_mut(0).copy_from_slice(inverse.get());
        Ok(out)
    }

    /// The inverse of every lane of one group from a single inversion: that of the product of all lanes, times the other
    /// lanes.
    fn invert_lanes(&self, out: &mut Accumulator, group: &[u64], scratch: &mut Scratch, public: bool) -> Option<()> {
        let kernel = self.kernel();
        let (lanes, words) = (kernel.lanes(), kernel.group_words());
        let mut rotated = Wiped::zeroed(words);
        // After step s: the product of lanes l + 1 to l + 2^s − 1, and that of lanes l to l + 2^s − 1, in lane l.
        let (mut others, mut all) = (Accumulator::new(kernel), Accumulator::new(kernel));
        kernel.one(others.set());
        all.set().copy_from_slice(group);
        for step in (0..lanes.ilog2()).map(|s| 1 << s) {
            rotate(kernel, &mut rotated, all.get(), step);
            others.multiply(kernel, &rotated, &mut scratch.0);
            all.multiply(kernel, &rotated, &mut scratch.0);
        }
        let mut product = self.one(1);
        let mut single = Wiped::zeroed(kernel.single_words());
        kernel.extract(&mut single, all.get(), 0);
        kernel.insert(product.group_mut(0), 0, &single);
        let inverse = self.invert_one(&product, public)?;
        kernel.extract(&mut single, inverse.group(0), 0);
        broadcast(kernel, out.set(), &single);
        out.multiply(kernel, others.get(), &mut scratch.0);
        Some(())
    }

    /// The inverse of one residue by the general library. For a modulus n² it works modulo n: from x·y = 1 + t·n one step of
    /// Newton's iteration gives the inverse y·(1 − t·n).
    fn invert_one(&self, x: &Residues, public: bool) -> Option<Residues> {
        let (low, _) = self.leave_parts(x);
        let (value, core) = (Zeroizing::new(low.uint(0)), self.core());
        let inverse: Option<BoxedUint> =
            if public { value.invert_odd_mod_vartime(&core) } else { value.invert_odd_mod(&core) }.into();
        let limbs = low.limbs();
        let mut inverse = inverse?;
        let y = IntegerBatch::from_words(limbs, limbs::from_uint(&inverse, limbs));
        inverse.zeroize();
        let y = self.enter(&y).expect("a value has the limbs of its modulus");
        let Some(root) = self.root() else { return Some(y) };
        let (_, t) = self.leave_parts(&self.multiply(x, &y).expect("one and one"));
        // n − t, which is n itself for t = 0: it must be below n.
        let mut negated = root.to_vec();
        limbs::sub_assign(&mut negated, t.row(0));
        limbs::reduce_once(&mut negated, 0, root);
        Some(self.multiply_unit(&y, &IntegerBatch::from_words(limbs, negated)).expect("one and one, of n's limbs"))
    }
}

/// Lane l of `out` becomes lane l + step of `group`, around.
fn rotate(kernel: &dyn Kernel, out: &mut [u64], group: &[u64], step: usize) {
    let mut single = Wiped::zeroed(kernel.single_words());
    for lane in 0..kernel.lanes() {
        kernel.extract(&mut single, group, (lane + step) % kernel.lanes());
        kernel.insert(out, lane, &single);
    }
}
