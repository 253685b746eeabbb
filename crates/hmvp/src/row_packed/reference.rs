//! The plain definitions of the strategy, over the integers and without encryption.

use ciphermill_math::products::reference::shifted;

use super::layout::{Layout, Tile};

/// A polynomial modulo X^N + 1 with integer coefficients.
pub type Polynomial = Vec<i64>;

/// σ_g(a), X ↦ X^g.
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
pub fn product(a: &[i64], b: &[i64]) -> Polynomial {
    let mut out = vec![0; a.len()];
    for (j, &x) in b.iter().enumerate().filter(|(_, x)| **x != 0) {
        add(&mut out, &shifted(j, a).iter().map(|y| x * y).collect::<Polynomial>());
    }
    out
}

/// a += b.
pub fn add(a: &mut [i64], b: &[i64]) {
    a.iter_mut().zip(b).for_each(|(a, b)| *a += b);
}

/// Plaintext i of a column tile, Σ_k Σ_j scale·entry(i·r + k, j)·X^(k·span − j).
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
pub fn entry(layout: &Layout, tile: &Tile, baby: usize, giant: usize, plaintexts: &[Polynomial]) -> Polynomial {
    let (g1, g2) = (layout.baby(baby), layout.giant(giant));
    automorphism(g1, &transformed(layout, tile, g1 * g2, plaintexts))
}

/// Σ_(g_2) σ_(g_2)(Σ_(g_1) entry·σ_(g_1)(vector)) over all column tiles.
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
