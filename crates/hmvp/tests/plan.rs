//! The choices of the planner, their explanations, and its refusals.

use crate::support::Setting;
use ciphermill_bfv::{ParameterSet, ParameterSpec, SecurityLevel, SecurityPolicy, noise};
use ciphermill_hmvp::layout::PlanLayout;
use ciphermill_hmvp::{
    DenseMatrix, Encryption, Explanation, HmvpError, MAX_DIMENSION, MAX_SUMMANDS, Plan, PlanError, Request, Strategy,
};
use ciphermill_math::Isa;
use ciphermill_math::modulus::is_prime;

fn plan(request: &Request) -> Result<Plan, HmvpError> {
    Plan::new(request, Isa::current())
}

fn explain(request: &Request) -> Explanation {
    plan(request).unwrap_or_else(|error| panic!("{request:?}: {error}")).explain()
}

/// Invariants of every plan.
fn check(request: &Request) -> Explanation {
    let plan = plan(request).unwrap_or_else(|error| panic!("{request:?}: {error}"));
    let explanation = plan.explain();
    let Explanation { plaintext_modulus, matrix_parts, vector_parts, .. } = explanation;
    let part = |bits: u32, parts: usize| u128::from(bits.div_ceil(parts as u32));
    let bits = part(request.matrix_bits, matrix_parts) + part(request.vector_bits, vector_parts);
    assert!(
        u128::from(plaintext_modulus) > (request.cols as u128) << (bits - 1),
        "{request:?}: t = {plaintext_modulus}"
    );
    assert!(explanation.log2_failure <= request.log2_failure, "{request:?}");
    assert!(explanation.security_bits >= f64::from(request.security.bits()), "{request:?}");
    assert!(explanation.noise_bits < explanation.noise_limit_bits, "{request:?}");
    assert!(!request.unsplit || (matrix_parts, vector_parts) == (1, 1), "{request:?}");
    assert!(request.strategy.is_none_or(|strategy| strategy == explanation.strategy));
    assert_eq!(explanation.alternatives.len(), Strategy::ALL.len() - 1);
    explanation
}

#[test]
fn the_papers_product_of_1024_by_256() {
    let explanation = explain(&Request::new(1024, 256));
    println!("{explanation}");
    assert_eq!(explanation.strategy, Strategy::RowPacked);
    assert_eq!((explanation.polynomial_size, explanation.plaintext_modulus), (4096, 1 << 24));
    assert_eq!((explanation.matrix_parts, explanation.vector_parts), (1, 1));
    assert!((150.0..150.5).contains(&explanation.security_bits), "{}", explanation.security_bits);
    assert_eq!(explanation.standard_bits, Some(128));
    // One ciphertext modulus and one special one of 46 bits.
    assert!((45.9..46.0).contains(&explanation.ciphertext_bits) && (91.9..92.0).contains(&explanation.chain_bits));
    // 16 rows to a plaintext, 64 automorphisms.
    assert_eq!(explanation.plain_products, 64);
    assert_eq!((explanation.hoisted_key_switches + 1) * (explanation.key_switches + 1), 64);
    assert_eq!((explanation.prepare_ntts, explanation.matrix_bytes), (128, 128 * 4096 * 6));
    // √(σ² + 1/6)·2^7·√256 of a fresh vector, times √16 for the rows of a plaintext, is 2^14.6897; Q/(2t) = 2^46/2^25. Words
    // of 46 bits take 6 bytes.
    let noise = (explanation.noise_bits, explanation.noise_limit_bits);
    assert!((14.6895..14.69).contains(&noise.0) && (20.9..21.0).contains(&noise.1), "{noise:?}");
    assert!((explanation.noise_bits - row_packed_noise(&Request::new(1024, 256)).log2() / 2.0).abs() < 1e-9);
    assert!(explanation.log2_failure < -64.0);
    // 4096 words of 46 bits, a seed, and less than 256 bytes of plan and envelope; twice the words.
    let (words, seed) = (4096 * 46 / 8, 32);
    assert!((words + seed..words + seed + 256).contains(&explanation.vector_bytes));
    assert!((2 * words..2 * words + 256).contains(&explanation.product_bytes));
    for other in &explanation.alternatives {
        assert!(other.relative_cost.is_some_and(|cost| cost > 1.0), "{other:?}");
    }
}

/// The variance that docs/hmvp.md states for a row-packed product of one column tile, from the numbers of its plan.
fn row_packed_noise(request: &Request) -> f64 {
    let plan = plan(request).expect("a plan");
    let PlanLayout::RowPacked { layout, baby_gadget, giant_gadget } = plan.layout() else { panic!("row-packed") };
    let set = plan.context().parameters();
    let n = set.polynomial_size.get();
    let [p, b] = [layout.divisor() as f64, layout.babies() as f64];
    let rows_per_plaintext = n / request.cols.next_power_of_two();
    let rounding = noise::rounding_variance(n as f64);
    let key = |gadget| noise::key_error_variance(set, gadget, set.ciphertext_moduli.len());
    let fresh = noise::fresh_variance(set, request.encryption);
    let largest = f64::from(request.matrix_bits - 1).exp2().powi(2);
    (rows_per_plaintext * request.cols) as f64 * largest * (fresh + p * p * key(baby_gadget) * (1.0 - 1.0 / b))
        + (p / b - 1.0) * (key(giant_gadget) + rounding)
        + rounding
}

/// The failure probability of a product is that of one entry times the number of entries (the union bound): of rows, and of
/// pairs of parts.
#[test]
fn every_entry_of_a_product_counts_in_its_failure_probability() {
    // The noise of these does not depend on the rows.
    let strategy = Some(Strategy::RotateAndSum);
    let one = check(&Request { strategy, log2_failure: -40.0, ..Request::new(1, 256) });
    let set = plan(&Request { strategy, log2_failure: -40.0, ..Request::new(1, 256) }).expect("a plan");
    let parameters = Some(set.context().parameters().clone());
    let single = noise::log2_failure(one.noise_limit_bits, one.noise_bits.exp2(), 1.0);
    assert!((one.log2_failure - single).abs() < 1e-6, "one entry: 2^{}, 2^{single}", one.log2_failure);
    for rows in [2, 64, 1000, 16384] {
        let request =
            Request { strategy, parameters: parameters.clone(), log2_failure: -20.0, ..Request::new(rows, 256) };
        let many = check(&request);
        assert_eq!((many.noise_bits, many.noise_limit_bits), (one.noise_bits, one.noise_limit_bits));
        let expected = one.log2_failure + (rows as f64).log2();
        assert!((many.log2_failure - expected).abs() < 1e-6, "{rows} rows: 2^{}", many.log2_failure);
    }
    // Entries of 16 bits by a set with room for 8: four products of parts.
    let wide = Request { parameters, matrix_bits: 16, vector_bits: 16, strategy, ..Request::new(64, 256) };
    let split = check(&Request { log2_failure: -20.0, ..wide });
    assert_eq!((split.matrix_parts, split.vector_parts), (2, 2));
    assert!((split.log2_failure - (one.log2_failure + 6.0 + 2.0)).abs() < 1e-6, "2^{}", split.log2_failure);
}

/// A set whose product of one row by 256 columns is wrong with a probability of 2^-900 to 2^-30: t grows until it is.
fn a_set_near_its_limit(strategy: Strategy) -> ParameterSet {
    let base = plan(&Request { strategy: Some(strategy), ..Request::new(1, 256) }).expect("a plan");
    let spec = base.context().parameters().spec();
    let order = 2 * spec.polynomial_size.get() as u64;
    let sets = (24..40).map(|log2| {
        let t = (0..).map(|k| (1u64 << log2) + 1 + k * order).find(|&t| is_prime(t)).expect("a prime");
        ParameterSet::new(
            ParameterSpec { name: format!("NEAR_{t}"), plaintext_modulus: t, ..spec.clone() },
            SecurityPolicy::Require128Bits,
        )
        .expect("sound numbers")
    });
    let near = |set: &ParameterSet| {
        let request = Request {
            strategy: Some(strategy),
            parameters: Some(set.clone()),
            log2_failure: -1.0,
            ..Request::new(1, 256)
        };
        plan(&request).is_ok_and(|plan| (-900.0..-30.0).contains(&plan.explain().log2_failure))
    };
    { sets }.find(near).expect("sixteen lengths of t pass the range")
}

/// The request's bound is on that sum: a set that keeps it for some rows is refused for one more.
#[test]
fn a_set_is_refused_where_the_sum_over_all_entries_exceeds_the_request() {
    let strategy = Strategy::RotateAndSum;
    let parameters = Some(a_set_near_its_limit(strategy));
    let request = |rows, log2_failure| Request {
        strategy: Some(strategy),
        parameters: parameters.clone(),
        log2_failure,
        ..Request::new(rows, 256)
    };
    let one = explain(&request(1, -1.0)).log2_failure;
    let bound = one + 32f64.log2() + 1e-6;
    check(&request(32, bound));
    let error = refused(&request(33, bound));
    assert!(matches!(&error, PlanError::NoParameters { what } if what.contains("is asked for")), "{error:?}");
}

/// Strategies that prepare a matrix in machine integers leave room for the greatest entries of the request.
#[test]
fn a_plan_has_room_for_the_entries_that_it_promises() {
    for (rows, cols, matrix_bits, vector_bits) in
        [(8, 2048, 32, 4), (64, 64, 26, 8), (300, 5, 30, 2), (1000, 128, 24, 8)]
    {
        let request = Request { matrix_bits, vector_bits, unsplit: true, ..Request::new(rows, cols) };
        check(&request);
        let mut setting = Setting::new(&request);
        let least = -1i64 << (matrix_bits - 1);
        for entry in [least, -(least + 1)] {
            let matrix = DenseMatrix::new(rows, cols, vec![entry; rows * cols]).expect("a matrix");
            let vector = setting.random_vector();
            setting.check(&matrix, &[vector]);
        }
    }
    // Where it is asked for a strategy that has no room, the planner says so.
    let request =
        Request { matrix_bits: 32, unsplit: true, strategy: Some(Strategy::RowPacked), ..Request::new(64, 4096) };
    let error = refused(&Request { vector_bits: 4, ..request });
    assert!(matches!(error, PlanError::NoParameters { .. }), "{error:?}");
}

#[test]
fn algorithm_1_takes_the_papers_moduli() {
    let request = Request { strategy: Some(Strategy::Algorithm1), ..Request::new(1024, 256) };
    let explanation = check(&request);
    let context = plan(&request).expect("a plan");
    let context = context.context();
    assert_eq!(context.parameters().ciphertext_moduli, [(1 << 34) + (1 << 27) + 1, (1 << 34) + (1 << 19) + 1]);
    assert_eq!(context.parameters().special_moduli, [(1 << 38) + (1 << 23) + 1]);
    assert_eq!((explanation.plaintext_modulus, explanation.plain_products), (1 << 24, 1024));
    let named = ParameterSet::named(ciphermill_bfv::parameters::CHAM_PAPER, SecurityPolicy::Require128Bits);
    let request = Request { parameters: Some(named.expect("a set")), ..request };
    assert_eq!(check(&request).parameters, "CHAM_PAPER");
    // Beyond what the paper's moduli hold, other ones are taken.
    let wide = Request { matrix_bits: 16, vector_bits: 16, unsplit: true, ..Request::new(64, 4096) };
    check(&Request { strategy: Some(Strategy::Algorithm1), parameters: None, ..wide });
}

#[test]
fn the_explanation_is_text_and_data() {
    let explanation = explain(&Request::new(1024, 256));
    let text = explanation.to_string();
    for part in [
        "row-packed",
        "16777216",
        "150.2 bits (lattice-estimator, MATZOV); 128 by the standard",
        "< 2^-128 (model",
        "not diagonal",
        "not algorithm1",
        "4096",
    ] {
        assert!(text.contains(part), "{part} is not in:\n{text}");
    }
    let columns: Vec<usize> = text
        .lines()
        .map(|line| line.find("  ").map_or(0, |gap| gap + line[gap..].len() - line[gap..].trim_start().len()))
        .collect();
    assert!(columns.iter().all(|&column| column == columns[0]), "values are not aligned:\n{text}");
    let data = serde_json::to_value(&explanation).expect("data");
    assert_eq!(data["strategy"], "row-packed");
    assert_eq!(data["alternatives"].as_array().expect("a list").len(), 3);
}

#[test]
fn every_size_and_width_has_a_plan() {
    for (rows, cols) in
        [(1, 1), (1, MAX_DIMENSION), (MAX_DIMENSION, 1), (64, 256), (2048, 256), (777, 5000), (8192, 8192)]
    {
        for (matrix_bits, vector_bits) in [(2, 2), (8, 8), (16, 8), (8, 16), (16, 16)] {
            check(&Request { matrix_bits, vector_bits, ..Request::new(rows, cols) });
        }
    }
    check(&Request { matrix_bits: 32, vector_bits: 24, ..Request::new(256, 256) });
    check(&Request { matrix_bits: 31, vector_bits: 31, ..Request::new(100, 3) });
    check(&Request::new(MAX_DIMENSION, MAX_DIMENSION));
}

#[test]
fn every_strategy_level_and_encryption_has_a_plan() {
    for strategy in Strategy::ALL {
        for security in SecurityLevel::ALL {
            for encryption in [Encryption::Secret, Encryption::Public] {
                let request = Request { strategy: Some(strategy), security, encryption, ..Request::new(300, 200) };
                check(&request);
            }
        }
    }
    let (secret, public) = (Encryption::Secret, Encryption::Public);
    let noise = |encryption| explain(&Request { encryption, ..Request::new(300, 200) }).noise_bits;
    assert!(noise(public) > noise(secret) + 3.0, "public-key encryption has more noise");
}

#[test]
fn room_for_flooding_and_for_shares() {
    for flooding_bits in [0, 20, 40, 64, 80] {
        let request = Request { unsplit: true, flooding_bits, ..Request::new(1024, 256) };
        let explanation = check(&request);
        let room = explanation.noise_limit_bits - explanation.noise_bits;
        assert!(room > f64::from(flooding_bits) + 3.0, "{flooding_bits} bits of flooding: {room:.1} bits of room");
        assert!(flooding_bits < 40 || explanation.polynomial_size >= 8192);
    }
    check(&Request { matrix_bits: 16, vector_bits: 16, unsplit: true, ..Request::new(1024, 256) });
}

fn refused(request: &Request) -> PlanError {
    match plan(request) {
        Err(HmvpError::Plan(error)) => error,
        other => panic!("{request:?}: {:?}", other.map(|plan| plan.explain())),
    }
}

#[test]
fn requests_out_of_range_are_refused() {
    let good = Request::new(10, 10);
    for request in [
        Request { rows: 0, ..good.clone() },
        Request { rows: MAX_DIMENSION + 1, ..good.clone() },
        Request { cols: 0, ..good.clone() },
        Request { cols: usize::MAX, ..good.clone() },
        Request { matrix_bits: 1, ..good.clone() },
        Request { matrix_bits: 33, ..good.clone() },
        Request { vector_bits: 0, ..good.clone() },
        Request { vector_bits: u32::MAX, ..good.clone() },
        Request { flooding_bits: 257, ..good.clone() },
        Request { summands: 0, ..good.clone() },
        Request { summands: MAX_SUMMANDS + 1, ..good.clone() },
        // 10·2^31·2^31 is beyond 64 bits.
        Request { matrix_bits: 32, vector_bits: 32, ..good.clone() },
    ] {
        let error = refused(&request);
        assert!(matches!(error, PlanError::Range { .. }), "{error:?}");
    }
    check(&Request { matrix_bits: 32, vector_bits: 31, cols: 2, ..good.clone() });
    for log2_failure in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.5, -1001.0] {
        let error = refused(&Request { log2_failure, ..good.clone() });
        assert!(matches!(error, PlanError::Failure { .. }), "{error:?}");
    }
}

#[test]
fn a_plaintext_modulus_that_is_too_small_is_named_with_the_one_that_would_do() {
    let set = |t: u64| {
        let mut spec = ParameterSet::named("CHAM_PAPER", SecurityPolicy::Require128Bits).expect("a set").spec().clone();
        spec.plaintext_modulus = t;
        spec.name = format!("PAPER_T{t}");
        Some(ParameterSet::new(spec, SecurityPolicy::Require128Bits).expect("an admissible set"))
    };
    // 256 terms of at most 2^14 reach 2^22, and −2^22 to 2^22 are 2^23 + 1 numbers.
    let request = Request { parameters: set(1 << 23), ..Request::new(1024, 256) };
    let error = refused(&request);
    let expected = PlanError::PlaintextModulus {
        given: 1 << 23,
        cols: 256,
        matrix_bits: 8,
        vector_bits: 8,
        needed: (1 << 23) + 1,
    };
    assert_eq!(error, expected);
    assert!(error.to_string().contains("8388608") && error.to_string().contains("8388609"), "{error}");
    check(&Request { parameters: set((1 << 23) + 1), ..request.clone() });
    // Wider entries are split unless they must not be.
    let wide = Request { matrix_bits: 16, vector_bits: 16, ..request };
    let split = check(&Request { parameters: set(1 << 24), ..wide.clone() });
    assert_eq!((split.matrix_parts, split.vector_parts), (2, 2));
    let error = refused(&Request { parameters: set(1 << 24), unsplit: true, ..wide });
    assert!(matches!(error, PlanError::PlaintextModulus { needed: 0x80_0000_0001, matrix_bits: 16, .. }), "{error:?}");
}

#[test]
fn sets_that_do_not_suit_are_refused_with_the_reason() {
    let named = |name| Some(ParameterSet::named(name, SecurityPolicy::Require128Bits).expect("a set"));
    let why = |request: &Request| match refused(request) {
        PlanError::NoParameters { what } => what,
        other => panic!("{other:?}"),
    };
    let paper = Request { parameters: named("CHAM_PAPER"), ..Request::new(64, 256) };
    let slots = why(&Request { strategy: Some(Strategy::Diagonal), ..paper.clone() });
    assert!(slots.contains("no slots") && slots.contains("CHAM_PAPER"), "{slots}");
    let security = refused(&Request { security: SecurityLevel::Bits192, ..paper.clone() });
    assert!(matches!(&security, PlanError::Security { required: 192, bits, .. } if (128.0..130.0).contains(bits)));
    assert!(security.to_string().contains("CHAM_PAPER has an estimated security of 128.9 bits"), "{security}");
    let special = why(&Request { parameters: named("BFV_1024_128"), ..Request::new(2, 2) });
    assert!(special.contains("no special modulus"), "{special}");
    let noise = why(&Request { flooding_bits: 64, ..paper });
    assert!(noise.contains("2^") && noise.contains("flooding"), "{noise}");
    let wide = Request { matrix_bits: 20, vector_bits: 20, unsplit: true, ..Request::new(64, 256) };
    let flooding = why(&Request { flooding_bits: 256, ..wide });
    assert!(flooding.contains("less security or flooding"), "{flooding}");
}

/// A set that was admitted although it is insecure is taken, and the explanation says so.
#[test]
fn insecure_sets_are_named_as_such() {
    let policy = SecurityPolicy::AcceptInsecureParametersForBenchmarksAndTestsOnly;
    let set = ParameterSet::named("TEST_512", policy).expect("a set");
    let plan = plan(&Request { parameters: Some(set), matrix_bits: 4, vector_bits: 4, ..Request::new(20, 30) });
    let plan = plan.expect("a plan");
    let explanation = plan.explain();
    assert_eq!((explanation.security_bits, explanation.standard_bits), (0.0, None));
    assert!(explanation.to_string().contains("0.0 bits, below 128"), "{explanation}");
    let read = |policy| Plan::from_bytes(&plan.to_bytes(), policy, Isa::current()).map(drop);
    assert!(read(SecurityPolicy::Require128Bits).is_err(), "the reader opts in as well");
    read(policy).expect("opted in");
}
