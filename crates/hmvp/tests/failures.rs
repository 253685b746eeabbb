//! Failure probabilities, counted where they are large enough to count.

use std::sync::Arc;

use crate::support::failures::{Case, count, model, raised};

/// Products of each case; `make evidence AREA=hmvp` counts 20,000.
const PRODUCTS: usize = 12_000;

/// Rows, pairs of parts, and the noise itself enter the model's failure probability: with 6 % more or less noise, a
/// quarter of the rows, or without the second part, it no longer predicts the counts.
#[test]
fn wrong_results_are_as_frequent_as_the_model_says() {
    for case in [Case { rows: 16, cols: 64, matrix_bits: 8 }, Case { rows: 16, cols: 64, matrix_bits: 16 }] {
        let plan = Arc::new(raised(case).expect("a plan"));
        let explanation = plan.explain();
        assert_eq!(explanation.matrix_parts, case.matrix_bits as usize / 8);
        let counts = count(&plan, PRODUCTS).expect("products");
        let expected = model(&plan, 1.0);
        println!("{case:?}: {counts:?}, {expected:?}, product 2^{:.2}", explanation.log2_failure);
        assert!((expected.product.log2() - explanation.log2_failure).abs() < 1e-9);
        assert_eq!(counts.contradicts(&expected), None, "{case:?}");
        for scale in [0.94, 1.06] {
            assert!(
                counts.contradicts(&model(&plan, scale)).is_some(),
                "{case:?}: {counts:?} fits {scale} of the noise"
            );
        }
        let mut rows = expected;
        rows.product /= 4.0;
        assert!(counts.contradicts(&rows).is_some(), "{case:?}: {counts:?} fits a quarter of the rows");
        if explanation.matrix_parts == 2 {
            let (mut one, half) = (expected, 0.5);
            (one.entry, one.least_entry) = (one.entry * half, one.least_entry * half);
            assert!(counts.contradicts(&one).is_some(), "{case:?}: {counts:?} fits one of two parts");
        }
    }
}
