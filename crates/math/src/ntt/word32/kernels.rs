//! The transforms of 32-bit words, generic over the vector type and instantiated with the CPU features of each
//! instruction set.

use super::lanes::{Lanes, OfBlock, forward_levels, inverse_levels};
use super::tables::Tables;

/// Loads `R` vectors, `stride` cells apart.
#[inline(always)]
unsafe fn load<A: Lanes, const R: usize>(from: *const A::Cell, stride: usize) -> [A::Vector; R] {
    // SAFETY: the caller's contract. The first load only initialises the array.
    unsafe {
        let mut x = [A::load(from); R];
        for (j, x) in x.iter_mut().enumerate().skip(1) {
            *x = A::load(from.add(j * stride));
        }
        x
    }
}

/// Stores `R` vectors `stride` cells apart.
#[inline(always)]
unsafe fn store<A: Lanes, const R: usize>(x: [A::Vector; R], to: *mut A::Cell, stride: usize) {
    for (j, x) in x.into_iter().enumerate() {
        // SAFETY: the caller's contract.
        unsafe { A::store(x, to.add(j * stride)) }
    }
}

#[inline(always)]
unsafe fn forward_pass<A: Lanes, const R: usize>(a: A, data: *mut A::Cell, len: usize, roots: *const [A::Cell; 2]) {
    let stride = len / R;
    for j in (0..stride).step_by(A::LANES) {
        // SAFETY: j + (R − 1)·stride + LANES ≤ len.
        unsafe {
            let mut x = load::<A, R>(data.add(j), stride);
            a.prepare_forward(&mut x, false);
            forward_levels::<A, R, 0>(a, &mut x, OfBlock::<A>(roots));
            store::<A, R>(x, data.add(j), stride);
        }
    }
}

#[inline(always)]
unsafe fn forward_first<A: Lanes, const R: usize>(
    a: A,
    from: *const u32,
    data: *mut A::Cell,
    len: usize,
    roots: *const [A::Cell; 2],
) {
    let stride = len / R;
    for j in (0..stride).step_by(A::LANES) {
        // SAFETY: as in `forward_pass`; a column is read before its place is written.
        unsafe {
            let mut x = [A::load_coefficients(from.add(j)); R];
            for (i, x) in x.iter_mut().enumerate().skip(1) {
                *x = A::load_coefficients(from.add(j + i * stride));
            }
            a.prepare_forward(&mut x, true);
            forward_levels::<A, R, 0>(a, &mut x, OfBlock::<A>(roots));
            store::<A, R>(x, data.add(j), stride);
        }
    }
}

#[inline(always)]
unsafe fn inverse_pass<A: Lanes, const R: usize>(
    a: A,
    data: *mut A::Cell,
    len: usize,
    roots: *const [A::Cell; 2],
    (range, reduce): (u64, bool),
) {
    let stride = len / R;
    for j in (0..stride).step_by(A::LANES) {
        // SAFETY: as in `forward_pass`.
        unsafe {
            let mut x = load::<A, R>(data.add(j), stride);
            a.prepare_inverse(&mut x, range);
            inverse_levels::<A, R, 0>(a, &mut x, OfBlock::<A>(roots));
            a.finish_inverse(&mut x, reduce);
            store::<A, R>(x, data.add(j), stride);
        }
    }
}

#[inline(always)]
unsafe fn inverse_last<A: Lanes, const R: usize>(
    a: A,
    tables: &Tables<A::Cell>,
    data: *const A::Cell,
    out: *mut u32,
    len: usize,
) {
    let stride = len / R;
    let (range, _) = tables.inverse_ranges[0];
    for j in (0..stride).step_by(A::LANES) {
        // SAFETY: as in `forward_first`.
        unsafe {
            let mut x = load::<A, R>(data.add(j), stride);
            a.prepare_inverse(&mut x, range);
            inverse_levels::<A, R, 1>(a, &mut x, OfBlock::<A>(tables.inverse.passes[0].as_ptr()));
            let (by_n, w) = (A::broadcast(&tables.scale[0]), A::broadcast(&tables.scale[1]));
            for i in 0..R / 2 {
                let (sum, difference) = a.sum_difference(x[i], x[i + R / 2]);
                (x[i], x[i + R / 2]) = (a.mul(sum, by_n), a.mul(difference, w));
            }
            a.store_coefficients(x, out.add(j), stride);
        }
    }
}

/// Pass number `pass` over the blocks in the `len` cells at `data`, from block number `first` on.
#[inline(always)]
unsafe fn blocks<A: Lanes, const FORWARD: bool>(
    a: A,
    tables: &Tables<A::Cell>,
    pass: usize,
    first: usize,
    data: *mut A::Cell,
    len: usize,
) {
    let levels = tables.passes[pass];
    let block_len = tables.polynomial_size >> tables.passes[..pass].iter().sum::<u32>();
    let per_block = (1 << levels) - 1;
    let factors = if FORWARD { &tables.forward } else { &tables.inverse };
    let roots = &factors.passes[pass][first * per_block..][..len / block_len * per_block];
    for block in 0..len / block_len {
        // SAFETY: the blocks divide the data; the slice above holds their factors.
        unsafe {
            let data = data.add(block * block_len);
            let roots = roots.as_ptr().add(block * per_block);
            match (FORWARD, levels) {
                (true, 3) => forward_pass::<A, 8>(a, data, block_len, roots),
                (true, _) => forward_pass::<A, 4>(a, data, block_len, roots),
                (false, 3) => inverse_pass::<A, 8>(a, data, block_len, roots, tables.inverse_ranges[pass]),
                (false, _) => inverse_pass::<A, 4>(a, data, block_len, roots, tables.inverse_ranges[pass]),
            }
        }
    }
}

/// The tile levels of the `len` cells at `data`, whose first one is cell `offset` of the spectrum.
#[inline(always)]
unsafe fn tiles<A: Lanes, const FORWARD: bool>(
    a: A,
    tables: &Tables<A::Cell>,
    offset: usize,
    data: *mut A::Cell,
    spectrum: *mut u32,
    len: usize,
) {
    let area = A::LANES * A::LANES;
    let per_tile = 2 * A::LANES * A::TILE_ROOTS.len();
    let factors = if FORWARD { &tables.forward } else { &tables.inverse };
    for tile in 0..len / area {
        // SAFETY: the tiles divide the data; the table holds `per_tile` cells for each of the spectrum's.
        unsafe {
            let roots = factors.tiles.as_ptr().add((offset / area + tile) * per_tile);
            let (cells, words) = (data.add(tile * area), spectrum.add(tile * area));
            if FORWARD {
                a.forward_tile(&tables.units, cells, roots, words)
            } else {
                a.inverse_tile(&tables.inverse_units, words, roots, cells)
            }
        }
    }
}

/// Forward transform of the N words at `from` to the N words at `out`, by way of the N cells at `data`.
///
/// # Safety
/// The CPU has the features of `A`, for which the tables were made. `from`, `data` and `out` are N words each. They may
/// be the same memory; `data` only if a cell is a word.
#[inline(always)]
pub(super) unsafe fn forward<A: Lanes>(tables: &Tables<A::Cell>, from: *const u32, data: *mut A::Cell, out: *mut u32) {
    let n = tables.polynomial_size;
    // SAFETY: the caller's contract; the chunks divide the cells.
    unsafe {
        let a = A::new(tables.modulus);
        let roots = tables.forward.passes[0].as_ptr();
        match tables.passes[0] {
            3 => forward_first::<A, 8>(a, from, data, n, roots),
            _ => forward_first::<A, 4>(a, from, data, n, roots),
        }
        let children = if tables.outer > 0 { 1 << tables.passes[0] } else { 1 };
        let grandchildren = if tables.outer > 1 { 1 << tables.passes[1] } else { 1 };
        for child in 0..children {
            let len = n / children;
            if tables.outer > 1 {
                blocks::<A, true>(a, tables, 1, child, data.add(child * len), len);
            }
            let chunk = len / grandchildren;
            for grandchild in 0..grandchildren {
                let offset = child * len + grandchild * chunk;
                let data = data.add(offset);
                let mut block_len = n >> tables.passes[..tables.outer.max(1)].iter().sum::<u32>();
                for pass in tables.outer.max(1)..tables.passes.len() {
                    blocks::<A, true>(a, tables, pass, offset / block_len, data, chunk);
                    block_len >>= tables.passes[pass];
                }
                tiles::<A, true>(a, tables, offset, data, out.add(offset), chunk);
            }
        }
    }
}

/// Inverse transform, divided by N, of the N words at `spectrum` to the N words at `out`, by way of the N cells at
/// `data`.
///
/// # Safety
/// As for [`forward`].
#[inline(always)]
pub(super) unsafe fn inverse<A: Lanes>(
    tables: &Tables<A::Cell>,
    spectrum: *const u32,
    data: *mut A::Cell,
    out: *mut u32,
) {
    let n = tables.polynomial_size;
    // SAFETY: the caller's contract; the chunks divide the cells.
    unsafe {
        let a = A::new(tables.modulus);
        let children = if tables.outer > 0 { 1 << tables.passes[0] } else { 1 };
        let grandchildren = if tables.outer > 1 { 1 << tables.passes[1] } else { 1 };
        for child in 0..children {
            let len = n / children;
            let chunk = len / grandchildren;
            for grandchild in 0..grandchildren {
                let offset = child * len + grandchild * chunk;
                let data = data.add(offset);
                tiles::<A, false>(a, tables, offset, data, spectrum.add(offset).cast_mut(), chunk);
                let mut block_len = A::LANES;
                for pass in (tables.outer.max(1)..tables.passes.len()).rev() {
                    block_len <<= tables.passes[pass];
                    blocks::<A, false>(a, tables, pass, offset / block_len, data, chunk);
                }
            }
            if tables.outer > 1 {
                blocks::<A, false>(a, tables, 1, child, data.add(child * len), len);
            }
        }
        match tables.passes[0] {
            3 => inverse_last::<A, 8>(a, tables, data, out, n),
            _ => inverse_last::<A, 4>(a, tables, data, out, n),
        }
    }
}
