//! The ring of tables with everything transformed: from bits to selectors, and from selectors to output digits.

use std::fmt::Debug;
use std::sync::Arc;

use ciphermill_lattice::Torus;
use rayon::prelude::*;

use super::GrayBit;
use super::key::ConversionKey;
use super::reference::{ring_switch, selector_shape};
use super::shape::ConversionShape;
use crate::bootstrap::Domain;
use crate::dimension::PolynomialSize;
use crate::error::{TfheError, require_equal};
use crate::ggsw_shape::GgswShape;
use crate::glwe::GlweCiphertext;
use crate::lwe::LweCiphertext;
use crate::memory::AlignedBuffer;
use crate::word::{DenseTable, Diagram, Edge, SelectorId, Table};

/// A conversion key in the form in which it is read.
pub(crate) struct Ring<D: Domain<u64>> {
    shape: ConversionShape,
    selector: GgswShape,
    /// The domain with each gadget.
    trace: D,
    square: D,
    select: D,
    /// The rows of each automorphism of the trace, and of the scheme switch.
    trace_rows: AlignedBuffer<D::Word>,
    square_rows: AlignedBuffer<D::Word>,
    identity: Arc<()>,
}

impl<D: Domain<u64>> Debug for Ring<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Ring({:?}, selectors {:?})", self.shape, self.selector.decomposition)
    }
}

/// The selectors of a digit, transformed: two.
pub(crate) struct SelectorWords<W> {
    words: AlignedBuffer<W>,
    /// The ring that made them: their form depends on its transform, its path and its sizes.
    ring: Arc<()>,
}

impl<W: Copy + Default> SelectorWords<W> {
    pub(crate) fn memory_bytes(&self) -> u64 {
        size_of_val(&*self.words) as u64
    }
}

/// A GLWE ciphertext with k = 1, as elements of the domain: mask, then body.
type Pair<D> = AlignedBuffer<<D as Domain<u64>>::Element>;

/// The words of the selector that a table names.
pub(crate) type WordsAt<'a, D> = dyn Fn(SelectorId) -> Result<&'a [<D as Domain<u64>>::Word], TfheError> + 'a;

/// Working memory of one thread.
struct Workspace<D: Domain<u64>> {
    polynomials: AlignedBuffer<D::Element>,
    digits: AlignedBuffer<D::Point>,
    sums: AlignedBuffer<D::Point>,
}

impl<D: Domain<u64>> Ring<D> {
    /// Transforms a conversion key; `domain` makes the domain of a shape.
    pub(crate) fn new(
        key: &ConversionKey,
        selector: crate::dimension::Decomposition,
        domain: impl Fn(GgswShape) -> Result<D, TfheError>,
    ) -> Result<Self, TfheError> {
        let shape = key.shape();
        let of = |gadget| selector_shape(shape.polynomial_size, gadget);
        let [trace, square, select] = [shape.trace, shape.square, selector].map(|gadget| domain(of(gadget)));
        let (trace, square, select) = (trace?, square?, select?);
        let transform = |domain: &D, gadget, rows: &[u64], count: usize| {
            let len = domain.component_len(of(gadget));
            let mut words = AlignedBuffer::zeroed(count * len);
            let mut spectra = AlignedBuffer::zeroed(rows.len() / count);
            for (component, rows) in words.chunks_exact_mut(len).zip(rows.chunks_exact(rows.len() / count)) {
                domain.transform_component(rows, &mut spectra, component);
            }
            words
        };
        let automorphisms = shape.automorphisms();
        let split = key.coefficients().len() - key.square_rows().len();
        let trace_rows = transform(&trace, shape.trace, &key.coefficients()[..split], automorphisms);
        let square_rows = transform(&square, shape.square, key.square_rows(), 1);
        let identity = Arc::default();
        Ok(Self { shape, selector: of(selector), trace, square, select, trace_rows, square_rows, identity })
    }

    /// Bytes of the transformed key.
    pub(crate) fn memory_bytes(&self) -> u64 {
        (size_of_val(&*self.trace_rows) + size_of_val(&*self.square_rows)) as u64
    }

    fn size(&self) -> PolynomialSize {
        self.shape.polynomial_size
    }

    fn n(&self) -> usize {
        self.shape.polynomial_size.get()
    }

    fn workspace(&self) -> Workspace<D> {
        let levels =
            [self.shape.trace, self.shape.square, self.selector.decomposition].map(|gadget| gadget.level_count.0);
        let levels = levels.into_iter().max().unwrap_or(1);
        Workspace {
            polynomials: AlignedBuffer::zeroed(2 * self.n()),
            digits: AlignedBuffer::zeroed(levels * self.n()),
            sums: AlignedBuffer::zeroed(2 * self.n()),
        }
    }

    /// out += Σ_j digit_j(polynomial)·row_j.
    fn combine(
        domain: &D,
        levels: usize,
        component: &[D::Word],
        polynomial: &[D::Element],
        out: &mut [D::Element],
        (digits, sums): (&mut [D::Point], &mut [D::Point]),
    ) {
        let n = polynomial.len();
        domain.multiply_component(polynomial, component, sums, false, &mut digits[..levels * n]);
        for (sum, out) in sums.chunks_exact_mut(n).zip(out.chunks_exact_mut(n)) {
            domain.inverse_add(sum, out);
        }
    }

    /// The trace of an LWE ciphertext, brought into the ring.
    fn trace(&self, bit: &LweCiphertext<u64>, workspace: &mut Workspace<D>) -> Result<Pair<D>, TfheError> {
        let n = self.n();
        let switched = ring_switch(bit, self.size())?;
        let mut sum: Pair<D> = AlignedBuffer::zeroed(2 * n);
        self.trace.enter(switched.coefficients(), &mut sum);
        let Workspace { polynomials, digits, sums } = workspace;
        let levels = self.shape.trace.level_count.0;
        let len = self.trace_rows.len() / self.shape.automorphisms();
        for (index, component) in self.trace_rows.chunks_exact(len).enumerate() {
            let exponent = self.shape.exponent(index);
            for (from, to) in sum.chunks_exact(n).zip(polynomials.chunks_exact_mut(n)) {
                self.trace.automorphism(from, exponent, to);
            }
            let (mask, body) = polynomials.split_at(n);
            self.trace.add_elements(&mut sum[n..], body);
            Self::combine(&self.trace, levels, component, mask, &mut sum, (digits, sums));
        }
        Ok(sum)
    }

    /// The ciphertext of −S'·m for one of m.
    fn scheme_switch(&self, input: &[D::Element], workspace: &mut Workspace<D>) -> Pair<D> {
        let n = self.n();
        let mut out: Pair<D> = AlignedBuffer::zeroed(2 * n);
        out[..n].copy_from_slice(&input[n..]);
        let Workspace { digits, sums, .. } = workspace;
        let levels = self.shape.square.level_count.0;
        Self::combine(&self.square, levels, &self.square_rows, &input[..n], &mut out, (digits, sums));
        out
    }

    /// The GLWE ciphertext of a bit after the trace, and after the scheme switch.
    pub(crate) fn rows(&self, bit: &LweCiphertext<u64>) -> Result<[GlweCiphertext<u64>; 2], TfheError> {
        let mut workspace = self.workspace();
        let traced = self.trace(bit, &mut workspace)?;
        let switched = self.scheme_switch(&traced, &mut workspace);
        Ok([self.leave(&traced)?, self.leave(&switched)?])
    }

    /// Words of one selector.
    fn selector_len(&self) -> usize {
        2 * self.select.component_len(self.selector)
    }

    /// The selector of a bit, from its LWE ciphertexts at each level.
    fn selector(
        &self,
        bits: &[LweCiphertext<u64>],
        words: &mut [D::Word],
        workspace: &mut Workspace<D>,
    ) -> Result<(), TfheError> {
        let n = self.n();
        let levels = self.selector.decomposition.level_count.0;
        require_equal("levels of a selector's bit", bits.len(), levels)?;
        let mut rows = vec![0u64; self.selector.len()];
        let (switched, plain) = rows.split_at_mut(levels * 2 * n);
        for ((bit, switched), plain) in
            bits.iter().zip(switched.chunks_exact_mut(2 * n)).zip(plain.chunks_exact_mut(2 * n))
        {
            let traced = self.trace(bit, workspace)?;
            self.trace.leave(&traced, plain);
            self.square.leave(&self.scheme_switch(&traced, workspace), switched);
        }
        let len = words.len() / 2;
        let mut spectra = AlignedBuffer::zeroed(levels * 2 * n);
        for (component, rows) in words.chunks_exact_mut(len).zip(rows.chunks_exact(levels * 2 * n)) {
            self.select.transform_component(rows, &mut spectra, component);
        }
        Ok(())
    }

    /// The selectors of a digit, on the threads of the current Rayon pool. `bits` has the LWE ciphertexts of each bit at each
    /// level.
    pub(crate) fn select(&self, bits: &[LweCiphertext<u64>]) -> Result<SelectorWords<D::Word>, TfheError> {
        let levels = self.selector.decomposition.level_count.0;
        require_equal("bits of a digit at all levels", bits.len(), 2 * levels)?;
        let (len, count) = (self.selector_len(), bits.len() / levels);
        let mut words = AlignedBuffer::zeroed(count * len);
        words
            .par_chunks_exact_mut(len)
            .zip(bits.par_chunks_exact(levels))
            .try_for_each_init(|| self.workspace(), |workspace, (words, bits)| self.selector(bits, words, workspace))?;
        Ok(SelectorWords { words, ring: Arc::clone(&self.identity) })
    }

    /// The words of one of the two selectors of a digit; `None` for selectors of another ring.
    pub(crate) fn words<'a>(&self, selectors: &'a SelectorWords<D::Word>, bit: GrayBit) -> Option<&'a [D::Word]> {
        let (len, index) = (self.selector_len(), usize::from(bit == GrayBit::High));
        let own = Arc::ptr_eq(&selectors.ring, &self.identity);
        selectors.words.get(index * len..(index + 1) * len).filter(|_| own)
    }

    /// zero += selector ⊡ difference. A mask that is known to be 0 is left out.
    fn cmux(
        &self,
        selector: &[D::Word],
        difference: &[D::Element],
        zero: &mut [D::Element],
        trivial: bool,
        workspace: (&mut [D::Point], &mut [D::Point]),
    ) {
        let n = self.n();
        let (digits, sums) = workspace;
        let digits = &mut digits[..self.selector.decomposition.level_count.0 * n];
        let components = selector.chunks_exact(selector.len() / 2).zip(difference.chunks_exact(n));
        for (component, (words, polynomial)) in components.enumerate().skip(usize::from(trivial)) {
            let accumulate = component > usize::from(trivial);
            self.select.multiply_component(polynomial, words, sums, accumulate, digits);
        }
        for (sum, out) in sums.chunks_exact_mut(n).zip(zero.chunks_exact_mut(n)) {
            self.select.inverse_add(sum, out);
        }
    }

    /// The output digits of a table under the big key.
    pub(crate) fn look_up(
        &self,
        table: &Table,
        words_at: &WordsAt<'_, D>,
    ) -> Result<Vec<LweCiphertext<u64>>, TfheError> {
        match table {
            Table::Dense(table) => self.dense(table, words_at),
            Table::Diagram(diagram) => self.walk(diagram, words_at),
        }
    }

    fn leave(&self, pair: &[D::Element]) -> Result<GlweCiphertext<u64>, TfheError> {
        let mut torus = vec![u64::ZERO; pair.len()];
        self.select.leave(pair, &mut torus);
        GlweCiphertext::from_coefficients(torus, self.size())
    }

    /// A trivial ciphertext of a polynomial.
    fn trivial(&self, polynomial: &[u64]) -> Pair<D> {
        let mut pair: Pair<D> = AlignedBuffer::zeroed(2 * self.n());
        self.select.enter(polynomial, &mut pair[self.n()..]);
        pair
    }

    fn dense(&self, table: &DenseTable, words_at: &WordsAt<'_, D>) -> Result<Vec<LweCiphertext<u64>>, TfheError> {
        let n = self.n();
        let selectors = table.selectors();
        let (rotating, choosing) = selectors.split_at(table.rotated_bits(n) as usize);
        let choosing = choosing.iter().map(|&id| words_at(id)).collect::<Result<Vec<_>, _>>()?;
        let mut chosen = self.choose(table, &choosing, 0);
        let mut workspace = self.workspace();
        for (bit, &id) in rotating.iter().enumerate() {
            let selector = words_at(id)?;
            // Entry e + 2^bit comes to the place of entry e.
            let back = 2 * n - (table.output_digits() << bit);
            let Workspace { polynomials, digits, sums } = &mut workspace;
            for (from, to) in chosen.chunks_exact(n).zip(polynomials.chunks_exact_mut(n)) {
                self.select.rotated_difference(from, back, to);
            }
            let trivial = choosing.is_empty() && bit == 0;
            self.cmux(selector, polynomials, &mut chosen, trivial, (digits, sums));
        }
        let chosen = self.leave(&chosen)?;
        (0..table.output_digits()).map(|digit| chosen.extract(digit)).collect()
    }

    /// The polynomial of a table that b selectors choose among the 2^b from the number `first` on; the first selector has the
    /// least weight. Both halves of a tree go to separate threads.
    fn choose(&self, table: &DenseTable, selectors: &[&[D::Word]], first: u32) -> Pair<D> {
        let Some((selector, lower)) = selectors.split_last() else {
            return self.trivial(&table.polynomial(self.n(), first));
        };
        let second = first + (1 << lower.len());
        let (mut zero, mut one) =
            rayon::join(|| self.choose(table, lower, first), || self.choose(table, lower, second));
        self.select.subtract_elements(&mut one, &zero);
        let mut workspace = self.workspace();
        self.cmux(selector, &one, &mut zero, lower.is_empty(), (&mut workspace.digits, &mut workspace.sums));
        zero
    }

    fn walk(&self, diagram: &Diagram, words_at: &WordsAt<'_, D>) -> Result<Vec<LweCiphertext<u64>>, TfheError> {
        let constant = |digit: u8| {
            let mut polynomial = vec![0; self.n()];
            polynomial[0] = u64::from(digit) << 62;
            self.trivial(&polynomial)
        };
        let constants: [Pair<D>; 4] = std::array::from_fn(|digit| constant(digit as u8));
        let mut values: Vec<Option<Pair<D>>> = diagram.nodes().iter().map(|_| None).collect();
        let value_of = |values: &'_ [Option<Pair<D>>], edge: Edge| {
            let (node, digit) = edge.parts();
            let mut value = copy(node.and_then(|index| values[index as usize].as_ref()).unwrap_or(&constants[0]));
            // The constant is in the first coefficient of the body.
            let place = self.n()..self.n() + 1;
            self.select.add_elements(&mut value[place.clone()], &constants[usize::from(digit)][place]);
            value
        };
        let mut workspace = self.workspace();
        for (index, (node, reader)) in diagram.nodes().iter().zip(diagram.readers()).enumerate() {
            if reader.is_none() {
                continue;
            }
            let [mut zero, mut one] = node.edges.map(|edge| value_of(&values, edge));
            self.select.subtract_elements(&mut one, &zero);
            let trivial = node.edges.iter().all(|edge| matches!(edge, Edge::Digit(_)));
            let Workspace { digits, sums, .. } = &mut workspace;
            self.cmux(words_at(node.selector)?, &one, &mut zero, trivial, (digits, sums));
            values[index] = Some(zero);
            for edge in node.edges {
                if let (Some(child), _) = edge.parts()
                    && diagram.readers()[child as usize] == Some(index)
                {
                    values[child as usize] = None;
                }
            }
        }
        let output = |&edge: &Edge| self.leave(&value_of(&values, edge))?.extract(0);
        diagram.outputs().iter().map(output).collect()
    }
}

fn copy<E: Copy + Default>(values: &AlignedBuffer<E>) -> AlignedBuffer<E> {
    let mut copy = AlignedBuffer::zeroed(values.len());
    copy.copy_from_slice(values);
    copy
}
