//! The plain definitions of the strategy, over the integers and without encryption.

use ciphermill_math::products::reference::shifted;

use super::layout::{Layout, Tile};

/// A polynomial modulo X^N + 1 with integer coefficients.
pub type Polynomial = Vec<i64>;

/// σ_g(a), X ↦ X^g.
///
/// # Example
/// ```
/// use ciphermill_hmvp::reference::row_packed::automorphism;
///
/// // 1 + 2·X + 5·X^2 becomes 1 + 2·X^3 + 5·X^6, and X^6 = −X^2.
/// assert_eq!(automorphism(3, &[1, 2, 5, 0]), [1, 0, -5, 2]);
/// ```
pub fn automorphism(g: usize, a: &[i64]) -> Polynomial {
    let n = a.len();
    let mut out = vec![0; n];
    for (j, &x) in a.iter().enumerate() {
        let e = j * g % (2 * n);
        out[e % n] = if e < n { x } else { -x };
    }
    out
}

/// a·b.
///
/// # Example
/// ```
/// use ciphermill_hmvp::reference::row_packed::product;
///
/// // (1 + X^3)·X = X − 1.
/// assert_eq!(product(&[1, 0, 0, 1], &[0, 1, 0, 0]), [-1, 1, 0, 0]);
/// ```
pub fn product(a: &[i64], b: &[i64]) -> Polynomial {
    let mut out = vec![0; a.len()];
    for (j, &x) in b.iter().enumerate().filter(|(_, x)| **x != 0) {
        add(&mut out, &shifted(j, a).iter().map(|y| x * y).collect::<Polynomial>());
    }
    out
}

/// a += b.
///
/// # Example
/// ```
/// use ciphermill_hmvp::reference::row_packed::{Polynomial, add};
///
/// let mut a: Polynomial = vec![1, 2];
/// add(&mut a, &[10, 20]);
/// assert_eq!(a, [11, 22]);
/// ```
pub fn add(a: &mut [i64], b: &[i64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
}

/// Plaintext i of a column tile, Σ_k Σ_j scale·entry(i·r + k, j)·X^(k·span − j).
///
/// # Example
/// ```
/// use ciphermill_hmvp::{layout::RowPackedLayout, reference::row_packed::plaintext};
///
/// let layout = RowPackedLayout::new(2, 2, 4, 1)?;
/// let entry = |row: usize, column: usize| [[1i64, 2], [3, 4]][row][column];
/// // 1 + 2·X^-1 + 3·X^2 + 4·X, and X^-1 = −X^3.
/// assert_eq!(plaintext(&layout, &layout.tile(0), 0, 0, &entry), [1, 4, 3, -2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn plaintext(
    layout: &Layout,
    tile: &Tile,
    column_tile: usize,
    i: usize,
    entry: &dyn Fn(usize, usize) -> i64,
) -> Polynomial {
    let n = layout.polynomial_size;
    let mut p = vec![0; n];
    let r = layout.rows_per_plaintext();
    for k in (0..r).filter(|k| i * r + k < tile.rows.len()) {
        for (j, column) in layout.columns(column_tile).enumerate() {
            let mut term = vec![0; n];
            term[0] = tile.scale as i64 * entry(tile.rows.start + i * r + k, column);
            add(&mut p, &shifted(2 * n + k * layout.span - j, &term));
        }
    }
    p
}

/// R_g = Σ_i X^(i·span/P·g^-1)·p_i.
///
/// # Example
/// ```
/// use ciphermill_hmvp::{layout::RowPackedLayout, reference::row_packed::transformed};
///
/// let layout = RowPackedLayout::new(4, 2, 4, 1)?;
/// let plaintexts = [vec![1, 0, 0, 0], vec![0, 1, 0, 0]];
/// // 1 + X^g·X.
/// assert_eq!(transformed(&layout, &layout.tile(0), 1, &plaintexts), [1, 0, 1, 0]);
/// assert_eq!(transformed(&layout, &layout.tile(0), 5, &plaintexts), [1, 0, -1, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn transformed(layout: &Layout, tile: &Tile, g: usize, plaintexts: &[Polynomial]) -> Polynomial {
    let turn = 2 * layout.polynomial_size;
    let inverse = (1..turn).find(|h| h * g % turn == 1).expect("odd");
    let mut sum = vec![0; layout.polynomial_size];
    for (i, p) in plaintexts.iter().enumerate() {
        add(&mut sum, &shifted(i * layout.span / tile.plaintexts * inverse, p));
    }
    sum
}

/// Row `giant` and column `baby` of the matrix of a column tile: σ_(g_1)(R_(g_1·g_2)).
///
/// # Example
/// ```
/// use ciphermill_hmvp::{layout::RowPackedLayout, reference::row_packed::entry};
///
/// let layout = RowPackedLayout::new(4, 2, 4, 2)?;
/// let plaintexts = [vec![1, 0, 0, 0], vec![1, 0, 0, 0]];
/// // X ↦ X^5 of 1 + X^5.
/// assert_eq!(entry(&layout, &layout.tile(0), 1, 0, &plaintexts), [1, 1, 0, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn entry(layout: &Layout, tile: &Tile, baby: usize, giant: usize, plaintexts: &[Polynomial]) -> Polynomial {
    let (g1, g2) = (layout.baby(baby), layout.giant(giant));
    automorphism(g1, &transformed(layout, tile, g1 * g2, plaintexts))
}

/// Σ_(g_2) σ_(g_2)(Σ_(g_1) entry·σ_(g_1)(vector)) over all column tiles.
///
/// # Example
/// ```
/// use ciphermill_hmvp::{layout::RowPackedLayout, reference::row_packed::pack};
///
/// let layout = RowPackedLayout::new(4, 2, 4, 2)?;
/// let tile = layout.tile(0);
/// let matrix = |row: usize, column: usize| [[1i64, 2], [3, 4], [5, 6], [7, 8]][row][column];
/// let packed = pack(&layout, &tile, &[5, 6], &matrix);
/// // The entries of the product, times the divisor 2.
/// assert_eq!([0, 1, 2, 3].map(|row| packed[layout.place(&tile, row)]), [34, 78, 122, 166]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn pack(layout: &Layout, tile: &Tile, vector: &[i64], matrix: &dyn Fn(usize, usize) -> i64) -> Polynomial {
    let n = layout.polynomial_size;
    let mut packed = vec![0; n];
    for column_tile in 0..layout.column_tiles() {
        let plaintexts: Vec<Polynomial> =
            (0..tile.plaintexts).map(|i| plaintext(layout, tile, column_tile, i, matrix)).collect();
        let mut v = vector[layout.columns(column_tile)].to_vec();
        v.resize(n, 0);
        for giant in 0..tile.giants {
            let mut sum = vec![0; n];
            for baby in 0..layout.babies() {
                let entry = entry(layout, tile, baby, giant, &plaintexts);
                add(&mut sum, &product(&entry, &automorphism(layout.baby(baby), &v)));
            }
            add(&mut packed, &automorphism(layout.giant(giant), &sum));
        }
    }
    packed
}
