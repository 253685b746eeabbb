//! The definitions of the transforms: values of a polynomial at powers of a root.

/// A prime with a generator of its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Prime {
    pub(super) q: u64,
    pub(super) generator: u64,
}

impl Prime {
    fn times(self, a: u64, b: u64) -> u64 {
        if self.q < 1 << 32 { a * b % self.q } else { (u128::from(a) * u128::from(b) % u128::from(self.q)) as u64 }
    }

    fn power(self, base: u64, exponent: u64) -> u64 {
        let square = |(result, square, exponent): (u64, u64, u64)| {
            (exponent > 0).then(|| {
                let result = if exponent & 1 == 1 { self.times(result, square) } else { result };
                (result, self.times(square, square), exponent >> 1)
            })
        };
        let steps = std::iter::successors(Some((1, base, exponent)), |&step| square(step));
        steps.last().map_or(1, |(result, _, _)| result)
    }

    /// Whether the field has a root of unity of this order.
    pub(super) fn has_root(self, order: u64) -> bool {
        (self.q - 1).is_multiple_of(order)
    }

    fn root(self, order: u64) -> u64 {
        self.power(self.generator, (self.q - 1) / order)
    }

    /// The value of a polynomial, by Horner's rule.
    fn value(self, coefficients: &[u64], x: u64) -> u64 {
        coefficients.iter().rev().fold(0, |sum, &coefficient| (self.times(sum, x) + coefficient) % self.q)
    }

    /// The values at the powers of the root of order n, and of order 2n at its odd powers if `negacyclic`.
    pub(super) fn values(self, coefficients: &[u64], negacyclic: bool) -> Vec<u64> {
        let n = coefficients.len() as u64;
        let (root, first) = if negacyclic { (self.root(2 * n), self.root(2 * n)) } else { (self.root(n), 1) };
        let step = if negacyclic { self.times(root, root) } else { root };
        let points = std::iter::successors(Some(first), |&x| Some(self.times(x, step)));
        points.take(coefficients.len()).map(|x| self.value(coefficients, x)).collect()
    }
}

/// A function of hw/hls: its file, whether it is an inverse, negacyclic, and takes or leaves words in bit-reversed order.
#[derive(Clone, Copy, Debug)]
pub(super) struct Transform {
    pub(super) file: &'static str,
    pub(super) function: &'static str,
    pub(super) is_inverse: bool,
    pub(super) is_negacyclic: bool,
    pub(super) takes_reversed: bool,
    pub(super) leaves_reversed: bool,
}

const fn of(
    file: &'static str,
    function: &'static str,
    inverse: bool,
    negacyclic: bool,
    reversed: (bool, bool),
) -> Transform {
    let (takes_reversed, leaves_reversed) = reversed;
    Transform { file, function, is_inverse: inverse, is_negacyclic: negacyclic, takes_reversed, leaves_reversed }
}

pub(super) const TRANSFORMS: [Transform; 6] = [
    of("ntt_gs.c", "ntt_gs", false, false, (false, true)),
    of("ntt_gs.c", "intt_gs", true, false, (false, true)),
    of("ntt_ct.c", "ntt_ct", false, false, (true, false)),
    of("ntt_ct.c", "intt_ct", true, false, (true, false)),
    of("negacyclic.c", "negacyclic", false, true, (false, true)),
    of("negacyclic.c", "negacyclic_inverse", true, true, (true, false)),
];

impl Transform {
    /// Whether `after` is the transform of `before`. An inverse is right if the transform of its result is its input.
    pub(super) fn holds(&self, prime: Prime, before: &[u64], after: &[u64]) -> bool {
        let ordered = |words: &[u64], reversed: bool| if reversed { bit_reversed(words) } else { words.to_vec() };
        let (before, after) = (ordered(before, self.takes_reversed), ordered(after, self.leaves_reversed));
        let (coefficients, values) = if self.is_inverse { (after, before) } else { (before, after) };
        prime.values(&coefficients, self.is_negacyclic) == values
    }
}

fn bit_reversed(words: &[u64]) -> Vec<u64> {
    let bits = words.len().ilog2();
    (0..words.len()).map(|x| words[x.reverse_bits() >> (usize::BITS - bits)]).collect()
}
