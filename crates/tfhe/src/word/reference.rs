//! Look-ups by their definitions: schoolbook products modulo q.

use ciphermill_lattice::Torus;

use super::{DenseTable, Diagram, Edge, SelectorId, Table};
use crate::dimension::{GlweDimension, PolynomialSize};
use crate::error::TfheError;
use crate::ggsw::GgswCiphertext;
use crate::glwe::GlweCiphertext;
use crate::lwe::LweCiphertext;
use crate::reference::{cmux, rotate_glwe};

/// The output digits of a table, under the big key: d/4 each. `selector_at` gives the selectors that the table reads.
///
/// # Errors
/// Those of `selector_at`, and if the selectors are not of N' = `size`.
pub fn look_up<'a>(
    table: &Table,
    size: PolynomialSize,
    selector_at: &dyn Fn(SelectorId) -> Result<&'a GgswCiphertext<u64>, TfheError>,
) -> Result<Vec<LweCiphertext<u64>>, TfheError> {
    match table {
        Table::Dense(table) => dense(table, size, selector_at),
        Table::Diagram(diagram) => walk(diagram, size, selector_at),
    }
}

fn dense<'a>(
    table: &DenseTable,
    size: PolynomialSize,
    selector_at: &dyn Fn(SelectorId) -> Result<&'a GgswCiphertext<u64>, TfheError>,
) -> Result<Vec<LweCiphertext<u64>>, TfheError> {
    let trivial = |polynomial: Vec<u64>| GlweCiphertext::trivial(&polynomial, GlweDimension(1), size);
    let polynomials = (0..table.polynomial_count(size.get())).map(|upper| table.polynomial(size.get(), upper));
    let mut level = polynomials.map(trivial).collect::<Result<Vec<_>, _>>()?;
    let selectors = table.selectors();
    let (rotating, choosing) = selectors.split_at(table.rotated_bits(size.get()) as usize);
    for &selector in choosing {
        let selector = selector_at(selector)?;
        level = level.chunks_exact(2).map(|pair| cmux(selector, &pair[0], &pair[1])).collect::<Result<_, _>>()?;
    }
    let mut chosen = level.swap_remove(0);
    for (bit, &selector) in rotating.iter().enumerate() {
        // Entry e + 2^bit comes to the place of entry e.
        let back = 2 * size.get() - (table.output_digits() << bit);
        chosen = cmux(selector_at(selector)?, &chosen, &rotate_glwe(&chosen, back))?;
    }
    (0..table.output_digits()).map(|digit| chosen.extract(digit)).collect()
}

fn walk<'a>(
    diagram: &Diagram,
    size: PolynomialSize,
    selector_at: &dyn Fn(SelectorId) -> Result<&'a GgswCiphertext<u64>, TfheError>,
) -> Result<Vec<LweCiphertext<u64>>, TfheError> {
    let mut values: Vec<GlweCiphertext<u64>> = Vec::with_capacity(diagram.nodes().len());
    let value_of = |values: &[GlweCiphertext<u64>], edge: Edge| {
        let (node, digit) = edge.parts();
        let mut polynomial = vec![u64::ZERO; size.get()];
        polynomial[0] = u64::from(digit) << 62;
        let mut value = GlweCiphertext::trivial(&polynomial, GlweDimension(1), size)?;
        if let Some(index) = node {
            value.add_assign(&values[index as usize])?;
        }
        Ok::<_, TfheError>(value)
    };
    for node in diagram.nodes() {
        let [zero, one] = node.edges.map(|edge| value_of(&values, edge));
        values.push(cmux(selector_at(node.selector)?, &zero?, &one?)?);
    }
    diagram.outputs().iter().map(|&output| value_of(&values, output)?.extract(0)).collect()
}
