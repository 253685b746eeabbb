//! Products by every strategy against the definition, through the interface that clients and servers use.

use crate::support::Setting;
use ciphermill_hmvp::{DenseMatrix, Request, Strategy};

fn request(strategy: Strategy, rows: usize, cols: usize, matrix_bits: u32, vector_bits: u32) -> Request {
    Request { strategy: Some(strategy), matrix_bits, vector_bits, ..Request::new(rows, cols) }
}

/// A random matrix and vector, and the greatest entries of either sign, which make the greatest sums and the most noise.
fn check(request: &Request) {
    let mut setting = Setting::new(request);
    let Request { rows, cols, matrix_bits, vector_bits, .. } = *request;
    let (matrix, vector) = (setting.random_matrix(), setting.random_vector());
    let left = setting.check(&matrix, &[vector]);
    let (least_a, least_v) = (-1i64 << (matrix_bits - 1), -1i64 << (vector_bits - 1));
    let matrix = DenseMatrix::new(
        rows,
        cols,
        (0..rows * cols).map(|i| if i / cols % 2 == 0 { least_a } else { -1 - least_a }).collect(),
    );
    let extreme = setting.check(&matrix.expect("a matrix"), &[vec![least_v; cols]]);
    let expected = setting.plan.explain();
    println!(
        "{} {rows}x{cols} {matrix_bits}x{vector_bits} bits, {}: {left:.1} and {extreme:.1} bits left, {:.1} expected",
        expected.strategy.name(),
        expected.parameters,
        expected.noise_limit_bits - expected.noise_bits
    );
    // The greatest of m entries in 2^20 of all cases is below 2^3 standard deviations for the m here.
    assert!(left.min(extreme) > expected.noise_limit_bits - expected.noise_bits - 3.0, "more noise than expected");
}

#[test]
fn every_strategy_at_small_sizes() {
    for strategy in Strategy::ALL {
        for (rows, cols) in [(1, 1), (3, 5), (64, 256), (100, 300)] {
            check(&request(strategy, rows, cols, 8, 8));
        }
    }
}

#[test]
fn every_strategy_at_the_papers_size() {
    for strategy in Strategy::ALL {
        check(&request(strategy, 1024, 256, 8, 8));
    }
}
